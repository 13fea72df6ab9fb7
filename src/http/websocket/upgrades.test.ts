import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { test, type TestContext } from 'node:test';
import { WebSocket as Ws } from 'ws';
import { createAgent } from '../../tasks/index.ts';
import { bearerTokens } from '../admission.ts';
import { serve, type ServeOptions } from '../../server.ts';
import { chooseProtocol, tokenIn, type SocketRoute } from '../socket-route.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const agent = createAgent({ name: 'Echo', description: 'Echoes.' }, async function* ({ text }) {
  yield text;
});

const echo: SocketRoute = {
  path: '/echo',
  protocols: ['one', 'two'],
  open(socket, { query, user }) {
    socket.send(JSON.stringify([socket.protocol, query.get('q'), user?.id ?? null]));
    return { message: (text) => socket.send(text === 'bytes' ? Buffer.from('ünï') : text) };
  },
};

async function start(t: TestContext, options: ServeOptions = {}) {
  const server = serve(agent, { logger: silent, sockets: [echo], ...options });
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  return { listening, url: listening.url.replace('http', 'ws') };
}

/** The next text that comes. */
async function next(socket: WebSocket): Promise<unknown> {
  const [event] = (await once(socket, 'message')) as [MessageEvent];
  return event.data;
}

test('a route speaks text, both ways', async (t) => {
  const { url } = await start(t);
  const socket = new WebSocket(`${url}/echo?q=1`, ['two', 'three']);
  t.after(() => socket.close());
  assert.equal(await next(socket), '["two","1",null]');
  socket.send('hello');
  assert.equal(await next(socket), 'hello');
  socket.send('bytes');
  assert.equal(await next(socket), 'ünï');
});

test('who connects is known by a header, or by a subprotocol where there can be none', async (t) => {
  const authenticate = bearerTokens(new Map([['ann', 'secret']]));
  const { url } = await start(t, { authenticate });
  const page = new WebSocket(`${url}/echo`, ['one', 'token.secret']);
  assert.equal(await next(page), '["one",null,"ann"]');
  const only = new WebSocket(`${url}/echo`, ['token.secret']);
  assert.equal(await next(only), '["",null,"ann"]');
  const program = new Ws(`${url}/echo`, { headers: { authorization: 'Bearer secret' } });
  assert.equal(String(((await once(program, 'message')) as [Buffer])[0]), '["",null,"ann"]');
  for (const socket of [page, only, program]) socket.close();
  const stranger = new WebSocket(`${url}/echo`, ['one', 'token.guess']);
  const [closed] = (await once(stranger, 'close')) as [CloseEvent];
  assert.deepEqual([closed.code, closed.reason], [4001, 'not authorised']);
});

test('a close reason is cut to 123 bytes, between two characters', async (t) => {
  const reasons = ['語'.repeat(200), '\u{1F600}'.repeat(50), `${'x'.repeat(122)}é`, 'short'];
  const route: SocketRoute = {
    path: '/close',
    protocols: ['one'],
    open(socket, { query }) {
      socket.close(1013, reasons[Number(query.get('reason'))]);
      return { message() {} };
    },
  };
  const { url } = await start(t, { sockets: [route] });
  const heard: unknown[] = [];
  for (const index of reasons.keys()) {
    const socket = new WebSocket(`${url}/close?reason=${index}`, ['one']);
    const [{ code, reason }] = (await once(socket, 'close')) as [CloseEvent];
    heard.push([code, reason]);
  }
  const cut = ['語'.repeat(41), '\u{1F600}'.repeat(30), 'x'.repeat(122), 'short'];
  assert.deepEqual(
    heard,
    cut.map((reason) => [1013, reason]),
  );
});

test('a request that would rather be something else is answered as it is', async (t) => {
  const { listening } = await start(t);
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': '' };
  const path = '/.well-known/agent-card.json';
  const asked = request({ port: listening.port, host: '127.0.0.1', path, headers }).end();
  const [response] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }];
  response.resume();
  assert.equal(response.statusCode, 200);
});

test('a connection that is open when the server closes is told so', async (t) => {
  const { listening, url } = await start(t);
  const socket = new WebSocket(`${url}/echo`, ['one']);
  await next(socket);
  const closed = once(socket, 'close') as Promise<[CloseEvent]>;
  await listening.close(0);
  assert.equal((await closed)[0].code, 1001);
});

test('a route that throws costs its own connection', async (t) => {
  const broken: SocketRoute = {
    path: '/broken',
    open() {
      throw new Error('a slip');
    },
  };
  const { url } = await start(t, { sockets: [echo, broken] });
  const [closed] = (await once(new WebSocket(`${url}/broken`), 'close')) as [CloseEvent];
  assert.equal(closed.code, 1011);
  const socket = new WebSocket(`${url}/echo`, ['one']);
  await next(socket);
  socket.close();
});

test('tokens and subprotocols are told apart', () => {
  assert.equal(tokenIn('a2a, token.T.1'), 'T.1');
  assert.equal(tokenIn('a2a'), undefined);
  assert.equal(tokenIn(undefined), undefined);
  assert.equal(chooseProtocol(new Set(['token.T', 'b', 'a']), ['a', 'b']), 'a');
  assert.equal(chooseProtocol(new Set(['token.T', 'c']), ['a', 'b']), 'token.T');
  assert.equal(chooseProtocol(new Set(['c']), ['a', 'b']), undefined);
});
