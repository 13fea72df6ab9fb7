// A gateway that is killed while many calls with a budget run. The provider is in this process and knows what it gave.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as z from 'zod';
import { folder, start } from '../cli/support.ts';
import { fakeVendor, type Asked, type Reply } from '../support/vendors/server.ts';
import { compatible, piece } from '../gateway/models-support.ts';

const BUDGET = 20_000;
const PROMPT_TOKENS = 12;
const KILLS = 3;
/** Answers of one round at once, and the length of each. */
const AT_ONCE = 12;
const LENGTH = 300;
/** What may be lost of an answer in a crash: it was given, but the gateway had not stored that it saw it. */
const UNSEEN = 256 + LENGTH;

const Ready = z.object({ url: z.string(), key: z.string().optional() });
const Usage = z.object({ spent: z.object({ tokens: z.int() }) });

test('kill -9 with calls in progress: what was seen is counted, and the budget holds over all restarts', async () => {
  let given = 0;
  const starts: (() => void)[] = [];
  const reply = ({ body }: Asked): Reply => {
    const { max_tokens: limit = LENGTH } = z
      .looseObject({ max_tokens: z.int().optional() })
      .parse(body);
    const tokens = Math.min(limit, LENGTH);
    given += PROMPT_TOKENS + tokens;
    starts.shift()?.();
    // Some answers are complete; the others are still running when the process dies.
    const events = Array.from({ length: tokens }, () => piece('word '));
    if (vendor.asked.length % 3 !== 0) return { events, after: 'hang' };
    const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens };
    const choices = [{ index: 0, delta: {}, finish_reason: 'stop' }];
    const end = { id: 'c', object: 'chat.completion.chunk', choices, usage };
    return { events: [...events, `data: ${JSON.stringify(end)}\n\n`, 'data: [DONE]\n\n'] };
  };
  await using vendor = await fakeVendor(reply);
  const config = path.join(folder, 'budget-kill.json');
  const providers = { p: compatible(vendor.url, { models: ['m'] }) };
  writeFileSync(config, JSON.stringify({ providers }), { mode: 0o600 });
  const args = ['--config', config, '--store', `sqlite:${path.join(folder, 'budget-kill.db')}`];

  async function gateway() {
    const running = start(['gateway', '--port', '0', '--json', ...args]);
    const [line] = await running.saying(/.*\n/);
    const { url, key } = Ready.parse(JSON.parse(line));
    const ask = (secret: string, route: string, body?: unknown) =>
      fetch(url + route, {
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      });
    return { ...running, key, ask };
  }

  let running = await gateway();
  const fields = { name: 'k', scopes: ['*'], budget: { tokens: BUDGET, period: 'total' } };
  const made = z
    .object({ key: z.object({ id: z.string() }), secret: z.string() })
    .parse(await (await running.ask(running.key ?? '', '/a2a/keys', fields)).json());
  const spent = async () => {
    const response = await running.ask(made.secret, `/a2a/keys/${made.key.id}/usage`);
    return Usage.parse(await response.json()).spent.tokens;
  };

  let unsure = 0;
  for (let kills = 0; kills < KILLS; kills++) {
    const begun = Array.from({ length: AT_ONCE }, () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      starts.push(resolve);
      return promise;
    });
    const body = {
      model: 'm',
      stream: true,
      max_tokens: LENGTH,
      messages: [{ role: 'user', content: 'Weather?' }],
    };
    // The connection breaks when the gateway dies.
    const calls = begun.map(async () => {
      const response = await running.ask(made.secret, '/v1/chat/completions', body);
      await response.text();
    });
    const ended = Promise.allSettled(calls);
    await Promise.all(begun);
    running.child.kill('SIGKILL');
    await running.ended;
    await ended;
    unsure += AT_ONCE * UNSEEN;
    running = await gateway();
    const counted = await spent();
    assert.ok(given <= BUDGET, `the provider gave ${given} tokens`);
    assert.ok(counted >= given - unsure && counted <= given + unsure, `${counted} of ${given}`);
    assert.ok(counted >= (kills + 1) * AT_ONCE * PROMPT_TOKENS, 'each prompt is counted');
  }
  // No reservation of the dead processes is left: the rest of the budget can be used.
  const rest = BUDGET - (await spent()) - 100;
  assert.ok(rest > 0);
  const tasks = await running.ask(made.secret, '/v1/chat/completions', {
    model: 'm',
    stream: true,
    max_tokens: rest,
    messages: [{ role: 'user', content: 'Weather?' }],
  });
  assert.equal(tasks.status, 200);
  await tasks.body?.cancel();
  const { max_tokens: sent } = z
    .looseObject({ max_tokens: z.int() })
    .parse(vendor.asked.at(-1)?.body);
  assert.equal(sent, rest);
  running.child.kill('SIGTERM');
  await running.ended;
});
