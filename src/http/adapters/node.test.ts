import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express from 'express';
import { createAgent } from '../../tasks/index.ts';
import { serve, type ServeOptions } from '../../server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

let made = 0;
function body(text: string, method = 'message/send', more: object = {}): string {
  const parts = [{ kind: 'text', text }];
  const message = { kind: 'message', messageId: `m${++made}`, role: 'user', parts };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message, ...more } });
}

const headers = { 'content-type': 'application/json' };
const post = (url: string, text: string, init: RequestInit = {}) =>
  fetch(url, { method: 'POST', headers, body: text, ...init });

const KB = 'x'.repeat(1000);

/** So many events of about a kilobyte as the second word says; after `hold` only when the gate is open. */
function setUp(t: TestContext, options: ServeOptions = {}) {
  const gate = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'A', description: 'A' }, async function* (ctx) {
    const [verb, count] = ctx.text.split(' ');
    if (verb === 'hold') {
      yield 'held ';
      await gate.promise;
    }
    for (let n = 0; n < Number(count ?? 0); n++) {
      yield KB;
    }
    yield 'end';
  });
  const server = serve(agent, { logger: silent, ...options });
  t.after(() => server.close(0));
  return { server, open: () => gate.resolve() };
}

async function listen(t: TestContext, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < until, 'it did not happen in time');
    await tick();
  }
}

for (const parsed of [false, true]) {
  test(`it mounts in Express under a path, ${parsed ? 'behind' : 'without'} its JSON parser`, async (t) => {
    const { server } = setUp(t);
    const app = express();
    if (parsed) app.use(express.json());
    app.use('/agents/echo', server.node);
    const base = await listen(t, http.createServer(app));
    const url = `${base}/agents/echo`;
    const card = await fetch(`${url}/.well-known/agent-card.json`);
    const { url: said } = (await card.json()) as { url: string };
    assert.equal(said, url);
    const answer = await (await post(said, body('hi'))).text();
    assert.match(answer, /"state":"completed"/);
    const stream = await (await post(said, body('hi', 'message/stream'))).text();
    assert.match(stream, /"final":true/);
    assert.equal((await fetch(`${url}/tasks`)).status, 200);
    const bad = await (await post(`${url}/message:send`, '[]')).text();
    assert.match(bad, /"code":400/);
  });
}

test('it is a plain node:http handler', async (t) => {
  const { server } = setUp(t);
  const url = await listen(t, http.createServer(server.node));
  assert.match(await (await post(url, body('hi'))).text(), /"state":"completed"/);
});

test('one connection serves answers, errors, streams and refused bodies one after another', async (t) => {
  const { server } = setUp(t, { limits: { maxBodyBytes: 5000 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  let connections = 0;
  listening.server.on('connection', () => connections++);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (text: string) =>
    new Promise<number>((resolve, reject) => {
      const request = http.request(
        listening.url,
        { method: 'POST', headers, agent },
        (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0));
        },
      );
      request.on('error', reject).end(text);
    });
  for (let round = 0; round < 3; round++) {
    assert.equal(await ask(body('hi')), 200);
    assert.equal(await ask('{'), 200);
    assert.equal(await ask(body('hi', 'message/stream')), 200);
    assert.equal(await ask(body('x'.repeat(100_000))), 413);
    assert.equal(await ask(body('x', 'tasks/resubscribe')), 200);
  }
  assert.equal(connections, 1);
  agent.destroy();
});

test('closing lets answers and streams that are under way end, and does not wait for idle connections', async (t) => {
  const { server, open } = setUp(t);
  const listening = await server.listen();
  const idle = connect(listening.port, '127.0.0.1');
  await once(idle, 'connect');
  await (await fetch(`${listening.url}/tasks`)).text();
  const blocking = post(listening.url, body('hold 10000'));
  const stream = await post(listening.url, body('hold', 'message/stream'));
  await eventually(() => server.handler.running === 2);
  const began = performance.now();
  const closed = listening.close(10_000);
  // On a connection that is there already it is refused; a new one is not taken.
  const late = await post(listening.url, body('late')).catch(() => undefined);
  assert.equal(late?.status ?? 503, 503);
  await late?.text();
  const refused = connect(listening.port, '127.0.0.1');
  await assert.rejects(once(refused, 'connect'), { code: 'ECONNREFUSED' });
  open();
  const [answer, events] = await Promise.all([blocking.then((one) => one.text()), stream.text()]);
  assert.ok(answer.length > 10_000_000);
  assert.match(answer, /"state":"completed"/);
  assert.match(events, /"final":true/);
  await closed;
  assert.ok(performance.now() - began < 5000);
  idle.destroy();
});

test('closing waits for an answer that is on its way to a slow reader', async (t) => {
  const { server } = setUp(t);
  const listening = await server.listen();
  const accepted: Socket[] = [];
  listening.server.on('connection', (socket) => accepted.push(socket));
  const slow = await deaf(t, listening.port, body('flood 10000'));
  await eventually(() => (accepted[0]?.writableLength ?? 0) > 1_000_000);
  const closed = listening.close(10_000);
  await tick();
  let answer = '';
  for await (const chunk of slow) answer += String(chunk);
  await closed;
  const length = Number(/content-length: (\d+)/i.exec(answer)?.[1]);
  assert.equal(answer.split('\r\n\r\n')[1]?.length, length);
});

test('closing at once ends what is under way as interrupted, and everybody hears of it', async (t) => {
  const { server } = setUp(t, { limits: { graceMs: 20 } });
  const listening = await server.listen();
  const blocking = post(listening.url, body('hold'));
  const stream = await post(listening.url, body('hold', 'message/stream'));
  await eventually(() => server.handler.running === 2);
  await listening.close(0);
  assert.match(await (await blocking).text(), /interrupted/);
  assert.match(await stream.text(), /interrupted/);
});

/** A client that sends a request and reads nothing of the answer. */
async function deaf(t: TestContext, port: number, text: string, path = '/'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', onread: undefined });
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return socket;
}

/** The numbers of the events in the text of a stream; the last may be cut off. */
function idsIn(text: string): number[] {
  const frames = text.split('\n\n').slice(0, -1);
  return frames.flatMap((frame) => {
    const id = /(?:^|\n)id: (\d+)\n/.exec(frame)?.[1];
    return id === undefined ? [] : [Number(id)];
  });
}

test('a reader that does not read holds nobody and costs little; dropped, it goes on where it was', async (t) => {
  const events = 10_000;
  const limits = { stallMs: 300, heartbeatMs: 50, maxTaskBytes: 2 ** 40 };
  const { server } = setUp(t, { limits });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const accepted: Socket[] = [];
  listening.server.on('connection', (socket) => accepted.push(socket));
  const slow = await deaf(t, listening.port, body(`flood ${events}`, 'message/stream'));
  await eventually(() => server.handler.running === 1);
  const id = (await server.handler.listTasks({})).tasks[0]!.id;

  // While it stands still, another client gets everything, and the server keeps next to nothing for it.
  let largest = 0;
  const watch = setInterval(() => {
    for (const socket of accepted) largest = Math.max(largest, socket.writableLength);
  }, 1);
  const other = await fetch(`${listening.url}/tasks/${id}:subscribe?after=0`);
  const whole = idsIn(await other.text());
  assert.equal(whole.length, events + 4);
  clearInterval(watch);
  assert.ok(largest < 1024 * 1024, `${largest} bytes waited for one reader`);

  // Dropped after the stall; what it had got so far is complete up to some event.
  await eventually(() => accepted[0]!.destroyed);
  let text = '';
  slow.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  slow.resume();
  await once(slow, 'close');
  const seen = idsIn(text.replaceAll(/\r\n[0-9a-f]+\r\n/g, ''));
  assert.ok(seen.length > 1 && seen.length < events);
  const rest = await fetch(`${listening.url}/tasks/${id}:subscribe`, {
    headers: { 'last-event-id': String(seen.at(-1)) },
  });
  assert.deepEqual([...seen, ...idsIn(await rest.text())], whole);
});

test('a reader that stops before a huge last event is dropped, and no heartbeat comes after the end', async (t) => {
  const gate = Promise.withResolvers<void>();
  const huge = 'x'.repeat(16 * 1024 * 1024);
  const agent = createAgent({ name: 'A', description: 'A' }, async function* () {
    await gate.promise;
    yield { kind: 'status-update', state: 'completed', message: huge };
  });
  const server = serve(agent, { logger: silent, limits: { stallMs: 200, heartbeatMs: 5 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const accepted: Socket[] = [];
  listening.server.on('connection', (socket) => accepted.push(socket));
  await deaf(t, listening.port, body('x', 'message/stream'));
  await eventually(() => server.handler.running === 1);
  gate.resolve();
  await eventually(() => accepted[0]!.writableLength > 1_000_000);
  await eventually(() => accepted[0]!.destroyed);
});

test('a reader that reads slowly misses nothing', async (t) => {
  const { server } = setUp(t, { limits: { stallMs: 400, heartbeatMs: 50 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const slow = await deaf(t, listening.port, body('flood 4000', 'message/stream'));
  let tail = '';
  let frames = 0;
  for (let pause = 0; !tail.includes('"final":true'); pause++) {
    const chunk = slow.read() as Buffer | null;
    const lines = (tail + (chunk?.toString() ?? '')).split('\n');
    tail = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('id: ')) assert.equal(line, `id: ${++frames}`);
      if (line.includes('"final":true')) tail = line;
    }
    // Stops now and then, for less than the limit.
    if (pause % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    else await tick();
    assert.equal(slow.destroyed, false);
  }
  assert.equal(frames, 4004);
});

test('a client that leaves in the middle of a stream frees its reader and its place', async (t) => {
  const { server, open } = setUp(t, { limits: { maxStreamsPerClient: 1 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  for (let round = 0; round < 3; round++) {
    const leaving = new AbortController();
    let response: Response | undefined;
    await eventually(async () => {
      response = await post(listening.url, body('hold', 'message/stream'), {
        signal: leaving.signal,
      });
      if (response.status !== 200) await response.text();
      return response.status === 200;
    });
    leaving.abort();
  }
  open();
  await eventually(() => server.handler.running === 0);
});

test('a client of HTTP/1.0 gets its stream as it is, up to the end of the connection', async (t) => {
  const { server } = setUp(t);
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const socket = connect(listening.port, '127.0.0.1');
  const text = body('hi', 'message/stream');
  const head = `POST / HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${text.length}\r\n\r\n${text}`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  const [, events = ''] = answer.split('\r\n\r\n', 2);
  assert.match(events, /^id: 1\ndata: /);
  assert.match(events, /"final":true}}\n\n$/);
});

test('text of any script arrives as it was said, whatever was in the write before it', async (t) => {
  const said = ['plain ', 'naïve ', 'plain ', '你好 ', '\u{1F9ED}', ' plain'];
  const agent = createAgent({ name: 'A', description: 'A' }, async function* () {
    for (const word of said) {
      yield word;
      await tick();
    }
  });
  const server = serve(agent, { logger: silent });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const stream = await (await post(listening.url, body('hi', 'message/stream'))).text();
  for (const word of said) assert.ok(stream.includes(`"text":"${word}"`), word);
});

test('a request that breaks off, or is no HTTP, does no harm', async (t) => {
  const { server } = setUp(t);
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const head = 'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
  for (const start of [
    `${head}Content-Length: 100\r\n\r\n{"json`,
    head,
    'GARBAGE\r\n\r\n',
    '\u0000',
  ]) {
    const socket = connect(listening.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(start);
    await tick();
    socket.destroy();
  }
  assert.equal((await fetch(`${listening.url}/tasks`)).status, 200);
  assert.equal((await server.handler.listTasks({})).totalSize, 0);
});

test('a limit that is given as undefined is the default, not none', async (t) => {
  const limits = { maxBodyBytes: undefined, maxStreams: undefined, maxRunning: undefined };
  const { server } = setUp(t, { limits });
  const url = await listen(t, http.createServer(server.node));
  assert.equal((await post(url, body('x'.repeat(11 * 1024 * 1024)))).status, 413);
  assert.match(await (await post(url, body('hi', 'message/stream'))).text(), /"final":true/);
});

test('the time for a request may be shorter than that for its headers is by default', async (t) => {
  const { server } = setUp(t, { limits: { requestTimeoutMs: 100 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const socket = connect(listening.port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n{');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  assert.match(answer, /^HTTP\/1\.1 408 /);
  const { server: patient } = setUp(t, { limits: { requestTimeoutMs: 0 } });
  const without = await patient.listen();
  t.after(() => without.close(0));
  assert.deepEqual([without.server.requestTimeout, without.server.headersTimeout], [0, 0]);
});

/** A finished task of about so many kilobytes. */
async function large(server: ReturnType<typeof serve>, kilobytes: number): Promise<string> {
  const parts = [{ kind: 'text' as const, text: `flood ${kilobytes}` }];
  const message = {
    kind: 'message' as const,
    messageId: `m${++made}`,
    role: 'user' as const,
    parts,
  };
  const sent = await server.handler.sendMessage({ message });
  assert.equal(sent.kind, 'task');
  return sent.kind === 'task' ? sent.id : '';
}

const rpc = (method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

for (const [what, ask] of [
  ['an answer', (id: string) => rpc('tasks/get', { id })],
  // The same message again: its stream is over with the task that opens it.
  ['a stream that is over at once', () => body('flood 20000', 'message/stream')],
] as const) {
  test(`a client that does not read ${what} is dropped`, async (t) => {
    const limits = { stallMs: 200, heartbeatMs: 50, maxTaskBytes: 2 ** 40 };
    const { server } = setUp(t, { limits });
    const listening = await server.listen();
    t.after(() => listening.close(0));
    const accepted: Socket[] = [];
    listening.server.on('connection', (socket) => accepted.push(socket));
    const text = ask(await large(server, 20_000));
    if (what !== 'an answer') await (await post(listening.url, text)).text();
    const at = accepted.length;
    await deaf(t, listening.port, text);
    await eventually(() => (accepted[at]?.writableLength ?? 0) > 1_000_000);
    await eventually(() => accepted[at]!.destroyed);
  });
}

test('a client that reads a large answer slowly gets all of it', async (t) => {
  const { server } = setUp(t, { limits: { stallMs: 150, heartbeatMs: 50 } });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const id = await large(server, 30_000);
  const slow = await deaf(t, listening.port, rpc('tasks/get', { id }));
  const began = performance.now();
  let [size, length] = [0, Number.POSITIVE_INFINITY];
  while (size < length) {
    const chunk = slow.read() as Buffer | null;
    if (chunk && size === 0) {
      const head = chunk.toString('latin1');
      const start = head.indexOf('\r\n\r\n') + 4;
      length = Number(/content-length: (\d+)/i.exec(head)![1]) + start;
    }
    size += chunk?.length ?? 0;
    await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(slow.destroyed, false, `dropped after ${size} bytes`);
  }
  assert.equal(size, length);
  assert.ok(performance.now() - began > 300, 'it took longer than the limit');
});

test('answers that go out at once cost no timer', async (t) => {
  const { server } = setUp(t);
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const timers = t.mock.method(http.ServerResponse.prototype, 'setTimeout');
  await (await post(listening.url, body('hi'))).text();
  await (await post(listening.url, body('hi', 'message/stream'))).text();
  await (await fetch(`${listening.url}/tasks`)).text();
  assert.equal(timers.mock.callCount(), 0);
});

test('text that has been sent is not kept for as long as there is more', async (t) => {
  const steps: WeakRef<object>[] = [];
  const sent = Promise.withResolvers<void>();
  const end = Promise.withResolvers<IteratorResult<string>>();
  const chunks: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (steps.length === 100) {
          sent.resolve();
          return end.promise;
        }
        const step = { done: false, value: `${steps.length} ` };
        steps.push(new WeakRef(step));
        return step;
      },
    }),
  };
  const handle = async () => ({ headers: {}, chunks });
  const { server } = setUp(t, { routes: [{ verb: 'GET', path: '/text', handle }] });
  const url = await listen(t, http.createServer(server.node));
  const response = await fetch(`${url}/text`);
  await sent.promise;
  await tick();
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  const kept = steps.filter((step) => step.deref() !== undefined).length;
  assert.ok(kept < 10, `${kept} of ${steps.length} are kept`);
  end.resolve({ done: true, value: undefined });
  assert.match(await response.text(), /^0 1 .* 99 $/);
});

test('a closed server is not kept in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  async function used(): Promise<WeakRef<Server>> {
    const agent = createAgent({ name: 'A', description: 'A' }, async function* () {
      yield 'done';
    });
    const listening = await serve(agent, { logger: silent }).listen();
    await (await post(listening.url, body('hello'))).text();
    await listening.close();
    return new WeakRef(listening.server);
  }
  const server = await used();
  const until = performance.now() + 10_000;
  while (server.deref() && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collect();
  }
  assert.equal(server.deref(), undefined);
});
