import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { createServer, connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test, type TestContext } from 'node:test';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  type Frame,
  headerBlock,
  RawHttp2,
  settings,
} from '../../../test/support/raw-http2.ts';
import { makeSelfSigned } from '../../base/tls/index.ts';
import { createAgent } from '../../tasks/index.ts';
import { type Listening, serve, type ServeOptions } from '../../server.ts';
import { http2Connections } from './http2.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const POST = { ':method': 'POST', ':path': '/', 'content-type': 'application/json' };
const GET_CARD = { ':method': 'GET', ':path': '/.well-known/agent-card.json' };

let made = 0;
function body(words: string, method = 'message/send'): string {
  const parts = [{ kind: 'text', text: words }];
  const message = { kind: 'message', messageId: `m${++made}`, role: 'user', parts };
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
}

/** `flood N`: so many kilobytes, an event each. `hold`: until it is canceled. Else: an echo. */
const agent = createAgent({ name: 'A', description: 'A' }, async function* (ctx) {
  const [verb, count] = ctx.text.split(' ');
  yield `said ${ctx.text}`;
  for (let n = 0; n < Number(count ?? 0); n++) yield 'x'.repeat(1000);
  if (verb === 'hold') {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  }
});

async function listen(t: TestContext | undefined, options: ServeOptions = {}): Promise<Listening> {
  const listening = await serve(agent, { logger: silent, ...options }).listen();
  t?.after(() => listening.close(0));
  return listening;
}

function client(t: TestContext, url: string, options = {}): ClientHttp2Session {
  const session = connectHttp2(url, options);
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  return session;
}

async function ask(session: ClientHttp2Session, headers: Record<string, string>, sent?: string) {
  const stream = session.request(headers);
  stream.end(sent);
  const [got] = await once(stream, 'response');
  return { status: got[':status'] as number, type: got['content-type'], text: await text(stream) };
}

/** Shared by the tests whose limits are the defaults. */
let shared: Listening;
before(async () => void (shared = await listen(undefined)));
after(() => shared.close(0));

test('JSON-RPC, REST and event streams are served over HTTP/2 on the port of HTTP/1.1', async (t) => {
  const session = client(t, shared.url);
  const card = await ask(session, GET_CARD);
  assert.equal((JSON.parse(card.text) as { url: string }).url, shared.url);
  assert.equal((await fetch(shared.url)).status, 200);
  const sent = await ask(session, POST, body('hi'));
  assert.match(sent.text, /"state":"completed"/);
  const stream = await ask(session, POST, body('hi', 'message/stream'));
  assert.equal(stream.type, 'text/event-stream');
  assert.match(stream.text, /^id: 1\n[^]*"final":true/);
  assert.equal((await ask(session, { ':path': '/tasks' })).status, 200);
  const head = await ask(session, { ...GET_CARD, ':method': 'HEAD' });
  assert.deepEqual([head.status, head.text], [200, '']);
  assert.equal((await ask(session, { ':path': '/nowhere' })).status, 404);
});

test('the pseudo-header :authority is checked as the Host header is', async (t) => {
  const session = client(t, shared.url);
  const status = async (headers: Record<string, string>) =>
    (await ask(session, { ':path': '/tasks', ...headers })).status;
  const own = new URL(shared.url).host;
  assert.equal(await status({ ':authority': 'evil.example' }), 403);
  assert.equal(await status({ origin: 'http://evil.example' }), 403);
  assert.equal(await status({ origin: shared.url }), 200);
  assert.equal(await status({ ':authority': own, host: own }), 200);
  assert.equal(await status({ ':authority': own, host: 'localhost' }), 400);
  const raw = await RawHttp2.open(shared.port);
  t.after(() => raw.socket.destroy());
  const bare = (stream: number, host: string) =>
    frame(
      FRAME.headers,
      END_HEADERS | END_STREAM,
      stream,
      headerBlock({ ':method': 'GET', ':scheme': 'http', ':path': '/tasks', host }),
    );
  raw.send(bare(1, own), bare(3, 'evil.example'));
  const answer = async (stream: number) =>
    (await raw.frame((each) => each.type === FRAME.data && each.stream === stream))?.payload;
  assert.match(String(await answer(1)), /"tasks":\[/);
  assert.match(String(await answer(3)), /The Host header is not allowed here/);
});

test('the two protocols are told apart even if their first bytes come one by one', async (t) => {
  const said = async (message: string) => {
    const socket = connect(shared.port, '127.0.0.1').setNoDelay();
    t.after(() => socket.destroy());
    const answer = once(socket, 'data');
    for (const character of message) {
      // The server answers as soon as it has seen an unknown method.
      if (socket.bytesRead > 0) break;
      socket.write(character);
      await new Promise(setImmediate);
    }
    return String((await answer)[0]);
  };
  const rest = `Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n`;
  assert.match(await said(`GET / HTTP/1.1\r\n${rest}`), /^HTTP\/1\.1 200/);
  assert.match(await said(`POST / HTTP/1.1\r\n${rest}`), /^HTTP\/1\.1 200/);
  assert.match(await said(`PRINT / HTTP/1.1\r\n${rest}`), /^HTTP\/1\.1 400/);
  const http2 = await said(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${settings().toString('latin1')}`);
  assert.equal(http2.charCodeAt(3), FRAME.settings);
});

test('a client that sends nothing, one byte or half a request is dropped by the header timeout', async (t) => {
  const { port } = await listen(t, { limits: { requestTimeoutMs: 150 } });
  const closed = async (...sent: Buffer[]) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    if (sent.length > 0) socket.write(Buffer.concat(sent));
    await new Promise((resolve) => socket.once('close', resolve));
  };
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const half = frame(FRAME.headers, 0, 1, headerBlock({ ':method': 'GET' }));
  await Promise.all([
    closed(),
    closed(Buffer.from('P')),
    closed(Buffer.from('PRI')),
    closed(Buffer.from('G')),
    closed(Buffer.from('GET / HTTP/1.1\r\nHost:')),
    closed(preface.subarray(0, 10)),
    closed(preface),
    closed(preface, Buffer.from([0])),
    closed(preface, half),
  ]);
});

test('a request over HTTP/2 whose body does not come is reset, and other streams go on', async (t) => {
  const { url } = await listen(t, { limits: { requestTimeoutMs: 150 } });
  const session = client(t, url);
  const held = session.request(POST);
  held.end(body('hold', 'message/stream'));
  await once(held, 'response');
  const slow = session.request(POST);
  slow.on('error', () => undefined);
  slow.write('{');
  await once(slow, 'close');
  assert.equal(slow.rstCode, constants.NGHTTP2_CANCEL);
  assert.equal(held.closed, false);
});

test('a client that connects and leaves is forgotten at once', async (t) => {
  const { server, port } = await listen(t);
  const accepted = once(server, 'connection');
  connect(port, '127.0.0.1').end();
  const [socket] = await accepted;
  await once(socket, 'close');
});

for (const tls of [undefined, makeSelfSigned(['127.0.0.1'])]) {
  test(`a client that leaves a stream by closing its connection is forgotten at once, ${tls ? 'with' : 'without'} TLS`, async (t) => {
    const served = serve(agent, { logger: silent, tls });
    const listening = await served.listen();
    const { server, url } = listening;
    t.after(() => listening.close(0));
    const accepted = once(server, tls ? 'secureConnection' : 'connection');
    const session = client(t, url, { ca: tls?.cert });
    const stream = session.request(POST);
    stream.end(body('hold', 'message/stream'));
    await once(stream, 'response');
    assert.equal(served.streams, 1);
    const [socket] = await accepted;
    const closed = once(socket, 'close');
    session.destroy();
    await closed;
    assert.equal(served.streams, 0);
  });
}

test('a body that is too large is refused, and the connection goes on', async (t) => {
  const { url } = await listen(t, { limits: { maxBodyBytes: 5000 } });
  const session = client(t, url);
  const large = session.request(POST);
  large.on('error', () => undefined);
  large.end('x'.repeat(200_000));
  const [headers] = await once(large, 'response');
  assert.equal(headers[':status'], 413);
  assert.match(await text(large), /larger than 5000 bytes/);
  assert.equal(large.rstCode, constants.NGHTTP2_NO_ERROR);
  assert.match((await ask(session, POST, body('hi'))).text, /"completed"/);
});

test('a client that resets its streams at once is disconnected (CVE-2023-44487)', async () => {
  const raw = await RawHttp2.open(shared.port);
  for (let id = 1; id < 2000; id += 2) {
    const code = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]);
    raw.send(raw.headers(id, GET_CARD), frame(FRAME.reset, 0, id, code));
  }
  assert.notEqual(await raw.end(), constants.NGHTTP2_NO_ERROR);
});

test('a client that makes the server reset its streams is disconnected', async () => {
  const raw = await RawHttp2.open(shared.port);
  for (let id = 1; id < 2000; id += 2) {
    // A window update by zero is an error of the stream.
    raw.send(raw.headers(id, POST, 0), frame(FRAME.windowUpdate, 0, id, Buffer.alloc(4)));
  }
  assert.notEqual(await raw.end(), constants.NGHTTP2_NO_ERROR);
});

test('a flood of PING or SETTINGS frames ends the connection', async () => {
  for (const each of [frame(FRAME.ping, 0, 0, Buffer.alloc(8)), settings({ 3: 100 })]) {
    const raw = await RawHttp2.open(shared.port);
    for (let n = 0; n < 100; n++) raw.send(...Array<Buffer>(100).fill(each));
    assert.notEqual(await raw.end(), constants.NGHTTP2_NO_ERROR);
  }
});

test('a flood of PING frames from a client that does not read ends the connection', async () => {
  const raw = await RawHttp2.open(shared.port);
  raw.socket.pause();
  const pings = Array<Buffer>(1000).fill(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
  for (let n = 0; n < 10; n++) raw.send(...pings);
  raw.socket.resume();
  await raw.closed;
});

test('headers without an end, too many headers and headers that are too large are refused', async () => {
  const endless = await RawHttp2.open(shared.port);
  endless.send(frame(FRAME.headers, END_STREAM, 1, headerBlock({ ':method': 'GET' })));
  for (let n = 0; n < 1000; n++) {
    endless.send(frame(FRAME.continuation, 0, 1, headerBlock({ [`x-${n}`]: 'y' })));
  }
  assert.notEqual(await endless.end(), constants.NGHTTP2_NO_ERROR);

  const raw = await RawHttp2.open(shared.port);
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, 'y']));
  const large = { 'x-large': 'x'.repeat(14_000), 'x-other': 'x'.repeat(14_000) };
  raw.send(
    raw.headers(1, { ...GET_CARD, ...many }),
    // The frame is larger than the frames that the server accepts, so it has two parts.
    ...split(
      headerBlock({ ':scheme': 'http', ':authority': 'localhost', ...GET_CARD, ...large }),
      3,
    ),
    raw.headers(5, GET_CARD),
  );
  for (const stream of [1, 3]) {
    const refused = await raw.frame((each) => each.stream === stream);
    assert.notEqual(refused?.type, FRAME.data, `stream ${stream}`);
  }
  const fine = await raw.frame((each) => each.type === FRAME.data && each.stream === 5);
  assert.match(String(fine?.payload), /"name":"A"/);
  raw.socket.destroy();
});

/** A header block as a HEADERS and a CONTINUATION frame. */
function split(block: Buffer, stream: number): Buffer[] {
  return [
    frame(FRAME.headers, END_STREAM, stream, block.subarray(0, 16_000)),
    frame(FRAME.continuation, END_HEADERS, stream, block.subarray(16_000)),
  ];
}

test('one connection has at most a thousand streams at the same time', async () => {
  const raw = await RawHttp2.open(shared.port);
  for (let id = 1; id <= 2001; id += 2) raw.send(raw.headers(id, POST, 0));
  const refused = await raw.frame(({ type }) => type === FRAME.reset);
  assert.equal(refused?.stream, 2001);
  assert.equal(refused?.payload.readUInt32BE(0), constants.NGHTTP2_REFUSED_STREAM);
  raw.socket.destroy();
});

test('a stream whose client grants no window is reset, and its bytes are bounded', async (t) => {
  const { port } = await listen(t, { limits: { stallMs: 100, heartbeatMs: 50 } });
  // The client's initial window is zero.
  const raw = await RawHttp2.open(port, { 4: 0 });
  t.after(() => raw.socket.destroy());
  const send = (stream: number, words: string, method?: string) => {
    const sent = Buffer.from(body(words, method));
    raw.send(raw.headers(stream, POST, 0), frame(FRAME.data, END_STREAM, stream, sent));
  };
  send(1, 'flood 2000', 'message/stream');
  send(3, 'unary');
  send(5, 'flood 1', 'message/stream');
  for (const stream of [1, 3, 5]) {
    const reset = await raw.frame((each) => each.type === FRAME.reset && each.stream === stream);
    assert.equal(reset?.payload.readUInt32BE(0), constants.NGHTTP2_CANCEL, `stream ${stream}`);
  }
  assert.ok(!raw.frames.some(({ type, payload }) => type === FRAME.data && payload.length > 0));
  assert.equal(raw.socket.destroyed, false);
});

test('a connection whose answers nobody reads takes no more streams', async (t) => {
  const connections = http2Connections({
    handler: (_request, response) => {
      response.writeHead(200, []);
      response.end('x'.repeat(5_000_000), 'latin1');
    },
    headersTimeoutMs: 1e6,
    requestTimeoutMs: 1e6,
    idleTimeoutMs: 1e6,
  });
  const server = createServer((socket) => connections.accept(socket)).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  // The client's initial window is zero.
  const raw = await RawHttp2.open((server.address() as AddressInfo).port, { 4: 0 });
  t.after(() => raw.socket.destroy());
  const isAnswer = ({ type }: Frame) => type === FRAME.headers || type === FRAME.reset;
  for (let stream = 1; stream < 20; stream += 2) {
    raw.send(raw.headers(stream, GET_CARD));
    await raw.frame((each) => each.stream === stream && isAnswer(each));
  }
  const refused = raw.frames.find(({ type }) => type === FRAME.reset);
  assert.equal(refused?.payload.readUInt32BE(0), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.ok(refused.stream > 5);
});

test('a connection without streams is closed after a while, one with a stream is not', async (t) => {
  const connections = http2Connections({
    handler: (request, response) => {
      response.writeHead(200, []);
      if (request.url !== '/hold') response.end('done', 'latin1');
    },
    headersTimeoutMs: 1e6,
    requestTimeoutMs: 1e6,
    idleTimeoutMs: 0,
  });
  const server = createServer((socket) => connections.accept(socket)).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const idle = client(t, url);
  const used = client(t, url);
  assert.equal((await ask(idle, { ':path': '/' })).text, 'done');
  const held = used.request({ ':path': '/hold' });
  held.on('error', () => undefined);
  await once(held, 'response');
  const closed = once(idle, 'close');
  connections.sweep();
  await closed;
  assert.equal(used.closed, false);
});

test('a server that closes ends idle connections of HTTP/2, and sends the response that is on its way', async (t) => {
  const listening = await listen(t);
  const idle = client(t, listening.url);
  await once(idle, 'remoteSettings');
  const session = client(t, listening.url);
  const stream = session.request(POST);
  stream.end(body('flood 40', 'message/stream'));
  await once(stream, 'response');
  const ended = Promise.all([once(idle, 'close'), once(session, 'close')]);
  const [received] = await Promise.all([text(stream), listening.close(5000)]);
  assert.match(received, /"final":true/);
  await ended;
});

test('a client that leaves its stream leaves the task running', async (t) => {
  const session = client(t, shared.url);
  const stream = session.request(POST);
  stream.setEncoding('utf8').end(body('hold', 'message/stream'));
  const [first] = await once(stream, 'data');
  const [, id] = /"id":"([\w-]+)","contextId"/.exec(String(first))!;
  stream.close(constants.NGHTTP2_CANCEL);
  await once(stream, 'close');
  assert.match((await ask(session, { ':path': `/tasks/${id}` })).text, /TASK_STATE_WORKING/);
});
