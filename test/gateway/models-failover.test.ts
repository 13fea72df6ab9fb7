// Providers that fail in every way they can, over real HTTP: the next one answers, or there is one clear line.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { A2AError } from '../../src/protocol/index.ts';
import { anthropic } from '../support/vendors/anthropic.ts';
import { google } from '../support/vendors/google.ts';
import { openai } from '../support/vendors/openai.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import {
  ask,
  caller,
  compatible,
  piece,
  QUESTION,
  rig,
  says,
  type RigOptions,
} from './models-support.ts';

const PRICING = {
  inputPricePerToken: 0.001,
  cachedInputPricePerToken: 0.0001,
  outputPricePerToken: 0.01,
  currency: 'USD',
};

/** 15 tokens and 5 cached ones in, 12 out. */
const COST = 0.1355;

/** The model `m`: first at `first`, and at `second` when that fails. */
async function pair(
  first: readonly Reply[] | (() => Reply),
  second: readonly Reply[],
  options: RigOptions & { readonly provider?: object } = {},
) {
  const [one, two] = [await fakeVendor(first), await fakeVendor(second)];
  const { provider = {}, ...rest } = options;
  const made = rig({
    providers: { one: compatible(one.url, provider), two: compatible(two.url) },
    models: {
      m: {
        routes: [{ provider: 'one' }, { provider: 'two', weight: 0 }],
        pricing: PRICING,
      },
    },
    ...rest,
  });
  return {
    ...made,
    one,
    two,
    async [Symbol.asyncDispose]() {
      await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
    },
  };
}

function failed(error: unknown): A2AError {
  assert(error instanceof A2AError, `not an A2AError: ${String(error)}`);
  return error;
}

const error = { error: { message: 'internal detail of 10.0.0.7', type: 'x', code: null } };
/** For those that are never to answer in time. */
const FAST = { firstByteMs: 150, idleTimeoutMs: 150, timeoutMs: 2000 };

const BEFORE_THE_ANSWER: Readonly<Record<string, Reply>> = {
  'a server error': { status: 500, body: error },
  'an overloaded server': { status: 503, body: error },
  'too many requests, and a long wait': {
    status: 429,
    body: error,
    headers: { 'retry-after': '3600' },
  },
  'a wrong key': { status: 401, body: error },
  'a model that is not there': { status: 404, body: error },
  silence: 'silence',
  'headers and then silence': { events: [], after: 'hang' },
  'a connection that breaks': { events: [], after: 'break' },
  'a stream without an answer': { events: [] },
  HTML: {
    status: 200,
    body: '<html><body>Hello</body></html>',
    headers: { 'content-type': 'text/html' },
  },
  'HTML as an error': { status: 502, body: '<html>Bad gateway at 10.0.0.7</html>' },
  'bad JSON': { events: ['data: {"choices": [\n\n'] },
  'JSON of another kind': { events: ['data: {"weather": "sunny"}\n\n'] },
  'an end without a beginning': { events: ['data: [DONE]\n\n'] },
  'an error as its first event': {
    events: ['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'],
  },
};

describe('a provider that fails before its answer begins', () => {
  for (const [what, reply] of Object.entries(BEFORE_THE_ANSWER)) {
    test(`${what}: the next one answers, and only that is counted`, async () => {
      await using made = await pair(() => reply, [says('It is ', 'sunny.')], { provider: FAST });
      const { text, error: thrown } = await ask(made.models, 'm');
      assert.equal(thrown, undefined);
      assert.equal(text, 'It is sunny.');
      assert.deepEqual(made.uses, [
        {
          workspace: 'default',
          keyId: 'k1',
          model: 'm',
          provider: 'two',
          inputTokens: 20,
          outputTokens: 12,
          cost: { amount: COST, currency: 'USD' },
        },
      ]);
    });

    test(`${what}, everywhere: one clear line with nothing internal in it, and nothing is counted`, async () => {
      await using vendor = await fakeVendor(() => reply);
      const { models, uses } = rig({
        providers: { only: compatible(vendor.url, { ...FAST, models: ['m'] }) },
      });
      const { message, httpStatus } = failed((await ask(models, 'm')).error);
      assert.match(message, /^The model m [^\n]+$/);
      assert.doesNotMatch(message, /secret|127\.0\.0\.1|10\.0\.0\.7|only|html|detail/);
      assert(httpStatus >= 429, `${httpStatus}`);
      assert.deepEqual(uses, []);
    });
  }

  test('one that nobody listens at is passed over', async () => {
    await using vendor = await fakeVendor([says('Here.')]);
    const { models } = rig({
      providers: { gone: compatible('http://127.0.0.1:1'), there: compatible(vendor.url) },
      models: { m: { routes: [{ provider: 'gone' }, { provider: 'there', weight: 0 }] } },
    });
    assert.equal((await ask(models, 'm')).text, 'Here.');
  });

  test('too many requests, and a short wait: it is asked again', async () => {
    const limited: Reply = { status: 429, body: error, headers: { 'retry-after-ms': '5' } };
    await using made = await pair([limited, says('Me.')], []);
    assert.equal((await ask(made.models, 'm')).text, 'Me.');
    assert.equal(made.one.asked.length, 2);
    assert.equal(made.two.asked.length, 0);
  });

  test('the only one there is may make us wait for a while, and is waited for', async () => {
    const limited: Reply = { status: 429, body: error, headers: { 'retry-after-ms': '1200' } };
    await using vendor = await fakeVendor([limited, says('Late.')]);
    const { models } = rig({ providers: { only: compatible(vendor.url, { models: ['m'] }) } });
    const began = performance.now();
    assert.equal((await ask(models, 'm')).text, 'Late.');
    assert.ok(performance.now() - began > 1100, 'it was asked again before the time it wanted');
  });

  test('the only one there is wants too long a wait: the caller is told how long', async () => {
    const limited: Reply = { status: 429, body: error, headers: { 'retry-after': '90' } };
    await using vendor = await fakeVendor([limited]);
    const { models } = rig({ providers: { only: compatible(vendor.url, { models: ['m'] }) } });
    const { httpStatus, detail } = failed((await ask(models, 'm')).error);
    assert.equal(httpStatus, 429);
    assert.equal(detail.retryAfterSeconds, 90);
  });

  test('a request that is wrong is wrong everywhere, and goes nowhere else', async () => {
    await using made = await pair([{ status: 400, body: error }], [says('No.')]);
    const { httpStatus, message } = failed((await ask(made.models, 'm')).error);
    assert.equal(httpStatus, 400);
    assert.equal(message, 'The model m rejected the request');
    assert.equal(made.two.asked.length, 0);
  });

  test('all of it together ends at the deadline', async () => {
    await using made = await pair(['silence'], [], { modelDeadlineSeconds: 0.1 });
    const { httpStatus } = failed((await ask(made.models, 'm')).error);
    assert.equal(httpStatus, 504);
    assert.equal(made.two.asked.length, 0, 'there was no time left for another');
  });

  test('a caller that leaves ends it at once, no other is asked, and the prompt is counted', async () => {
    await using made = await pair(['silence'], [says('No.')]);
    const leaving = new AbortController();
    const asking = ask(made.models, 'm', { signal: leaving.signal });
    setImmediate(() => leaving.abort(new Error('left')));
    const { error: thrown } = await asking;
    assert(thrown instanceof Error);
    assert.equal(thrown.message, 'left');
    assert.equal(made.two.asked.length, 0);
    assert.equal(made.uses.length, 1);
    assert.partialDeepStrictEqual(made.uses, [{ provider: 'one', outputTokens: 0 }]);
    assert.ok(Number(made.uses[0]?.inputTokens) > 0);
  });
});

describe('a provider that fails in the middle of its answer', () => {
  const cases: Readonly<Record<string, Reply>> = {
    'cuts the stream': { events: [piece('It is ')], after: 'break' },
    'ends the stream': { events: [piece('It is ')] },
    hangs: { events: [piece('It is ')], after: 'hang' },
    'sends rubbish': { events: [piece('It is '), 'data: {{{\n\n'] },
    'says that it failed': {
      events: [piece('It is '), 'data: {"error":{"message":"overloaded","type":"x"}}\n\n'],
    },
  };
  for (const [what, reply] of Object.entries(cases)) {
    test(`${what}: that is an error, nobody else goes on with it, and it is counted once`, async () => {
      await using made = await pair([reply], [says('raining.')], {
        provider: { idleTimeoutMs: 1000 },
      });
      const { text, error: thrown } = await ask(made.models, 'm');
      assert.equal(text, 'It is ');
      const { message, reason, httpStatus } = failed(thrown);
      assert.equal(message, 'The model m failed in the middle of its answer: try again');
      assert.equal(reason, 'MODEL_CUT_OFF');
      assert.equal(httpStatus, 502);
      assert.equal(made.two.asked.length, 0);
      assert.equal(made.uses.length, 1);
      assert.equal(made.uses[0]?.provider, 'one');
      assert.equal(made.uses[0].outputTokens, 2, 'guessed from what it said');
    });
  }

  test('a reader that leaves closes the connection, and what was read is counted once', async () => {
    await using made = await pair([{ events: [piece('It is ')], after: 'hang' }], []);
    const target = await made.models.resolve('default', 'm', 'chat');
    const leaving = new AbortController();
    const chunks = made.models.chat(target, QUESTION, { caller, signal: leaving.signal });
    await chunks.next();
    const waiting = chunks.next();
    leaving.abort(new Error('left'));
    await assert.rejects(waiting, /left/);
    await made.one.hungUp;
    assert.equal(made.uses.length, 1);
  });
});

for (const [type, wire] of Object.entries({ anthropic, google, openai })) {
  test(`${type}: events in the wrong order give one answer or one error, counted once at most`, async () => {
    await using vendor = await fakeVendor([{ events: wire.answer.toReversed() }]);
    await using other = await fakeVendor(() => says('other'));
    const provider = { type, apiKey: 'k', baseUrl: vendor.url, attempts: 1 };
    const { models, uses } = rig({
      providers: { one: provider, two: compatible(other.url) },
      models: { m: { routes: [{ provider: 'one' }, { provider: 'two', weight: 0 }] } },
    });
    const { text, error: thrown } = await ask(models, 'm');
    if (thrown !== undefined) failed(thrown);
    if (text.includes('other')) assert.equal(text, 'other');
    assert(uses.length <= 1);
  });
}

test('whatever the providers do, an answer comes from one of them alone, and is counted once', async () => {
  const kinds = ['whole', '500', '429', 'cut', 'empty', 'rubbish'] as const;
  const reply = (kind: (typeof kinds)[number], who: string): Reply => {
    switch (kind) {
      case 'whole':
        return says(`${who}1`, `${who}2`, `${who}3`);
      case '500':
        return { status: 500, body: error };
      case '429':
        return { status: 429, body: error, headers: { 'retry-after-ms': '1' } };
      case 'cut':
        return { events: [piece(`${who}1`), piece(`${who}2`)], after: 'break' };
      case 'empty':
        return { events: [] };
      default:
        return { events: ['data: nonsense\n\n'] };
    }
  };
  let plans: (typeof kinds)[number][][] = [[], [], []];
  const who = ['a', 'b', 'c'] as const;
  const vendors = await Promise.all(
    who.map((name, at) => fakeVendor(() => reply(plans[at]?.shift() ?? '500', name))),
  );
  try {
    const circuit = { failures: 1000 };
    const provider = (at: number) => compatible(vendors[at]?.url ?? '', { circuit });
    const { models, uses } = rig({
      providers: { a: provider(0), b: provider(1), c: provider(2) },
      models: { m: { routes: who.map((name) => ({ provider: name })), pricing: PRICING } },
    });
    const plan = fc.array(fc.constantFrom(...kinds), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.tuple(plan, plan, plan), async (given) => {
        plans = given.map((each) => [...each]);
        const before = uses.length;
        const { text, error: thrown } = await ask(models, 'm');
        const counted = uses.slice(before);
        assert.match(text, /^(?:[abc]1(?:[abc]2(?:[abc]3)?)?)?$/);
        assert(new Set(text.replaceAll(/\d/g, '')).size <= 1, `mixed: ${text}`);
        if (thrown === undefined) assert.match(text, /3$/);
        else failed(thrown);
        assert.equal(counted.length, text === '' ? 0 : 1);
        if (counted[0]) assert.equal(counted[0].provider, text[0]);
      }),
      { numRuns: process.env['PARLEY_TEST_SCALE'] === '1' ? 1000 : 100 },
    );
  } finally {
    await Promise.all(vendors.map((vendor) => vendor[Symbol.asyncDispose]()));
  }
});
