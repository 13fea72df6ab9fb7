// The card of a live session: a client finds the WebSocket in it, and clients of plain A2A still understand it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { discover } from '../../src/client/index.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { findLive, joinLive } from '../../src/live/client/index.ts';
import { sdk03 } from '../interop/sdk-03-client.ts';
import { sdk1 } from '../interop/sdk-1-client.ts';
import { genericClient } from '../support/grpc.ts';
import { serveSession } from './support.ts';

const BINDING = 'https://www.npmjs.com/package/parley-a2a#live-session';

test('the card of a live session declares its WebSocket, and a client joins there', async (t) => {
  const { url } = await serveSession(t, {});
  const { card } = await discover(url);
  const ws = `${url.replace('http', 'ws')}/ws`;
  const offer = card.supportedInterfaces.find((each) => each.protocolBinding === BINDING);
  assert.deepEqual([offer?.url, offer?.protocolVersion], [ws, '0.3']);
  const found = await findLive(url);
  assert.equal(found, ws);
  const session = await joinLive(found, { name: 'Eva' });
  t.after(() => session.close());
  for (const peer of [sdk1('JSONRPC'), sdk1('HTTP+JSON'), sdk03('JSONRPC')]) {
    assert.ok(await peer.connect(url), peer.name);
  }
});

test('a message over gRPC is a turn of the live session', async (t) => {
  const { url, live } = await serveSession(t, {
    script: [[{ text: 'Done.' }]],
    server: { grpc: grpcBinding() },
  });
  const { card } = await discover(url);
  const offer = card.supportedInterfaces.find((each) => each.protocolBinding === 'GRPC');
  using client = genericClient(offer?.url ?? '', 'lf.a2a.v1.A2AService');
  const parts = [{ text: 'hello' }];
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts };
  const { message: sent } = await client.call('SendMessage', { message });
  assert.match(JSON.stringify(sent), /Done\./);
  assert.equal((sent.task as { id?: string } | undefined)?.id, live.taskId);
});

/** A server whose card declares a live session at the address. */
async function cardOf(t: TestContext, ws: string): Promise<string> {
  const server = createServer((_request, response) => {
    const offers = [{ url: ws, protocolBinding: BINDING, protocolVersion: '0.3' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'A', capabilities: {}, supportedInterfaces: offers }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an address at another origin is ignored, because it would receive the token', async (t) => {
  const elsewhere = await cardOf(t, 'ws://evil.example/ws');
  assert.equal(await findLive(elsewhere), elsewhere);
  const otherPort = await cardOf(t, 'ws://127.0.0.1:1/ws');
  assert.equal(await findLive(otherPort), otherPort);
  assert.equal(await findLive('http://127.0.0.1:1/'), 'http://127.0.0.1:1/');
});
