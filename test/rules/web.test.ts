/** What web pages, browsers and curious people get: Host, Origin, CORS, verbs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { serve } from '../../src/server.ts';
import { networkAddress } from '../support/network-address.ts';
import { finished, raw, sample, start, userMessage } from './support.ts';

const body = () =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message: userMessage('x') },
  });

test('a request for another host is 403, whatever it asks for', async (t) => {
  const { url, port } = await start(t);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    'localhost.evil',
  ]) {
    const rpc = await raw(url, { body: body(), headers: { host } });
    assert.equal(rpc.status, 403, host);
    assert.equal(JSON.parse(rpc.text).error.code, -31403);
    for (const path of ['/', '/.well-known/agent-card.json', '/tasks', '/nowhere']) {
      assert.equal((await raw(url, { method: 'GET', path, headers: { host } })).status, 403, path);
    }
  }
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'localhost', `[::1]:${port}`]) {
    const { status } = await raw(url, { method: 'GET', path: '/tasks', headers: { host } });
    assert.equal(status, 200, host);
  }
  const listed = await raw(url, { method: 'GET', path: '/tasks' });
  assert.equal(JSON.parse(listed.text).totalSize, 0);
});

test('a page of another origin is 403, a page of ours is let in', async (t) => {
  const { url, port } = await start(t);
  for (const origin of ['https://evil.example', 'null', `http://localhost:${port + 1}`, '*']) {
    const { status, headers } = await raw(url, { body: body(), headers: { origin } });
    assert.equal(status, 403, origin);
    assert.equal(headers['access-control-allow-origin'], undefined);
  }
  const { status } = await raw(url, {
    body: body(),
    headers: { origin: `http://127.0.0.1:${port}` },
  });
  assert.equal(status, 200);
  const listed = await raw(url, { method: 'GET', path: '/tasks' });
  assert.equal(JSON.parse(listed.text).totalSize, 1);
});

test('CORS where it is configured: preflight, answers and streams', async (t) => {
  const origin = 'https://page.example';
  const { url } = await start(t, sample(), { cors: [origin] });
  const preflight = await raw(url, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST' },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers['access-control-allow-origin'], origin);
  assert.match(preflight.headers['access-control-allow-headers'] ?? '', /a2a-version/);
  assert.match(preflight.headers['access-control-allow-methods'] ?? '', /DELETE/);
  const answer = await raw(url, { body: body(), headers: { origin } });
  assert.equal(answer.headers['access-control-allow-origin'], origin);
  assert.match(answer.headers.vary ?? '', /Origin/);
  const stream = body().replace('message/send', 'message/stream');
  const streamed = await raw(url, { body: stream, headers: { origin } });
  assert.equal(streamed.headers['content-type'], 'text/event-stream');
  assert.equal(streamed.headers['access-control-allow-origin'], origin);
  const other = await raw(url, { body: body(), headers: { origin: 'https://other.example' } });
  assert.equal(other.status, 403);
});

test('a server that is not on loopback does not care for Host, but for Origin', async () => {
  const { fetch } = serve(sample());
  const card = 'https://agent.example/.well-known/agent-card.json';
  const context = { remote: '192.0.2.7' };
  assert.equal((await fetch(new Request(card), context)).status, 200);
  const headers = { origin: 'https://evil.example' };
  assert.equal((await fetch(new Request(card, { headers }), context)).status, 403);
});

const far = networkAddress();

test(
  'in a server of your own, calls from the network need authentication or a public URL',
  { skip: far === undefined && 'this machine has no address in a network' },
  async (t) => {
    for (const [options, status] of [
      [{}, 403],
      [{ publicUrl: 'https://agent.example' }, 200],
      [{ authenticate: () => ({ id: 'ann' }) }, 200],
    ] as const) {
      const agent = serve(sample(), options);
      t.after(() => agent.close());
      const server = createServer(agent.node).listen(0, far);
      await once(server, 'listening');
      t.after(() => server.close());
      const { port } = server.address() as AddressInfo;
      const headers = { 'content-type': 'application/json' };
      const url = `http://${far}:${port}`;
      const answer = await fetch(url, { method: 'POST', headers, body: body() });
      assert.equal(answer.status, status);
      assert.equal(/-31403.*has no authentication/.test(await answer.text()), status === 403);
      assert.equal((await fetch(`${url}/.well-known/agent-card.json`)).status, 200);
    }
  },
);

test('in a server of your own, calls over a Unix socket need no authentication', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'socket-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const agent = serve(sample());
  t.after(() => agent.close());
  const socketPath = path.join(folder, 'http');
  const server = createServer(agent.node).listen(socketPath);
  await once(server, 'listening');
  t.after(() => server.close());
  const asked = request({ socketPath, path: '/tasks', headers: { host: 'localhost' } }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  assert.equal(response.resume().statusCode, 200);
});

test('a page may read the headers that name the extensions, in either version', async (t) => {
  const origin = 'https://page.example';
  const { url } = await start(t, sample(), { cors: [origin] });
  const { headers } = await raw(url, { body: body(), headers: { origin } });
  assert.equal(
    headers['access-control-expose-headers'],
    'a2a-extensions, x-a2a-extensions, etag, location, request-id, retry-after, www-authenticate',
  );
});

test('a target may be the whole address', async (t) => {
  const { url } = await start(t);
  const { id } = await finished(url);
  const get = (path: string) => raw(url, { method: 'GET', path });
  assert.equal((await get(`${url}/tasks/${id}?historyLength=0`)).status, 200);
  assert.equal((await get(`${url}/nowhere`)).status, 404);
  assert.equal((await get(url)).status, 200);
});

test('a wrong verb is 405 with Allow, in JSON', async (t) => {
  const { url } = await start(t);
  const { id } = await finished(url);
  for (const [method, path, allow] of [
    ['DELETE', '/', 'GET, HEAD, POST'],
    ['PUT', '/', 'GET, HEAD, POST'],
    ['POST', '/.well-known/agent-card.json', 'GET, HEAD'],
    ['POST', '/tasks', 'GET'],
    ['GET', '/message:send', 'POST'],
    ['GET', `/tasks/${id}:cancel`, 'POST'],
    ['DELETE', `/tasks/${id}`, 'GET'],
    ['PUT', `/tasks/${id}/pushNotificationConfigs/c`, 'GET, DELETE'],
    ['PATCH', `/v1/tasks/${id}:subscribe`, 'GET, POST'],
    ['POST', '/acme/tasks', 'GET'],
  ] as const) {
    const answer = await raw(url, { method, path });
    if (path.endsWith(':cancel')) {
      // A GET of this path is a task whose id ends so, which nobody has.
      assert.equal(answer.status, 404, path);
      continue;
    }
    assert.equal(answer.status, 405, `${method} ${path}`);
    assert.equal(answer.headers.allow, allow);
    const said = JSON.parse(answer.text);
    // Each path in the shape of its version.
    if (path.startsWith('/v1')) assert.equal(said.code, -31405);
    else assert.equal(said.error.details[0].reason, 'METHOD_NOT_ALLOWED');
    if (!path.startsWith('/v1')) assert.equal(said.error.code, 405);
  }
  const nobody = await raw(url, { method: 'PUT', path: '/acme/v1/tasks' });
  assert.equal(nobody.status, 404, '0.3 knows no tenants');
  const headers = { accept: 'application/a2a+json' };
  const typed = await raw(url, { method: 'PUT', path: '/tasks', headers });
  assert.equal(typed.headers['content-type'], 'application/a2a+json');
});

test('HEAD has the headers of GET and no body; OPTIONS is answered', async (t) => {
  const { url } = await start(t);
  for (const path of ['/', '/.well-known/agent-card.json']) {
    const get = await raw(url, { method: 'GET', path });
    const head = await raw(url, { method: 'HEAD', path });
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-length'], get.headers['content-length']);
    assert.equal(head.headers.etag, get.headers.etag);
  }
  assert.equal((await raw(url, { method: 'OPTIONS', path: '/tasks' })).status, 204);
});

test('whoever opens the address in a browser is told what it is', async (t) => {
  const { url } = await start(t);
  const { status, text, headers } = await raw(url, { method: 'GET' });
  assert.equal(status, 200);
  assert.match(headers['content-type'] ?? '', /^text\/plain/);
  assert.match(text, /This is an A2A agent/);
  assert.match(text, /parley send \S+ "hello"\n$/);
});

test('and where a key is needed, how to give it', async (t) => {
  const { url } = await start(t, sample(), { card: { security: [{ bearer: [] }] } });
  const { text } = await raw(url, { method: 'GET' });
  assert.match(text, /parley send \S+ "hello" --header 'Authorization: Bearer …'\n$/);
});

test('who speaks application/a2a+json gets it back, others get application/json', async (t) => {
  const { url } = await start(t);
  const type = async (headers: Record<string, string>, path = '/tasks') =>
    (await raw(url, { method: 'GET', path, headers })).headers['content-type'];
  assert.equal(await type({}), 'application/json');
  assert.equal(await type({ accept: 'application/a2a+json' }), 'application/a2a+json');
  assert.equal(await type({ accept: 'application/a2a+json' }, '/v1/tasks'), 'application/json');
});
