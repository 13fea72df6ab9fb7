import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { PendingBytes } from '../pending-bytes.ts';
import { directRequestClass } from './direct-request.ts';
import { readBody } from './request-body.ts';

const LIMITS = { maxPendingBytes: 1e9, maxPendingBytesPerClient: 1e9 };
const HEAD = 'POST / HTTP/1.1\r\nHost: a\r\n';

interface SetUp {
  readonly maxBodyBytes?: number;
  /** Runs before the body is read. */
  readonly before?: () => Promise<void>;
}

/** Answers each request with its body, and collects the requests. */
async function setUp(t: TestContext, { maxBodyBytes = 1000, before }: SetUp = {}) {
  const requests: IncomingMessage[] = [];
  const pending = new PendingBytes(LIMITS);
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    requests.push(request);
    if (before) await before();
    const text = await readBody(request, { maxBodyBytes, pending }, () => 'c').catch(String);
    if (!request.complete) request.resume();
    response.end(text);
  };
  const options = { IncomingMessage: directRequestClass(IncomingMessage, true) };
  const server = createServer(options, (request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  t.after(() => {
    socket.destroy();
    server.close();
  });
  await once(socket, 'connect');
  /** Returns the body of the next answer. */
  const next = async () => String((await once(socket, 'data'))[0]).split('\r\n\r\n')[1];
  return { requests, pending, socket, next };
}

test('a body reaches its reader without the events of a stream, and the request is released', async (t) => {
  const { requests, socket, next } = await setUp(t);
  for (const text of ['one', 'two']) {
    socket.write(`${HEAD}Content-Length: 3\r\n\r\n${text}`);
    assert.equal(await next(), text);
  }
  for (const request of requests) {
    assert.equal(request.listenerCount('data'), 0);
    assert.equal(request.readableEnded, true);
  }
});

test('a body in several pieces, or in chunks, is complete', async (t) => {
  const { socket, next } = await setUp(t);
  socket.write(`${HEAD}Content-Length: 6\r\n\r\nab`);
  await new Promise(setImmediate);
  socket.write('cdef');
  assert.equal(await next(), 'abcdef');
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n`);
  assert.equal(await next(), 'abcde');
});

test('a body that arrived before it was read is read as a stream', async (t) => {
  const { socket, next } = await setUp(t, { before: () => new Promise(setImmediate) });
  for (const text of ['one', 'two']) {
    socket.write(`${HEAD}Content-Length: 3\r\n\r\n${text}`);
    assert.equal(await next(), text);
  }
});

test('the rest of a body that became too large is discarded, and the connection stays usable', async (t) => {
  const { socket, next } = await setUp(t, { maxBodyBytes: 4 });
  socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
  await new Promise(setImmediate);
  socket.write('3\r\ndef\r\n3\r\nghi\r\n0\r\n\r\n');
  assert.match((await next()) ?? '', /larger than 4 bytes/);
  socket.write(`${HEAD}Content-Length: 3\r\n\r\none`);
  assert.equal(await next(), 'one');
});

test('a client that disconnects in the middle of a large body gives its bytes back', async (t) => {
  const { requests, pending, socket } = await setUp(t, { maxBodyBytes: 1e6 });
  socket.write(`${HEAD}Content-Length: 900000\r\n\r\n${'x'.repeat(300_000)}`);
  while (pending.total === 0) await new Promise(setImmediate);
  requests[0]!.on('error', () => {});
  const closed = once(requests[0]!, 'close').catch(() => {});
  socket.destroy();
  await closed;
  assert.equal(pending.total, 0);
});
