import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type ClientHttp2Session } from 'node:http2';
import { get } from 'node:https';
import { test, type TestContext } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import { makeSelfSigned } from '../../src/base/tls/index.ts';
import { lazyGrpc } from '../../src/cli/program/listen.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { createAgent, serve, type ServeOptions } from '../../src/server.ts';
import { genericClient } from '../support/grpc.ts';
import { startGateway } from '../support/gateway.ts';

const SERVICE = 'lf.a2a.v1.A2AService';
const silent = { debug() {}, info() {}, warn() {}, error() {} };

const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* (ctx) {
  yield `you said ${ctx.text}`;
  if (ctx.text === 'hold') {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
  }
});

const message = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

async function listen(t: TestContext, options: ServeOptions = {}) {
  const given = { grpc: grpcBinding(), logger: silent, ...options };
  const listening = await serve(agent, given).listen();
  t.after(() => listening.close(0));
  return listening;
}

interface Offer {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
  readonly tenant?: string;
}
const GRPC = ({ protocolBinding }: Offer) => protocolBinding === 'GRPC';

async function offersAt(url: string, headers = {}): Promise<Offer[]> {
  const answer = await fetch(`${url}/.well-known/agent-card.json`, { headers });
  return ((await answer.json()) as { supportedInterfaces: Offer[] }).supportedInterfaces;
}

test('gRPC is on the port of HTTP, and the card of both versions says so', async (t) => {
  const { url, port, grpc } = await listen(t);
  assert.equal(grpc, `127.0.0.1:${port}`);
  assert.deepEqual(
    (await offersAt(url)).filter(GRPC).map((offer) => [offer.protocolVersion, offer.url]),
    [
      ['1.0', grpc],
      ['0.3', grpc],
    ],
  );
  const old = await fetch(`${url}/.well-known/agent-card.json`, {
    headers: { 'A2A-Version': '0.3' },
  });
  const { additionalInterfaces } = (await old.json()) as { additionalInterfaces: unknown[] };
  assert.deepEqual(additionalInterfaces.at(-1), { url: grpc, transport: 'GRPC' });
  using client = genericClient(grpc, SERVICE);
  const { message: sent } = await client.call('SendMessage', message('hello'));
  assert.match(JSON.stringify(sent), /you said hello/);
  const card = await client.call('GetTask', { id: 'none' }).catch((error: unknown) => error);
  assert.match(String(card), /NOT_FOUND/);
});

test('gRPC can have its own port, where nothing else is served', async (t) => {
  const { url, port, grpc = '' } = await listen(t, { grpcPort: 0 });
  assert.notEqual(grpc, `127.0.0.1:${port}`);
  assert.deepEqual(
    (await offersAt(url)).filter(GRPC).map((offer) => offer.url),
    [grpc, grpc],
  );
  using client = genericClient(grpc, SERVICE);
  assert.match(JSON.stringify(await client.call('SendMessage', message('hi'))), /you said hi/);
  const other = await fetch(`http://${grpc}/`);
  assert.deepEqual([other.status, /only gRPC/.test(await other.text())], [415, true]);
  using wrong = genericClient(`127.0.0.1:${port}`, SERVICE);
  await assert.rejects(wrong.call('SendMessage', message('hi')));
});

test('a server without gRPC does not declare it, and a program loads it with the first call', async (t) => {
  const without = await listen(t, { grpc: undefined });
  assert.equal(without.grpc, undefined);
  assert.equal((await offersAt(without.url)).some(GRPC), false);
  const { grpc = '' } = await listen(t, { grpc: lazyGrpc() });
  using client = genericClient(grpc, SERVICE);
  assert.match(JSON.stringify(await client.call('SendMessage', message('hi'))), /you said hi/);
});

test('gRPC needs the same credentials as HTTP', async (t) => {
  const authenticate: ServeOptions['authenticate'] = ({ header }) =>
    header('authorization') === 'Bearer secret' ? { id: 'anna' } : undefined;
  const { grpc = '' } = await listen(t, { authenticate });
  using client = genericClient(grpc, SERVICE);
  await assert.rejects(client.call('ListTasks', {}), /UNAUTHENTICATED/);
  const metadata = { authorization: 'Bearer secret' };
  assert.ok((await client.call('ListTasks', {}, { metadata })).message);
});

test('with TLS, one port has HTTP/1.1, HTTP/2 with eight event streams, and gRPC', async (t) => {
  const tls = makeSelfSigned(['127.0.0.1']);
  const { url, server, grpc = '' } = await listen(t, { tls });
  const [old] = await once(get(url, { ca: tls.cert, agent: false }), 'response');
  assert.deepEqual([old.statusCode, old.httpVersion], [200, '1.1']);
  old.resume();
  let connections = 0;
  server.on('secureConnection', () => connections++);
  const session = connect(url, { ca: tls.cert });
  t.after(() => session.destroy());
  const streams = await Promise.all(Array.from({ length: 8 }, () => held(session)));
  assert.equal(session.alpnProtocol, 'h2');
  assert.deepEqual(streams, Array(8).fill(200));
  assert.equal(connections, 1);
  using client = genericClient(grpc, SERVICE, credentials.createSsl(Buffer.from(tls.cert)));
  assert.match(JSON.stringify(await client.call('SendMessage', message('hi'))), /you said hi/);
});

/** Opens an event stream that stays open, and returns the status of its response. */
async function held(session: ClientHttp2Session): Promise<number> {
  const headers = { ':method': 'POST', ':path': '/message:stream', 'a2a-version': '1.0' };
  const stream = session.request({ ...headers, 'content-type': 'application/json' });
  stream.on('error', () => undefined);
  stream.end(JSON.stringify(message('hold')));
  const [answer] = await once(stream, 'response');
  stream.resume();
  return answer[':status'];
}

test('the gateway serves its agents over gRPC, selected by the tenant of their cards', async (t) => {
  const remote = await serve(agent, { logger: silent }).listen();
  t.after(() => remote.close(0));
  await using running = await startGateway({
    grpc: grpcBinding(),
    config: { agents: { echo: { url: remote.url } } },
    allowNetworks: ['127.0.0.0/8'],
  });
  const metadata = { authorization: `Bearer ${running.key()}` };
  const offer = (await offersAt(`${running.url}/agents/echo`, metadata)).find(GRPC);
  assert.equal(offer?.tenant, 'agents/echo');
  using client = genericClient(offer?.url ?? '', SERVICE);
  const { tenant = '' } = offer ?? {};
  const { message: sent } = await client.call(
    'SendMessage',
    { tenant, ...message('hello') },
    { metadata },
  );
  assert.match(JSON.stringify(sent), /you said hello/);
  const { id = '' } = (sent.task ?? {}) as { id?: string };
  const found = await client.call('GetTask', { tenant, id }, { metadata });
  assert.equal(found.message.id, id);
  // At the gateway's own endpoint, the task of the agent is unknown.
  await assert.rejects(client.call('GetTask', { id }, { metadata }), /NOT_FOUND/);
  await assert.rejects(
    client.call('GetTask', { tenant: 'agents/none', id }, { metadata }),
    /No such agent/,
  );
  await assert.rejects(client.call('GetTask', { tenant, id }), /UNAUTHENTICATED/);
});

test('the gateway limits and counts calls over gRPC like other requests', async (t) => {
  await using running = await startGateway({
    grpc: grpcBinding(),
    config: { keys: { rateLimit: { requestsPerMinute: 2 } } },
  });
  const metadata = { authorization: `Bearer ${running.key()}` };
  using client = genericClient(new URL(running.url).host, SERVICE);
  await client.call('ListTasks', {}, { metadata });
  await client.call('ListTasks', {}, { metadata });
  await assert.rejects(client.call('ListTasks', {}, { metadata }), /RESOURCE_EXHAUSTED/);
  const session = connect(running.url);
  t.after(() => session.destroy());
  const odd = session.request({ ':method': 'ODD', ':path': '/' }).resume();
  await once(odd, 'response');
  const metrics = await (await running.ask(running.key(), 'GET', '/metrics')).text();
  assert.match(metrics, /parley_http_requests_total\{.*route="A2A gRPC",status="200".*\} 2/);
  assert.match(metrics, /parley_http_requests_total\{.*route="A2A gRPC",status="429".*\} 1/);
  assert.match(metrics, /parley_http_requests_total\{verb="other".*\} 1/);
  assert.doesNotMatch(metrics, /ODD/);
});
