// Isolation of service: one workspace causes every kind of failure that it can, and the other one does not notice.
// The numbers are small in `npm test`, and its files run in parallel, so only the errors count there.
// `npm run test:scale` runs one file at a time and also compares the times; PARLEY_TEST_LONG=1 makes the numbers large.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startGateway } from '../support/gateway.ts';
import { fakeVendor } from '../support/vendors/server.ts';
import { compatible, piece, says } from './models-support.ts';

const LONG = process.env['PARLEY_TEST_LONG'] === '1';
const TIMED = LONG || process.env['PARLEY_TEST_SCALE'] === '1';
const CALLS = LONG ? 1000 : TIMED ? 300 : 60;
const HOSTILE = LONG ? 64 : 12;
/** Less than this is noise: the other workspace shares the processor, too. In milliseconds. */
const FLOOR_MS = 100;

const chat = (content: string, model = 'm', stream = false) => ({
  model,
  stream,
  messages: [{ role: 'user', content }],
});

test('a workspace that causes every kind of failure adds no error and little delay to another one', async () => {
  await using vendor = await fakeVendor(({ body }) => {
    const text = JSON.stringify(body);
    if (text.includes('poison')) return { status: 500, body: { error: { message: 'internal' } } };
    if (text.includes('cut off')) return { events: [piece('It ')], after: 'break' };
    if (text.includes('silence')) return 'silence';
    if (text.includes('endless')) return { events: [piece('It ')], after: 'hang' };
    if (text.includes('wrong')) return { status: 400, body: { error: { message: 'wrong' } } };
    return text.includes('"gone"')
      ? { status: 404, body: { error: { message: 'no such model' } } }
      : says('Here.');
  });
  const circuit = { failures: 2, openMs: 60_000 };
  const limits = { maxConcurrent: 8, firstByteMs: 400, attempts: 1, circuit };
  const provider = { models: ['m', 'gone'], ...limits };
  await using gateway = await startGateway({
    config: {
      providers: { p: compatible(vendor.url, provider) as { type: 'openai-compatible' } },
    },
  });
  const [bad, good] = [gateway.key('bad'), gateway.key('good')];
  const over = new AbortController();

  async function serve(count: number): Promise<{ errors: number; p99: number }> {
    const times: number[] = [];
    let errors = 0;
    for (let at = 0; at < count; at++) {
      const started = performance.now();
      const response = await gateway.ask(good, 'POST', '/v1/chat/completions', chat('Weather?'));
      if (!(await response.text()).includes('Here.')) errors++;
      times.push(performance.now() - started);
    }
    times.sort((one, other) => one - other);
    return { errors, p99: times[Math.ceil(times.length * 0.99) - 1] ?? 0 };
  }

  /** One call that fails or that takes a slot for as long as it can. It is left after a while. */
  async function harm(body: object, leaveMs: number): Promise<void> {
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(leaveMs)]);
    const headers = { authorization: `Bearer ${bad}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal };
    const response = await fetch(`${gateway.url}/v1/chat/completions`, init);
    // A stream is not read: its client is slow.
    if (!('stream' in body && body.stream === true)) await response.text();
    else await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  const kinds: readonly (readonly [body: object, leaveMs: number])[] = [
    [chat('poison'), 5000],
    [chat('poison', 'unknown'), 5000],
    [chat('gone?', 'gone'), 5000],
    [chat('wrong'), 5000],
    [chat('cut off'), 5000],
    [chat('silence'), 5000],
    [chat('silence'), 50],
    [chat('x'.repeat(200_000) + 'wrong'), 5000],
    [chat('endless', 'm', true), 2000],
    [chat('endless', 'm', true), 30],
  ];

  await serve(5);
  const alone = await serve(CALLS);
  const began = new Set<number>();
  const everyKind = Promise.withResolvers<void>();
  const attackers = Array.from({ length: HOSTILE }, async (_, at) => {
    for (let turn = at; !over.signal.aborted; turn++) {
      if (began.add(turn % kinds.length).size === kinds.length) everyKind.resolve();
      const [body, leaveMs] = kinds[turn % kinds.length] ?? [{}, 50];
      await harm(body, leaveMs).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  await everyKind.promise;
  const beside = await serve(CALLS);
  over.abort();
  await Promise.all(attackers);
  assert.deepEqual([alone.errors, beside.errors], [0, 0]);
  if (!TIMED) return;
  const most = Math.max(2 * alone.p99, FLOOR_MS);
  assert(beside.p99 <= most, `p99 ${beside.p99} ms beside it, ${alone.p99} ms alone`);
});

test('updatedAt of a working task moves with its artifacts', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-updated-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'script.json');
  const steps = [{ delayMs: 30 }, { text: 'It is' }, { delayMs: 60_000 }];
  writeFileSync(file, JSON.stringify([steps]));
  await using gateway = await startGateway({
    config: {
      providers: { s: { type: 'scripted', file, models: ['m'] } },
      defaultModel: 'm',
      drainSeconds: 0,
    },
  });
  const key = gateway.key();
  const body = { message: { role: 'user', content: 'Weather?' } };
  const stream = await gateway.ask(key, 'POST', '/a2a/tasks/sendSubscribe', body);
  let working = 0;
  let text = '';
  let id = '';
  for await (const bytes of stream.body ?? []) {
    text += Buffer.from(bytes).toString('utf8');
    id = /"taskId":"([^"]+)"/.exec(text)?.[1] ?? '';
    const [, time] = /"status":"working","timestamp":"([^"]+)"/.exec(text) ?? [];
    if (time !== undefined) working = Date.parse(time);
    if (text.includes('"type":"artifact"')) break;
  }
  const got = await gateway.ask(key, 'GET', `/a2a/tasks/${id}`);
  const { task } = (await got.json()) as { task: { status: string; updatedAt: string } };
  assert.equal(task.status, 'working');
  assert(working > 0);
  assert(Date.parse(task.updatedAt) >= working + 20, `${task.updatedAt} is the time of the status`);
  await gateway.ask(key, 'POST', '/a2a/tasks/cancel', { taskId: id });
});
