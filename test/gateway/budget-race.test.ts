// Many requests at once on one budget, with a provider that answers as long as it may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { compatible, piece } from './models-support.ts';

const PATHS = {
  '/v1/chat/completions': { model: 'm', messages: [{ role: 'user', content: 'Weather?' }] },
  '/a2a/tasks/send': { message: { role: 'user', content: 'Weather?' }, metadata: { model: 'm' } },
};
const PROMPT_TOKENS = 15;
const LONG_ANSWER = 200;

/** How long the provider answers: as long as `max_tokens` allows, up to a limit of its own. */
function lengthFor({ body }: Asked): number {
  return Math.min(Number(Reflect.get(Object(body), 'max_tokens') ?? LONG_ANSWER), LONG_ANSWER);
}

/** An answer with the usage that a provider reports. */
function answerOf(tokens: number): Reply {
  const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens };
  const choices = [{ index: 0, delta: {}, finish_reason: 'length' }];
  const end = JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices, usage });
  return { events: [piece('word '.repeat(tokens)), `data: ${end}\n\n`, 'data: [DONE]\n\n'] };
}

async function setup(budgetTokens: number, ready: Promise<void> = Promise.resolve()) {
  let spent = 0;
  const vendor = await fakeVendor(async (asked) => {
    const tokens = lengthFor(asked);
    spent += PROMPT_TOKENS + tokens;
    await ready;
    return answerOf(tokens);
  });
  const running = await startGateway({
    config: { providers: { p: compatible(vendor.url, { models: ['m'] }) } } as object,
  });
  const budget = { tokens: budgetTokens, period: 'total' as const };
  const fields = { workspace: 'default', name: 'one', scopes: ['*' as const], budget };
  const { key, secret } = running.gateway.keys.create(fields, 'test');
  const ask = async (path: string, body: unknown) => {
    const response = await running.ask(secret, 'POST', path, body);
    return { status: response.status, text: await response.text() };
  };
  const counted = async (): Promise<unknown> => {
    const usage: unknown = await (
      await running.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`)
    ).json();
    return Reflect.get(Object(Reflect.get(Object(usage), 'spent')), 'tokens');
  };
  return {
    vendor,
    ask,
    counted,
    spent: () => spent,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await vendor[Symbol.asyncDispose]();
    },
  };
}

for (const [path, body] of Object.entries(PATHS)) {
  test(`${path}: fifty requests at once do not exceed a budget of a thousand tokens`, async () => {
    await using made = await setup(1000);
    const answers = await Promise.all(Array.from({ length: 50 }, () => made.ask(path, body)));
    assert.ok(made.spent() > 0 && made.spent() <= 1000, `the provider gave ${made.spent()} tokens`);
    const good = answers.filter(({ text }) => text.includes('word'));
    assert.equal(good.length, made.vendor.asked.length);
    const others = answers.filter((answer) => !good.includes(answer));
    // A task that was accepted before the others began has failed. The rest was refused.
    assert.ok(
      others.every(({ status, text }) => status === 429 || /budget of this key/.test(text)),
    );
    for (let times = 0; times < 10; times++) await made.ask(path, body);
    assert.ok(made.spent() >= 1000 - PROMPT_TOKENS - 40 && made.spent() <= 1000);
    assert.equal(await made.counted(), made.spent());
    const last = await made.ask(path, body);
    assert.equal(last.status, 429);
    assert.match(last.text, /budget of this key (is used up|has \d+ tokens left)/);
  });

  test(`${path}: none of twenty requests at once with a new key is refused`, async () => {
    // The provider answers none of them before it has all of them, except those that were refused.
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    await using made = await setup(1_000_000_000, ready);
    let refused = 0;
    const asking = Array.from({ length: 20 }, async () => {
      const answer = await made.ask(path, body);
      if (answer.status !== 200) refused++;
      return answer;
    });
    while (made.vendor.asked.length + refused < 20) await new Promise(setImmediate);
    resolve();
    const answers = await Promise.all(asking);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(made.vendor.asked.length, 20);
    assert.equal(await made.counted(), made.spent());
    const sent = made.vendor.asked.map(({ body: own }) => Reflect.get(Object(own), 'max_tokens'));
    assert.deepEqual([...new Set(sent)], [undefined], 'the request was sent as it was');
  });
}
