// What a name means: cards, the operator's models, providers' lists; and how providers are chosen and left alone.
import assert from 'node:assert/strict';
import { atOnce } from '../support/at-once.ts';
import { describe, test } from 'node:test';
import { ModelsConfig, ProvidersConfig } from '../../src/gateway/models/config.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import {
  ask,
  caller,
  compatible,
  piece,
  QUESTION,
  rig,
  says,
  WORKSPACE,
} from './models-support.ts';

const failing = { status: 500, body: 'no' };

function card(fields: object = {}): object {
  return { schemaVersion: '1.0', name: 'offline', ...fields };
}

function message(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert(error instanceof A2AError);
    assert.equal(error.httpStatus, 400);
    return error.message;
  }
  return assert.fail('nothing was thrown');
}

describe('a name', () => {
  const { models } = rig({
    providers: {
      east: { type: 'openai', apiKey: 'k', models: ['gpt'], embeddingModels: ['vec'] },
      west: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1', models: ['gpt'] },
      claude: { type: 'anthropic', apiKey: 'k' },
    },
    models: {
      fast: { provider: 'east', model: 'gpt-mini' },
      both: { routes: [{ provider: 'east', model: 'a', weight: 3 }, { provider: 'west' }] },
      gpt: { provider: 'west', model: 'other' },
    },
    cards: {
      fast: card({ provider: 'west', model: 'mine' }),
      named: card({ name: 'vec' }),
      routed: card({
        name: 'r',
        model: 'shared',
        routes: [{ provider: 'nowhere' }, { provider: 'west' }, { provider: 'east', model: 'own' }],
      }),
      lost: card({ provider: 'nowhere' }),
      nameless: card({ name: 'unheard-of' }),
      mute: card({ capabilities: [{ type: 'chat', enabled: false }] }),
      thinker: card({ provider: 'claude', model: 'c' }),
    },
  });
  const places = (name: string, type: 'chat' | 'embeddings' = 'chat', workspace = WORKSPACE) =>
    atOnce(models)
      .resolve(workspace, name, type)
      .candidates.map(({ provider, model, weight }) => `${provider.name}:${model} ${weight}`);

  test("means the workspace's card before the operator's model", () => {
    assert.deepEqual(places('fast'), ['west:mine 1']);
    assert.deepEqual(places('fast', 'chat', 'another'), ['east:gpt-mini 1']);
  });

  test("means the operator's model before what providers list", () => {
    assert.deepEqual(places('gpt'), ['west:other 1']);
  });

  test('means every provider that lists it', () => {
    assert.deepEqual(places('vec', 'embeddings'), ['east:vec 1']);
    assert.deepEqual(places('offline'), ['offline:offline 1']);
  });

  test('of a card without a provider is looked up by the name in the card', () => {
    assert.deepEqual(places('named', 'embeddings'), ['east:vec 1']);
  });

  test('of several routes leads to those that are configured', () => {
    assert.deepEqual(places('both'), ['east:a 3', 'west:both 1']);
    assert.deepEqual(places('routed'), ['west:shared 1', 'east:own 1']);
  });

  test('of a card that leads nowhere is refused, and it says why', () => {
    assert.match(
      message(() => places('lost')),
      /lost has no usable provider: nowhere is not configured/,
    );
    assert.match(
      message(() => places('nameless')),
      /no usable provider: no configured provider lists unheard-of/,
    );
  });

  test('of a model for something else is refused', () => {
    assert.equal(
      message(() => places('mute')),
      'The model mute does not support chat',
    );
    const words = 'The model thinker does not support embeddings';
    assert.equal(
      message(() => places('thinker', 'embeddings')),
      words,
    );
    assert.match(
      message(() => places('vec')),
      /supports embeddings, not chat/,
    );
  });

  test('that is unknown is refused with the nearest, at most five, and only what one can see', () => {
    const mine = message(() => places('nomed'));
    assert.match(mine, /^Unknown model "nomed"\. Similar names: named, /);
    assert.equal(mine.split(': ').at(-1)?.split(', ').length, 5);
    assert.doesNotMatch(
      message(() => places('nomed', 'chat', 'another')),
      /named/,
    );
  });

  test('however long, is shown short', () => {
    assert(message(() => places('x'.repeat(100_000))).length < 500);
  });
});

test("a vendor's key in the environment makes a provider of its name, unless one is configured", async () => {
  const env = { OPENAI_API_KEY: 'k' };
  const implicit = await rig({ env }).models.list(WORKSPACE);
  assert(implicit.some(({ owner }) => owner === 'openai'));
  const providers = { mine: { type: 'openai', apiKey: 'other', models: ['m'] } };
  const explicit = await rig({ env, providers }).models.list(WORKSPACE);
  assert(!explicit.some(({ owner }) => owner === 'openai'));
});

test('without a defaultModel, the first model of the only real provider is the default', () => {
  const real = compatible('http://127.0.0.1:9', { models: ['big', 'small'] });
  const offline = { type: 'offline', models: ['free'] };
  assert.equal(rig({ providers: { offline, real } }).models.defaultModel, 'big');
  assert.equal(rig({ providers: { real }, defaultModel: 'small' }).models.defaultModel, 'small');
  assert.equal(rig({ providers: { real, other: real } }).models.defaultModel, 'offline');
  assert.equal(rig({ env: { OPENAI_API_KEY: 'k' } }).models.defaultModel, 'offline');
});

test("a provider's own name for a model has the price that the operator gave it under another name", async () => {
  const pricing = { inputPricePerToken: 1, outputPricePerToken: 2, currency: 'USD' };
  const { models } = rig({
    providers: { real: compatible('http://127.0.0.1:9', { models: ['big', 'small'] }) },
    models: { fast: { provider: 'real', model: 'big', pricing } },
  });
  assert.deepEqual((await models.resolve(WORKSPACE, 'big', 'chat')).pricing, pricing);
  assert.equal((await models.resolve(WORKSPACE, 'small', 'chat')).pricing, undefined);
});

test('a card cannot avoid the price of a model by another spelling of its name', async () => {
  const pricing = { inputPricePerToken: 1, outputPricePerToken: 2, currency: 'USD' };
  const free = { inputPricePerToken: 0, outputPricePerToken: 0, currency: 'USD' };
  const { models } = rig({
    providers: {
      g: { type: 'google', apiKey: 'k' },
      o: { type: 'openai', apiKey: 'k' },
    },
    models: {
      google: { provider: 'g', model: 'models/gemini-3-pro', pricing },
      openai: { provider: 'o', model: 'gpt-6', pricing },
    },
    cards: {
      plain: card({ provider: 'g', model: 'gemini-3-pro', pricing: free }),
      path: card({ provider: 'g', model: 'models/gemini-3-pro', pricing: free }),
      twice: card({ routes: [{ provider: 'g', model: 'models/models/gemini-3-pro' }] }),
      upper: card({ provider: 'o', model: 'GPT-6 ', pricing: free }),
      other: card({ provider: 'o', model: 'gpt-6-mini', pricing: free }),
    },
  });
  const found = async (name: string) => {
    const target = await models.resolve(WORKSPACE, name, 'chat');
    const { inputPricePerToken, outputPricePerToken } = target.pricing ?? {};
    return [target.candidates[0]?.model, inputPricePerToken, outputPricePerToken];
  };
  for (const name of ['plain', 'path', 'twice'])
    assert.deepEqual(await found(name), ['gemini-3-pro', 1, 2], name);
  assert.deepEqual(await found('upper'), ['GPT-6 ', 1, 2]);
  assert.deepEqual(await found('other'), ['gpt-6-mini', 0, 0]);
});

test("a name that would change the address of Google's models is refused, in a card and in the configuration", () => {
  const g = { type: 'google', apiKey: 'k' };
  const names = ['models//gemini-3-pro', 'x/../models/gemini-3-pro', 'gemini:generateContent?x='];
  for (const name of names) {
    const { models } = rig({
      providers: { g },
      cards: { wrong: card({ routes: [{ provider: 'g', model: name }] }) },
    });
    const why = `the provider g cannot have a model with the name "${name}"`;
    assert.equal(
      message(() => atOnce(models).resolve(WORKSPACE, 'wrong', 'chat')),
      `The model card wrong has no usable provider: ${why}`,
    );
    const own = { m: { provider: 'g', model: name } };
    assert.equal(
      message(() => rig({ providers: { g }, models: own })),
      `models.m: ${why}`,
    );
    assert.equal(ProvidersConfig.safeParse({ g: { ...g, models: [name] } }).success, false);
  }
});

test("a model of the operator's that leads to no provider is told at once", () => {
  const words = message(() => rig({ models: { m: { provider: 'gone' } } }));
  assert.equal(words, 'models.m: the provider gone is not configured');
});

test('a provider that keeps failing is left alone, and asked again after a while', async () => {
  let time = 0;
  let reply: Reply = failing;
  await using vendor = await fakeVendor(() => reply);
  const circuit = { failures: 2, openMs: 30_000 };
  const { models } = rig({
    providers: { p: compatible(vendor.url, { models: ['m'], attempts: 1, circuit }) },
    now: () => time,
  });
  await ask(models, 'm');
  await ask(models, 'm');
  assert.equal(vendor.asked.length, 2);
  assert.deepEqual(
    Object.fromEntries([...models.circuits()].map(([of, on]) => [of['provider'], on])),
    {
      p: 1,
      offline: 0,
    },
  );

  time = 10_000;
  const { error } = await ask(models, 'm');
  assert(error instanceof A2AError);
  assert.equal(error.httpStatus, 503);
  assert.equal(error.detail.retryAfterSeconds, 20);
  assert.equal(vendor.asked.length, 2, 'it was left alone');

  time = 30_000;
  reply = says('Well again.');
  assert.equal((await ask(models, 'm')).text, 'Well again.');
  assert.equal((await ask(models, 'm')).text, 'Well again.');
});

test('a provider that is left alone costs the others nothing', async () => {
  await using ill = await fakeVendor(() => failing);
  await using well = await fakeVendor(() => says('Here.'));
  const circuit = { failures: 1 };
  const { models } = rig({
    providers: { ill: compatible(ill.url, { circuit, attempts: 1 }), well: compatible(well.url) },
    models: { m: { routes: [{ provider: 'ill' }, { provider: 'well', weight: 0 }] } },
  });
  for (let count = 0; count < 3; count++) assert.equal((await ask(models, 'm')).text, 'Here.');
  assert.equal(ill.asked.length, 1);
});

for (const status of [403, 404, 429]) {
  test(`a model that a provider does not give us (${status}) does not close the provider to others`, async () => {
    const refused: Reply = { status, body: { error: { message: 'not for you' } } };
    let reply: Reply = refused;
    await using vendor = await fakeVendor(() => reply);
    const circuit = { failures: 1 };
    const settings = { models: ['m', 'gated'], circuit, attempts: 1 };
    const { models } = rig({ providers: { p: compatible(vendor.url, settings) } });
    assert((await ask(models, 'gated')).error instanceof A2AError);
    reply = says('Here.');
    assert.equal((await ask(models, 'm')).text, 'Here.');
  });
}

test('answers that break off in the middle count against a provider too', async () => {
  await using vendor = await fakeVendor(() => ({ events: [piece('It is ')], after: 'break' }));
  const circuit = { failures: 2 };
  const { models } = rig({ providers: { p: compatible(vendor.url, { models: ['m'], circuit }) } });
  await ask(models, 'm');
  await ask(models, 'm');
  await ask(models, 'm');
  assert.equal(vendor.asked.length, 2);
});

test('requests are shared out by weight', async () => {
  await using one = await fakeVendor(() => says('1'));
  await using two = await fakeVendor(() => says('2'));
  // Evenly spread over the range.
  let turn = 0;
  const random = () => (turn++ % 8) / 8;
  const { models } = rig({
    providers: { one: compatible(one.url), two: compatible(two.url) },
    models: {
      m: {
        routes: [
          { provider: 'one', weight: 3 },
          { provider: 'two', weight: 1 },
        ],
      },
    },
    random,
  });
  for (let count = 0; count < 8; count++) await ask(models, 'm');
  assert.equal(one.asked.length, 6);
  assert.equal(two.asked.length, 2);
});

test('a provider that is full sends calls elsewhere, and lets them wait where there is nowhere else', async () => {
  await using slow = await fakeVendor([{ events: [piece('1')], after: 'hang' }, says('mine')]);
  await using other = await fakeVendor(() => says('other'));
  const { models } = rig({
    providers: {
      slow: compatible(slow.url, { maxConcurrent: 1, models: ['only'] }),
      other: compatible(other.url),
    },
    models: { m: { routes: [{ provider: 'slow' }, { provider: 'other', weight: 0 }] } },
  });
  const target = await models.resolve(WORKSPACE, 'm', 'chat');
  const signal = new AbortController().signal;
  const first = models.chat(target, QUESTION, { caller, signal });
  await first.next();
  assert.equal((await ask(models, 'm')).text, 'other');

  const waiting = ask(models, 'only');
  await first.return(undefined);
  assert.equal((await waiting).text, 'mine');
});

test('another configuration counts for what comes; what runs goes on where it is', async () => {
  await using old = await fakeVendor([{ events: [piece('old ')], after: 'hang' }]);
  await using fresh = await fakeVendor([says('new')]);
  const { models } = rig({ providers: { p: compatible(old.url, { models: ['m'] }) } });
  const target = await models.resolve(WORKSPACE, 'm', 'chat');
  const leaving = new AbortController();
  const running = models.chat(target, QUESTION, { caller, signal: leaving.signal });
  await running.next();
  models.use({
    providers: ProvidersConfig.parse({ p: compatible(fresh.url, { models: ['m'] }) }),
    defaultModel: 'm',
  });
  assert.equal(models.defaultModel, 'm');
  assert.equal((await ask(models, 'm')).text, 'new');

  const next = running.next();
  leaving.abort(new Error('still there until now'));
  await assert.rejects(next, /still there until now/);
});

test('a configuration that leads nowhere changes nothing', async () => {
  const { models } = rig({ defaultModel: 'offline' });
  const lost = ModelsConfig.parse({ m: { provider: 'gone' } });
  assert.throws(
    () => models.use({ models: lost, defaultModel: 'm' }),
    /provider gone is not configured/,
  );
  assert.equal(models.defaultModel, 'offline');
  assert.deepEqual(
    (await models.list(WORKSPACE)).map(({ name }) => name),
    ['offline'],
  );
});
