import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { exchangeTicket } from './ticket.ts';

test('a ticket is exchanged at the address of the session, which may have a path', async (t) => {
  const paths: unknown[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.end(JSON.stringify({ token: 'secret', roles: ['view'] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const path of ['', '/', '/desk', '/desk/#ticket=x', '/desk/ws']) {
    await exchangeTicket(`http://127.0.0.1:${port}${path}`, 'x');
  }
  const [root, below] = ['/session/tickets', '/desk/session/tickets'];
  assert.deepEqual(paths, [root, root, below, below, below]);
});

test('a session that refuses a ticket gives the reason; another server is no session', async (t) => {
  const answers = [
    [401, 'The ticket has expired'],
    [429, 'Too many tickets were tried'],
    [503, 'Too many tokens'],
    [404, 'Not found'],
  ] as const;
  const left = [...answers];
  const server = createServer((_request, response) => {
    const [status, message] = left.shift() ?? [500, ''];
    response.writeHead(status).end(JSON.stringify({ error: { message } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const exchange = () => exchangeTicket(`http://127.0.0.1:${port}`, 'x');
  await assert.rejects(exchange, { kind: 'unauthenticated', message: 'The ticket has expired' });
  await assert.rejects(exchange, { kind: 'rateLimited', message: 'Too many tickets were tried' });
  await assert.rejects(exchange, { kind: 'unavailable', message: 'Too many tokens' });
  await assert.rejects(exchange, { reason: 'unreachable', message: /no live session/ });
});
