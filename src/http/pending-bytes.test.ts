import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { WebSocket } from 'ws';
import { createAgent } from '../tasks/index.ts';
import { serve, type Listening, type ServeOptions } from '../server.ts';
import { counted, PendingBytes } from './pending-bytes.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const MB = 1024 * 1024;

let made = 0;
function rpc(text: string, method = 'message/send'): string {
  const parts = [{ kind: 'text', text }];
  const message = { kind: 'message', messageId: `m${++made}`, role: 'user', parts };
  return JSON.stringify({ jsonrpc: '2.0', id: `id${made}`, method, params: { message } });
}

/** Answers with as many megabytes as the text says. */
async function setUp(t: TestContext, options: ServeOptions = {}): Promise<Listening> {
  const agent = createAgent({ name: 'A', description: 'A' }, async function* ({ text }) {
    yield 'x'.repeat(Number(/\d+/.exec(text)?.[0] ?? 0) * MB || 1);
  });
  const listening = await serve(agent, { logger, ...options }).listen();
  t.after(() => listening.close(0));
  return listening;
}

const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

async function dial(t: TestContext, { port }: Listening): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends a request and reads nothing of the answer. */
async function deaf(t: TestContext, listening: Listening, body: string): Promise<Socket> {
  const socket = await dial(t, listening);
  socket.pause();
  socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

const post = ({ url }: Listening, body: string | Uint8Array<ArrayBuffer>, path = '/') => {
  const headers = { 'content-type': 'application/json' };
  return fetch(url + path, { method: 'POST', body, headers });
};

/** Waits until a request of this size is refused, or accepted, and returns its response. */
async function until(status: number, ask: () => Promise<Response>): Promise<Response> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const response = await ask();
    if (response.status === status) return response;
    await response.arrayBuffer();
    assert.ok(performance.now() < deadline, `${response.status}, not ${status}`);
    await new Promise(setImmediate);
  }
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
function memory(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

test('a body in chunks of one byte needs little more memory than its bytes', async (t) => {
  const listening = await setUp(t);
  const socket = await dial(t, listening);
  const requested = once(listening.server, 'request');
  const before = memory();
  const count = process.env['PARLEY_TEST_SCALE'] === '1' ? 1_000_000 : 100_000;
  const size = '1\r\na\r\n'.length;
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
  socket.write('1\r\na\r\n'.repeat(count));
  const deadline = performance.now() + 60_000;
  const [{ socket: accepted }] = (await requested) as [{ socket: Socket }];
  for (; accepted.bytesRead < count * size;) {
    assert.ok(performance.now() < deadline);
    await new Promise(setImmediate);
  }
  const grown = memory() - before;
  assert.ok(grown < 8 * MB, `${count} bytes took ${Math.round(grown / MB)} MB`);
});

test('bodies that do not arrive are limited per client, and in all; small requests still work', async (t) => {
  const large = rpc('x'.repeat(MB));
  const stall = async (listening: Listening) => {
    const socket = await dial(t, listening);
    socket.write(`${HEAD}Content-Length: ${large.length}\r\n\r\n${large.slice(0, MB / 2)}`);
    return socket;
  };
  const one = await setUp(t, { limits: { maxPendingBytesPerClient: 2 * MB } });
  const stalled = await Promise.all(Array.from({ length: 4 }, () => stall(one)));
  const refused = await until(429, () => post(one, large));
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.match(await refused.text(), /"code":-31429/);
  assert.equal((await post(one, rpc('hi'))).status, 200);
  for (const socket of stalled) socket.destroy();
  assert.match(await (await until(200, () => post(one, large))).text(), /completed/);

  const all = await setUp(t, {
    limits: { maxPendingBytes: MB, maxPendingBytesPerClient: 100 * MB },
  });
  await Promise.all(Array.from({ length: 2 }, () => stall(all)));
  const busy = await until(503, () => post(all, large));
  assert.equal(busy.headers.get('retry-after'), '1');
});

test('a single body and a single frame may exceed both limits if nothing else is in transit', async (t) => {
  const sizes: number[] = [];
  const message = (text: string) => void sizes.push(text.length);
  const sockets = [{ path: '/ws', open: () => ({ message }) }];
  const limits = { maxPendingBytes: 200_000, maxPendingBytesPerClient: 100_000 };
  const listening = await setUp(t, { sockets, limits });
  const large = rpc('x'.repeat(MB));
  assert.equal((await post(listening, large)).status, 200);
  const ws = new WebSocket(`${listening.url.replace('http', 'ws')}/ws`);
  t.after(() => ws.terminate());
  await once(ws, 'open');
  ws.send(large);
  await Promise.race([until(200, () => post(listening, rpc('hi'))), once(ws, 'close')]);
  ws.close();
  await once(ws, 'close');
  assert.deepEqual(sizes, [large.length]);
});

test('answers that are not read are limited, and the refused request keeps its id', async (t) => {
  const listening = await setUp(t, { limits: { maxPendingBytesPerClient: 12 * MB } });
  const held = await Promise.all(Array.from({ length: 5 }, () => deaf(t, listening, rpc('4'))));
  let last = '';
  const refused = await until(429, () => post(listening, (last = rpc('4'))));
  const { id, error } = (await refused.json()) as { id: string; error: { code: number } };
  assert.equal(id, (JSON.parse(last) as { id: string }).id);
  assert.equal(error.code, -31429);
  assert.equal(
    (await until(429, () => fetch(`${listening.url}/tasks?historyLength=9&includeArtifacts=true`)))
      .status,
    429,
  );
  assert.equal((await post(listening, rpc('hi'))).status, 200);
  for (const socket of held) socket.destroy();
  const read = await until(200, () => post(listening, rpc('4')));
  assert.ok((await read.text()).length > 4 * MB);
  // What was read does not count.
  for (let n = 0; n < 4; n++) {
    const again = await until(200, () => post(listening, rpc('4')));
    await again.arrayBuffer();
  }
});

test('streams of large events that are not read are disconnected at the limit, and the others go on', async (t) => {
  const warnings: string[] = [];
  const warn = (_fields: object, message: string) => warnings.push(message);
  const listening = await setUp(t, {
    logger: { ...logger, warn },
    limits: { maxPendingBytesPerClient: 8 * MB },
  });
  const opened: Socket[] = [];
  listening.server.on('connection', (socket: Socket) => opened.push(socket));
  for (let n = 0; n < 5; n++) await deaf(t, listening, rpc('8', 'message/stream'));
  const deadline = performance.now() + 10_000;
  while (!opened.some(({ destroyed }) => destroyed)) {
    assert.ok(performance.now() < deadline, 'none was disconnected');
    await new Promise(setImmediate);
  }
  assert.ok(opened.some(({ destroyed }) => !destroyed));
  assert.equal(warnings[0], 'disconnected a client because too much data is in transit');
  const small = await post(listening, rpc('hi', 'message/stream'));
  assert.match(await small.text(), /"final":true/);
});

test('WebSocket frames that do not arrive are limited', async (t) => {
  const sockets = [{ path: '/ws', open: () => ({ message() {} }) }];
  const listening = await setUp(t, { sockets, limits: { maxPendingBytesPerClient: 2 * MB } });
  const url = `${listening.url.replace('http', 'ws')}/ws`;
  const closed: Promise<unknown>[] = [];
  for (let n = 0; n < 4; n++) {
    const ws = new WebSocket(url);
    t.after(() => ws.terminate());
    ws.on('error', () => {});
    await once(ws, 'open');
    closed.push(once(ws, 'close'));
    // A frame that never ends: only its first fragment.
    ws.send('x'.repeat(MB), { fin: false });
  }
  await Promise.race(closed);
});

test('a body that is not UTF-8 is not valid JSON', async (t) => {
  const listening = await setUp(t);
  const invalid = Buffer.from(rpc('?').replace('?', '\xff'), 'latin1');
  const bytes = new Uint8Array(invalid);
  assert.match(await (await post(listening, bytes)).text(), /-32700/);
  assert.equal((await post(listening, bytes, '/message:send')).status, 400);
});

test('one client can use any size if nothing else is waiting, and counts are given back', () => {
  const pending = new PendingBytes({ maxPendingBytes: 100, maxPendingBytesPerClient: 50 });
  pending.take('ann', 1000);
  assert.throws(() => pending.take('ann', 1), { kind: 'rateLimited' });
  assert.throws(() => pending.take('bob', 1), { kind: 'unavailable' });
  pending.give('ann', 1000);
  pending.take('ann', 50);
  assert.throws(() => pending.take('ann', 1), { kind: 'rateLimited' });
  pending.take('bob', 50);
  assert.throws(() => pending.take('eve', 1), { kind: 'unavailable' });
  pending.give('ann', 50);
  pending.give('bob', 50);
  assert.equal(pending.total, 0);
});

test('a body in parts does not count against itself, but against everything else', () => {
  const pending = new PendingBytes({ maxPendingBytes: 150, maxPendingBytesPerClient: 100 });
  pending.take('ann', 90);
  pending.take('ann', 90, 90);
  pending.take('ann', 90, 180);
  assert.throws(() => pending.take('bob', 1), { kind: 'unavailable' });
  assert.throws(() => pending.take('ann', 1), { kind: 'rateLimited' });
  pending.give('ann', 270);
  pending.take('bob', 60);
  pending.take('ann', 80);
  assert.throws(() => pending.take('ann', 80, 80), { kind: 'unavailable' });
  pending.give('bob', 60);
  pending.take('ann', 80, 80);
  pending.give('ann', 160);
  assert.equal(pending.total, 0);
});

test('an answer that is released twice gives its bytes back once', () => {
  const pending = new PendingBytes({ maxPendingBytes: MB, maxPendingBytesPerClient: MB });
  const { signal } = new AbortController();
  const request = { method: 'GET', url: '/', base: '', remote: 'r', local: false, signal };
  const reply = { status: 200, headers: {}, body: 'x'.repeat(100_000) };
  const answer = () => counted(pending, { ...request, header: () => undefined }, undefined, reply);
  const [first] = [answer(), answer()];
  assert.equal(pending.total, 200_000);
  first.release?.();
  first.release?.();
  assert.equal(pending.total, 100_000);
});
