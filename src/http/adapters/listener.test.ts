import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAgent } from '../../tasks/index.ts';
import { serve } from '../../server.ts';

test('a port in use is an error that says what to do, with the code and the cause', async (t) => {
  const echo = createAgent({ name: 'Echo', description: 'Repeats' }, async function* () {
    yield 'hi';
  });
  const listening = await serve(echo).listen(0);
  const { port } = listening;
  t.after(() => listening.close(0));
  await assert.rejects(serve(echo).listen(port), (error: NodeJS.ErrnoException) => {
    const advice = 'stop the program that uses it, or choose another port (0 picks a free one)';
    assert.equal(error.message, `port ${port} is in use: ${advice}`);
    assert.equal(error.code, 'EADDRINUSE');
    assert.equal(Reflect.get(Object(error.cause), 'syscall'), 'listen');
    return true;
  });
});

test('a server that closes sends the whole response to a client that has not read it yet', async (t) => {
  const text = 'x'.repeat(8_000_000);
  const large = createAgent({ name: 'Large', description: 'Says much' }, async function* () {
    yield text;
  });
  const listening = await serve(large).listen(0);
  t.after(() => listening.close(0));
  const sockets: Socket[] = [];
  listening.server.on('connection', (socket) => sockets.push(socket));
  const parts = [{ kind: 'text', text: 'hi' }];
  const message = { kind: 'message', messageId: 'm', role: 'user', parts };
  const body = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const asked = request(listening.url, { method: 'POST' });
  asked.end(JSON.stringify(body));
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  assert.ok(sockets[0]!.writableLength > 0);
  const [received] = await Promise.all([buffer(response), listening.close(20_000)]);
  assert.ok(received.length > text.length);
});

test('a server that closes sends the rest of a text in chunks to a client that reads slowly', async (t) => {
  const agent = createAgent({ name: 'Export', description: 'Exports' }, async function* () {});
  const text = 'x'.repeat(100_000);
  async function* chunks() {
    for (let count = 0; count < 100; count++) yield text;
  }
  const headers = { 'content-type': 'text/plain' };
  const handle = async () => ({ headers, chunks: chunks() });
  const routes = [{ verb: 'GET' as const, path: '/export', handle }];
  const listening = await serve(agent, { routes }).listen(0);
  t.after(() => listening.close(0));
  const asked = request(`${listening.url}/export`);
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const closed = listening.close(20_000);
  let received = 0;
  for await (const chunk of response) {
    received += (chunk as Buffer).length;
    await delay(1);
  }
  await closed;
  assert.equal(received, 100 * text.length);
});

test('a server that closes does not wait for a stream whose client is gone', async (t) => {
  const released = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Slow', description: 'Waits' }, async function* () {
    yield 'hi';
    await released.promise;
  });
  const server = serve(agent);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  const send = (messageId: string) => {
    const message = {
      kind: 'message',
      messageId,
      role: 'user',
      parts: [{ kind: 'text', text: '' }],
    };
    const method = 'message/stream';
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
    const headers = `Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    return `POST / HTTP/1.1\r\n${headers}\r\n\r\n${body}`;
  };
  const socket = connect(listening.port, '127.0.0.1');
  // The response to the second request waits for the end of the first one.
  socket.write(send('a') + send('b'));
  while (server.streams < 2) await delay(1);
  await once(socket, 'data');
  socket.destroy();
  while (server.streams > 0) await delay(1);
  released.resolve();
  const began = performance.now();
  await listening.close(20_000);
  assert.ok(performance.now() - began < 10_000);
});

test('without a request timeout, a client may take any time for its first bytes', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* () {});
  const listening = await serve(agent, { limits: { requestTimeoutMs: 0 } }).listen(0);
  t.after(() => listening.close(0));
  const opened = async (...sent: string[]) => {
    const accepted = once(listening.server, 'connection');
    const socket = connect(listening.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.resume();
    await accepted;
    for (const bytes of sent) socket.write(bytes);
    return socket;
  };
  const silent = await opened();
  const undecided = await opened('PRI');
  const http2 = await opened('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  await once(http2, 'data');
  const now = performance.now() + 600_000;
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.tick(15_000);
  await delay(50);
  assert.deepEqual(
    [silent, undecided, http2].map(({ closed }) => closed),
    [false, false, false],
  );
  silent.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  const [answer] = (await once(silent, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
  for (const socket of [silent, undecided, http2]) socket.destroy();
});
