// The server of `parley inspect`: who may use it, where it sends requests, and what it passes on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { inspectorServer } from '../../src/cli/commands/inspect.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { createAgent, serve } from '../../src/server.ts';
import { startPeer } from '../client/peer.ts';
import { silent } from '../live/support.ts';
import { startGateway } from '../support/gateway.ts';

const echo = createAgent({ name: 'Echo', description: 'Repeats' }, async function* ({ text }) {
  yield text;
});

interface Line {
  readonly response?: { readonly status: number; readonly headers: [string, string][] };
  readonly bytes?: string;
  readonly end?: true;
  readonly error?: { readonly reason: string; readonly message: string };
}

/** Starts the inspector of an agent. `ask` sends a request with the token of the link. */
async function inspect(t: TestContext, target: Parameters<typeof inspectorServer>[0]) {
  const { server, linkAt } = inspectorServer(target, silent);
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  const { url } = listening;
  const ticket = linkAt(url).split('#ticket=')[1] ?? '';
  const exchange = () =>
    fetch(`${url}/session/tickets`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ticket }),
    });
  const { token } = (await (await exchange()).json()) as { token: string };
  const post = (path: string, body: object, init: RequestInit = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...init,
    });
  const send = async (request: object): Promise<Line[]> => {
    const response = await post('/inspector/requests', request);
    assert.equal(response.status, 200, await response.clone().text());
    const lines = (await response.text()).trimEnd().split('\n');
    return lines.map((line): Line => JSON.parse(line));
  };
  return { url, token, exchange, post, send };
}

const textOf = (lines: readonly Line[]) =>
  lines.map(({ bytes = '' }) => Buffer.from(bytes, 'base64').toString()).join('');

test('only the person with the link may use the inspector, and the link works once', async (t) => {
  const agent = await startPeer(t, (_, response) => response.end('hello'));
  const { url, exchange, send } = await inspect(t, { url: agent.url });
  const again = await exchange();
  assert.equal(again.status, 401);
  assert.match(await again.text(), /start parley inspect again/);
  const body = JSON.stringify({ url: agent.url });
  for (const [path, init] of [
    ['/inspector', {}],
    ['/inspector/requests', { method: 'POST', body }],
    ['/inspector/checks', { method: 'POST', body }],
    ['/inspector/origins', { method: 'POST', body: '{"origin":"https://a.test"}' }],
  ] as const) {
    assert.equal((await fetch(url + path, init)).status, 401, path);
  }
  assert.notEqual((await fetch(`${url}/console`)).status, 401);
  assert.equal(agent.asked.length, 0);
  assert.equal(textOf(await send({ url: `${agent.url}/x` })), 'hello');
});

test('another web page cannot use the inspector, even with the token', async (t) => {
  const agent = await startPeer(t, (_, response) => response.end('hello'));
  const { token, post } = await inspect(t, { url: agent.url });
  const headers = { authorization: `Bearer ${token}`, origin: 'https://evil.example' };
  const refused = await post('/inspector/requests', { url: agent.url }, { headers });
  assert.equal(refused.status, 403);
  assert.equal(agent.asked.length, 0);
});

test('requests go only to the origin that the person gave, until the person agrees to another', async (t) => {
  const agent = await startPeer(t, (_, response) => response.end('agent'));
  const other = await startPeer(t, (_, response) => response.end('other'));
  const { send, post } = await inspect(t, { url: agent.url, headers: { 'x-key': 'secret' } });
  const refused = await post('/inspector/requests', { url: other.url });
  assert.equal(refused.status, 403);
  assert.match(await refused.text(), /not the agent's origin/);
  assert.equal(other.asked.length, 0);
  // Both are on this machine, so the guard allows it.
  assert.equal((await post('/inspector/origins', { origin: other.url })).status, 200);
  assert.equal(textOf(await send({ url: other.url })), 'other');
  assert.equal(textOf(await send({ url: agent.url })), 'agent');
  assert.equal(agent.asked[0]?.headers['x-key'], 'secret');
  assert.equal(other.asked[0]?.headers['x-key'], undefined);
});

test('an origin that the person agrees to is not reached in a private network', async (t) => {
  const { send, post } = await inspect(t, { url: 'https://agent.example' });
  for (const origin of ['http://127.0.0.1:9', 'http://169.254.169.254', 'http://[::1]:9']) {
    assert.equal((await post('/inspector/origins', { origin })).status, 200);
    const [line] = await send({ url: `${origin}/latest` });
    assert.match(line?.error?.message ?? '', /private network.*--trusted-origin/, origin);
  }
  for (const origin of ['file:///etc', 'https://a.test/path', 'https://ann@a.test', 'a']) {
    assert.equal((await post('/inspector/origins', { origin })).status, 400, origin);
  }
});

test('an origin of --trusted-origin may be anywhere, and gets the headers', async (t) => {
  const other = await startPeer(t, (_, response) => response.end('other'));
  const options = { trustedOrigins: [other.url], headers: { authorization: 'Bearer secret' } };
  const { send, url, token } = await inspect(t, { url: 'https://agent.example', ...options });
  assert.equal(textOf(await send({ url: other.url })), 'other');
  assert.equal(other.asked[0]?.headers.authorization, 'Bearer secret');
  const response = await fetch(`${url}/inspector`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const state = await response.text();
  assert.match(state, /"headers":\["authorization"\]/);
  assert.doesNotMatch(state, /secret/);
});

test('a redirect is shown and not followed, and bytes are passed on unchanged', async (t) => {
  const bytes = Buffer.from([0, 255, 10, 13, 200]);
  const agent = await startPeer(t, ({ path }, response) => {
    if (path === '/there') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else response.writeHead(418, 'Tea', { 'x-two': ['a', 'b'] }).end(bytes);
  });
  const { send } = await inspect(t, { url: agent.url });
  const [moved] = await send({ url: `${agent.url}/there` });
  assert.equal(moved?.response?.status, 302);
  const [head, ...rest] = await send({ url: agent.url, method: 'POST', body: '{}' });
  assert.equal(head?.response?.status, 418);
  assert.ok(head.response.headers.some(([name, value]) => name === 'x-two' && value === 'a, b'));
  assert.deepEqual(
    Buffer.concat(rest.map(({ bytes: part = '' }) => Buffer.from(part, 'base64'))),
    bytes,
  );
  assert.deepEqual(rest.at(-1), { end: true });
  assert.equal(agent.asked.length, 2);
});

test('a status that a browser cannot represent is an error line', async (t) => {
  const agent = await startPeer(t, (_, response) => response.writeHead(999).end('denied'));
  const { send } = await inspect(t, { url: agent.url });
  const [line] = await send({ url: agent.url });
  assert.match(line?.error?.message ?? '', /responded with 999/);
});

test('requests that could not be meant are refused without repeating secrets', async (t) => {
  const agent = await startPeer(t, (_, response) => response.end());
  const { post } = await inspect(t, { url: agent.url });
  for (const request of [
    { url: 'file:///etc/passwd' },
    { url: agent.url.replace('http://', 'http://ann:secret@') },
    { url: agent.url, headers: { host: 'secret' } },
    { url: agent.url, headers: { 'Content-Length': 'secret' } },
    { url: agent.url, headers: { 'x-key': 'secret\r\nhost: evil' } },
    { url: agent.url, method: 'TRACE' },
    { url: agent.url, follow: true },
  ]) {
    const response = await post('/inspector/requests', request);
    assert.equal(response.status, 400, JSON.stringify(request));
    assert.doesNotMatch(await response.text(), /secret/);
  }
  assert.equal(agent.asked.length, 0);
});

test('an agent that cannot be reached is an error line, and a page that leaves ends the request', async (t) => {
  const agent = await startPeer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
  });
  const { send, post } = await inspect(t, {
    url: agent.url,
    trustedOrigins: ['http://127.0.0.1:1'],
  });
  const [line] = await send({ url: 'http://127.0.0.1:1/' });
  assert.equal(line?.error?.reason, 'unreachable');
  assert.match(line.error.message, /ECONNREFUSED|bad port/);
  const leaving = new AbortController();
  const response = await post(
    '/inspector/requests',
    { url: agent.url },
    { signal: leaving.signal },
  );
  await response.body?.getReader().read();
  leaving.abort();
  await agent.asked[0]?.gone;
});

test('a gRPC interface is tried by the server, at the origins that the person allows', async (t) => {
  const agent = await serve(echo, { grpc: grpcBinding(), logger: silent }).listen(0);
  t.after(() => agent.close(0));
  const { post } = await inspect(t, { url: agent.url });
  const offer = (url: string) => ({ url, protocolBinding: 'GRPC', protocolVersion: '1.0' });
  const tried = async (url: string, cardUrl = agent.url) => {
    const body = { interface: offer(url), cardUrl, headers: {} };
    return (await post('/inspector/checks', body)).json() as Promise<Record<string, unknown>>;
  };
  const { host } = new URL(agent.url);
  assert.deepEqual(await tried(host), {
    name: '1.0 GRPC',
    status: 'ok',
    message: `${host} responds`,
  });
  const { problem, origin } = await tried('localhost:9');
  assert.deepEqual({ problem, origin }, { problem: 'other-origin', origin: 'http://localhost:9' });
  assert.match(
    JSON.stringify(await tried(host, 'http://127.0.0.1:9/')),
    /must be a gRPC interface/,
  );
});

test('a served agent and a gateway fetch no URL for the inspector', async (t) => {
  const target = await startPeer(t, (_, response) => response.end('internal'));
  const server = await serve(echo, { console: true, logger: silent }).listen(0);
  t.after(() => server.close(0));
  await using gateway = await startGateway();
  const headers = {
    authorization: `Bearer ${gateway.key()}`,
    'content-type': 'application/json',
  };
  for (const url of [server.url, gateway.url]) {
    assert.notEqual((await fetch(`${url}/console`)).status, 401);
    for (const path of ['/inspector/requests', '/inspector/origins', '/console/requests']) {
      const body = JSON.stringify({ url: target.url, origin: target.url });
      const { status } = await fetch(url + path, { method: 'POST', headers, body });
      assert.ok(status === 404 || status === 405, `${path}: ${status}`);
    }
  }
  assert.equal(target.asked.length, 0);
});

test('at most 16 requests run at the same time', async (t) => {
  const agent = await startPeer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
  });
  const { post } = await inspect(t, { url: agent.url });
  const leaving = new AbortController();
  const open = () => post('/inspector/requests', { url: agent.url }, { signal: leaving.signal });
  const responses = await Promise.all(Array.from({ length: 17 }, open));
  const statuses = responses.map(({ status }) => status);
  assert.deepEqual(
    statuses.toSorted((one, other) => one - other),
    [...Array.from({ length: 16 }, () => 200), 503],
  );
  leaving.abort();
  await Promise.all(agent.asked.map(({ gone }) => gone));
});

test('checks over gRPC count among the 16 requests, and close their connections', async (t) => {
  let closed = Promise.withResolvers<void>();
  let open = 0;
  let isSilent = true;
  const streams: ServerHttp2Stream[] = [];
  const agent = createServer().listen(0, '127.0.0.1');
  agent.on('connection', (socket) => {
    open++;
    socket.on('close', () => --open === 0 && closed.resolve());
  });
  agent.on('stream', (stream) => {
    streams.push(stream);
    if (!isSilent) stream.close();
  });
  t.after(() => agent.close());
  await once(agent, 'listening');
  const host = `127.0.0.1:${(agent.address() as AddressInfo).port}`;
  const { post } = await inspect(t, { url: `http://${host}` });
  const offer = { url: host, protocolBinding: 'GRPC', protocolVersion: '1.0' };
  const body = { interface: offer, cardUrl: `http://${host}`, headers: {} };
  const refused = Promise.withResolvers<number>();
  const checks = Array.from({ length: 17 }, async () => {
    const { status } = await post('/inspector/checks', body);
    if (status !== 200) refused.resolve(status);
  });
  assert.equal(await refused.promise, 503);
  // The agent answers the others, and their connections are closed.
  isSilent = false;
  for (const stream of streams) stream.close();
  await Promise.all(checks);
  await closed.promise;
  closed = Promise.withResolvers();
  assert.equal((await post('/inspector/checks', body)).status, 200);
  await closed.promise;
});
