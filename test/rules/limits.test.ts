// Limits of docs/operations.md, as a client over HTTP sees them. Others are tested beside their source.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bearerTokens, createAgent, serve, type ServeOptions } from '../../src/server.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Answers with as many bytes as the message says. With `hang` it works and never ends, and with `flood` it never stops
 * to send text. Both ignore a cancel.
 */
const agent = createAgent({ name: 'Large', description: 'Large answers' }, async function* (ctx) {
  if (ctx.text === 'hang') await new Promise(() => {});
  while (ctx.text === 'flood') yield 'x'.repeat(100);
  yield 'x'.repeat(Number(ctx.text));
});

async function listening(t: TestContext, options: ServeOptions) {
  const server = await serve(agent, { logger, ...options }).listen();
  t.after(() => server.close(0));
  return server;
}

let made = 0;
function call(url: string, method: string, params: object, token?: string): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
}

function messageOf(text: string) {
  return { messageId: `limits-${++made}`, role: 'ROLE_USER', parts: [{ text }] };
}

function send(url: string, bytes: number): Promise<Response> {
  return call(url, 'SendMessage', { message: messageOf(String(bytes)) });
}

/** Starts a task that does not end, and returns its id. */
async function begin(url: string, text: string): Promise<string> {
  const configuration = { returnImmediately: true };
  const answer = await call(url, 'SendMessage', { message: messageOf(text), configuration });
  const { result } = (await answer.json()) as { result: { task: { id: string } } };
  return result.task.id;
}

async function raw(port: number, text: string, end = false): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  if (end) socket.end(text);
  else socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

test('headers that do not end are given up with 408', async (t) => {
  const { port } = await listening(t, { limits: { requestTimeoutMs: 100 } });
  assert.match(
    await raw(port, 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: '),
    /^HTTP\/1\.1 408 /,
  );
});

test('a body that does not end is given up with 408 or a closed connection, even if bytes drip', async (t) => {
  const { port, url } = await listening(t, { limits: { requestTimeoutMs: 150 } });
  const head = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n';
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(head);
  const drip = setInterval(() => socket.write('x'), 10);
  let answer = '';
  socket.on('data', (chunk) => (answer += String(chunk)));
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(drip);
  // A client that is still writing may be disconnected before it has read the answer.
  assert.match(answer, /^(?:HTTP\/1\.1 408 |$)/);
  assert.equal((await send(url, 1)).status, 200);
});

test('a client that closes its half of the connection in the middle of a request is let go', async (t) => {
  const { port, url } = await listening(t, {});
  const head = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"jsonrpc"';
  await raw(port, head, true);
  assert.equal((await send(url, 1)).status, 200);
});

test('a message that finds no room on the disk gets 503, and its tasks before it can be read', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-limits-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqliteStore(join(folder, 'tasks.db'), { maxPages: 100, logger });
  const { url } = await listening(t, { store });
  let refused: Response | undefined;
  let stored = 0;
  for (let n = 0; n < 20 && !refused; n++) {
    const response = await send(url, 40_000);
    if (response.status === 200 && !(await response.clone().text()).includes('error')) stored++;
    else refused = response;
  }
  assert.ok(stored > 0 && refused);
  assert.equal(refused.status, 503);
  assert.ok(refused.headers.get('retry-after'));
  assert.doesNotMatch(await refused.text(), /sqlite|disk|tasks\.db/i, 'the cause stays in our log');
  const { total = 0 } = store.list({ tenant: '', owner: '', limit: 1 });
  assert.ok(total >= stored);
});

test('a task is canceled after the grace time, although its agent neither ends nor stops to send', async (t) => {
  const { url } = await listening(t, { limits: { graceMs: 20 } });
  for (const text of ['hang', 'flood']) {
    const id = await begin(url, text);
    const answer = await call(url, 'CancelTask', { id });
    const { result } = (await answer.json()) as { result: { status: { state: string } } };
    assert.equal(result.status.state, 'TASK_STATE_CANCELED');
    const events = async () =>
      ((await (await fetch(`${url}/tasks/${id}/events?after=0`)).json()) as { events: [] }).events;
    const after = (await events()).length;
    assert.equal((await send(url, 1)).status, 200);
    assert.equal((await events()).length, after, 'the rest of the execution is ignored');
  }
});

test('a task has 32 webhooks, and the next one is refused with -32602', async (t) => {
  const push = { deliver: async () => {} };
  const { url } = await listening(t, { push, limits: { graceMs: 20 } });
  const taskId = await begin(url, 'hang');
  const set = async (id: string) => {
    const config = { taskId, id, url: 'https://hook.example/' };
    const answer = await call(url, 'CreateTaskPushNotificationConfig', config);
    return ((await answer.json()) as { error?: { code: number } }).error?.code;
  };
  for (let n = 1; n <= 32; n++) assert.equal(await set(`hook-${n}`), undefined);
  assert.equal(await set('hook-33'), -32602);
  assert.equal(await set('hook-32'), undefined, 'an existing one can be changed');
});

test('streams over the limit of the server get 429, whoever asks', async (t) => {
  const authenticate = bearerTokens(new Map(['ann', 'bob'].map((name) => [name, name])));
  const { url } = await listening(t, { authenticate, limits: { maxStreams: 1, graceMs: 20 } });
  const open = () => call(url, 'SendStreamingMessage', { message: messageOf('hang') }, 'ann');
  const first = await open();
  assert.equal(first.status, 200);
  const message = messageOf('hang');
  const refused = await call(url, 'SendStreamingMessage', { message }, 'bob');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '5']);
  await first.body?.cancel();
  let next: Response;
  do next = await open();
  while (next.status === 429);
  assert.equal(next.status, 200);
  await next.body?.cancel();
});
