// Budgets as callers of a real gateway meet them, with providers and agents behind it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as z from 'zod';
import { createAgent } from '../../src/tasks/index.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { remote } from './agents-support.ts';
import { compatible, piece } from './models-support.ts';

const Usage = z.object({ spent: z.object({ tokens: z.int(), amount: z.number() }) });

function keyWith(running: RunningGateway, budget: object) {
  const fields = { workspace: 'default', name: 'one', scopes: ['*' as const] };
  const { key, secret } = running.gateway.keys.create(
    { ...fields, budget: budget as never },
    'test',
  );
  const spent = async () => {
    const response = await running.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`);
    return Usage.parse(await response.json()).spent;
  };
  return { id: key.id, secret, spent };
}

const errorOf = async (response: Response): Promise<unknown> =>
  Reflect.get(Object(await response.json()), 'error');

test('a call of an agent counts what the agent reports, or else what the configuration says', async (t) => {
  const usage = { inputTokens: 30, outputTokens: 20, cost: { amount: 0.25, currency: 'USD' } };
  const talker = createAgent({ name: 'Talker', description: '' }, async function* ({ text }) {
    const parts = [{ kind: 'text' as const, text: 'done' }];
    const metadata = text === 'report' ? { usage } : {};
    const base = { kind: 'message' as const, messageId: 'm', role: 'agent' as const };
    const message = { ...base, parts, metadata };
    yield { kind: 'status-update', state: 'completed', message };
  });
  const { url } = await remote(t, talker);
  const config = {
    agents: { talker: { url, usage: { tokens: 7, amount: 0.5, currency: 'USD' } } },
  };
  await using running = await startGateway({ config });
  const key = keyWith(running, { tokens: 60, amount: 9, currency: 'USD', period: 'month' });
  const send = (content: string) =>
    running.ask(key.secret, 'POST', '/a2a/tasks/send', {
      message: { role: 'user', content },
      metadata: { agent: 'talker' },
    });
  assert.equal((await send('report')).status, 200);
  assert.deepEqual(await key.spent(), { tokens: 50, amount: 0.25 });
  assert.equal((await send('nothing')).status, 200);
  assert.deepEqual(await key.spent(), { tokens: 57, amount: 0.75 });
  const refused = await send('report');
  assert.equal(refused.status, 429);
  assert.match(
    String(await errorOf(refused)),
    /^The budget of this key has 3 tokens left for this month, but the request needs about 7: wait until the budget is renewed \(\d{4}-\d\d-01 00:00 UTC\) or ask for a larger budget$/,
  );
  const rows = await (await running.ask(key.secret, 'GET', '/a2a/usage')).json();
  assert.partialDeepStrictEqual(rows, { items: [{ keyId: key.id, agent: 'talker', calls: 2 }] });
});

test('counting tokens needs no budget, because vendors do not charge for it', async () => {
  const answers: Readonly<Record<string, object>> = {
    '/v1/messages/count_tokens': { input_tokens: 77 },
    '/v1beta/models/m:countTokens': { totalTokens: 77 },
  };
  await using vendor = await fakeVendor(({ path }) => ({ status: 200, body: answers[path] ?? {} }));
  const { url } = vendor;
  const providers = {
    a: { type: 'anthropic' as const, baseUrl: `${url}/v1`, apiKey: 'k', models: ['claude'] },
    g: { type: 'google' as const, baseUrl: `${url}/v1beta`, apiKey: 'k', models: ['m'] },
  };
  await using running = await startGateway({ config: { providers } });
  const key = keyWith(running, { tokens: 20, period: 'month' });
  const text = 'word '.repeat(100);
  const ask = async (path: string, body: object) => {
    const response = await running.ask(key.secret, 'POST', path, body);
    return [response.status, await response.json()];
  };
  const messages = [{ role: 'user', content: text }];
  const contents = [{ role: 'user', parts: [{ text }] }];
  assert.deepEqual(await ask('/v1/messages/count_tokens', { model: 'claude', messages }), [
    200,
    { input_tokens: 77 },
  ]);
  assert.deepEqual(await ask('/v1beta/models/m:countTokens', { contents }), [
    200,
    { totalTokens: 77 },
  ]);
  assert.deepEqual(await key.spent(), { tokens: 0, amount: 0 });
  const rows = await (await running.ask(key.secret, 'GET', '/a2a/usage')).json();
  assert.partialDeepStrictEqual(rows, { items: [] });
});

test('a long prompt in a field that only the provider knows counts like any other', async () => {
  await using vendor = await fakeVendor([]);
  const own = (type: string) => ({ type, baseUrl: vendor.url, apiKey: 'k', models: [type] });
  const types = ['openai-compatible', 'anthropic', 'openai', 'google'];
  const providers = Object.fromEntries(types.map((type) => [type, own(type)]));
  await using running = await startGateway({ config: { providers } as object });
  const key = keyWith(running, { tokens: 1000, period: 'month' });
  const long = 'lorem ipsum '.repeat(1000);
  const messages = [{ role: 'user', content: 'x' }];
  const contents = [{ role: 'user', parts: [{ text: 'x' }] }];
  const tool = { name: 'f', input_schema: {}, input_examples: [{ long }] };
  const functionDeclarations = [{ name: 'f', response: { description: long } }];
  const group = { type: 'namespace', name: 'n', tools: [{ type: 'function', description: long }] };
  const parts = [
    { kind: 'text', text: 'x' },
    { kind: 'file', file: { mimeType: 'text/plain', bytes: Buffer.from(long).toString('base64') } },
  ];
  const message = { kind: 'message', messageId: 'm', role: 'user', parts };
  const [compatible, anthropic, openai] = types;
  const params = { message, metadata: { model: compatible } };
  const requests: readonly (readonly [path: string, body: object])[] = [
    ['/v1/chat/completions', { model: compatible, messages, functions: [{ description: long }] }],
    ['/v1/chat/completions', { model: compatible, messages: [{ ...messages[0], name: long }] }],
    ['/v1/messages', { model: anthropic, messages, max_tokens: 16, tools: [tool] }],
    ['/v1/responses', { model: openai, input: 'x', tools: [group] }],
    ['/v1beta/models/google:generateContent', { contents, tools: [{ functionDeclarations }] }],
    ['/', { jsonrpc: '2.0', id: 1, method: 'message/send', params }],
  ];
  for (const [path, body] of requests) {
    const response = await running.ask(key.secret, 'POST', path, body);
    assert.equal(response.status, 429, path);
    // The clients of these two vendors would try again otherwise.
    const isRead = /^\/v1\/(?:chat|responses|messages)/.test(path);
    assert.equal(response.headers.get('x-should-retry'), isRead ? 'false' : null, path);
    assert.match(
      await response.text(),
      /1000 tokens left for this month, but the request needs about \d+ \(/,
    );
  }
  assert.equal(vendor.asked.length, 0);
});

test('a key can be changed: budget, rate limit, scopes, name and expiry, with effect at once', async () => {
  await using running = await startGateway();
  const admin = running.key();
  const key = keyWith(running, { tokens: 20, period: 'month' });
  const hello = { message: { role: 'user', content: 'hello there' } };
  const send = async () => (await running.ask(key.secret, 'POST', '/a2a/tasks/send', hello)).status;
  const patch = (body: object, path = `/a2a/keys/${key.id}`) =>
    running.ask(admin, 'PATCH', path, body);
  assert.equal(await send(), 429);
  const budget = { tokens: 100_000, period: 'day' };
  const changed = await patch({ budget, name: 'raised' });
  assert.partialDeepStrictEqual(await changed.json(), { id: key.id, name: 'raised', budget });
  assert.equal(await send(), 200);
  assert.equal((await patch({ scopes: ['tasks:read'] })).status, 200);
  assert.equal(await send(), 403);
  assert.equal((await patch({ scopes: ['*'], budget: null })).status, 200);
  assert.equal(await send(), 200);
  assert.equal((await patch({ rateLimit: { requestsPerMinute: 1 } })).status, 200);
  assert.deepEqual([await send(), await send()], [200, 429]);
  const { items } = z
    .object({ items: z.array(z.looseObject({ action: z.string() })) })
    .parse(await (await running.ask(admin, 'GET', '/a2a/audit')).json());
  assert.equal(items.filter(({ action }) => action === 'key.edit').length, 4);
  assert.equal((await patch({ expiresAt: '2020-01-01T00:00:00Z' })).status, 400);
  assert.equal((await patch({})).status, 400);
});

test('a key cannot be changed by one with fewer scopes, and the last administrator stays one', async () => {
  await using running = await startGateway();
  const { key, secret } = running.gateway.keys.create(
    { workspace: 'default', name: 'admin', scopes: ['*'] },
    'test',
  );
  const path = `/a2a/keys/${key.id}`;
  const other = running.key('default', 'keys:write');
  assert.equal((await running.ask(other, 'PATCH', path, { name: 'x' })).status, 403);
  const own = running.gateway.keys.list('default').items.find(({ id }) => id !== key.id);
  await running.ask(secret, 'DELETE', `/a2a/keys/${own?.id}`);
  const lose = { scopes: ['tasks:read'] };
  assert.equal((await running.ask(secret, 'PATCH', path, lose)).status, 409);
  assert.equal((await running.ask(secret, 'PATCH', `${path}?force=true`, lose)).status, 200);
});

/** One request of the property: how long its prompt and its answer are, and what becomes of it. */
const Plan = fc.record({
  words: fc.nat({ max: 60 }),
  answer: fc.integer({ min: 1, max: 120 }),
  max: fc.option(fc.integer({ min: 1, max: 300 }), { nil: undefined }),
  fate: fc.constantFrom('answers', 'answers', 'answers', 'fails', 'breaks', 'canceled'),
});
type Plan = typeof Plan extends fc.Arbitrary<infer One> ? One : never;

/** A provider in OpenAI's format that keeps to `max_tokens` and remembers what it would charge. */
function accountant() {
  const seen = { tokens: 0, complete: 0, unsure: 0 };
  function reply({ body }: Asked): Reply {
    const { messages, max_tokens: limit = Infinity } = z
      .looseObject({
        messages: z.array(z.looseObject({ content: z.string() })),
        max_tokens: z.int().optional(),
      })
      .parse(body);
    const content = messages.at(-1)?.content ?? '';
    const { answer, fate } = z
      .object({ answer: z.int(), fate: z.string() })
      .parse(JSON.parse(content.slice(0, content.indexOf('}') + 1)));
    if (fate === 'fails') return { status: 400, body: { error: { message: 'no' } } };
    const prompt = Math.ceil(content.length / 4) + 6;
    const tokens = Math.min(answer, limit);
    seen.tokens += prompt + tokens;
    const said = Array.from({ length: tokens }, () => piece('word '));
    if (fate !== 'answers') {
      seen.unsure += prompt + tokens;
      return { events: said, after: fate === 'breaks' ? 'break' : 'hang' };
    }
    seen.complete += prompt + tokens;
    const usage = { prompt_tokens: prompt, completion_tokens: tokens };
    const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
    const end = { id: 'c', object: 'chat.completion.chunk', choices, usage };
    return { events: [...said, `data: ${JSON.stringify(end)}\n\n`, 'data: [DONE]\n\n'] };
  }
  return { seen, reply };
}

async function run(running: RunningGateway, secret: string, plan: Plan): Promise<number> {
  const { words, max, fate } = plan;
  const content = JSON.stringify({ answer: plan.answer, fate }) + ' word'.repeat(words);
  const body = {
    model: 'm',
    stream: true,
    messages: [{ role: 'user', content }],
    ...(max !== undefined && { max_tokens: max }),
  };
  const response = await running.ask(secret, 'POST', '/v1/chat/completions', body);
  if (fate === 'canceled' && response.ok) {
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
  } else await response.text();
  return response.status;
}

test('random calls at once never exceed a budget, and none is refused while there is room', async () => {
  const account = accountant();
  await using vendor = await fakeVendor((asked) => account.reply(asked));
  // The circuit must not open: the provider would then not be called.
  const settings = { models: ['m'], attempts: 1, circuit: { failures: 1000, windowMs: 1 } };
  await using running = await startGateway({
    config: { providers: { p: compatible(vendor.url, settings) } } as object,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 50, max: 6000 }),
      fc.array(fc.array(Plan, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 }),
      async (tokens, rounds) => {
        Object.assign(account.seen, { tokens: 0, complete: 0, unsure: 0 });
        const key = keyWith(running, { tokens, period: 'total' });
        for (const plans of rounds) {
          const before = (await key.spent()).tokens;
          const all = await Promise.all(plans.map((plan) => run(running, key.secret, plan)));
          // Our count of these prompts is at most twice the provider's, and answers are at most 300 tokens or 8192.
          const most = plans.reduce(
            (sum, { words, max }) => sum + (max ?? 8192) + 3 * words + 100,
            before,
          );
          assert.ok(!all.includes(503), 'the provider was not called');
          if (most <= tokens) assert.ok(!all.includes(429), 'refused although there was room');
        }
        assert.ok(account.seen.tokens <= tokens, `${account.seen.tokens} of ${tokens} tokens`);
        // A canceled call is settled when the gateway notices that its caller has left.
        while (running.gateway.running > 0) await new Promise(setImmediate);
        const spent = (await key.spent()).tokens;
        assert.ok(spent >= account.seen.complete);
        if (account.seen.unsure === 0) assert.equal(spent, account.seen.tokens);
        // Nothing stays reserved: the rest of the budget can be used.
        const plan = { words: 0, answer: 1, max: 16, fate: 'answers' } as const;
        if (tokens - spent > 100) assert.equal(await run(running, key.secret, plan), 200);
      },
    ),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 300 : 8 },
  );
});
