// Agents that speak only gRPC, behind the gateway, and the gateway's own gRPC in front of keys, budgets and the audit log.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import { connect, ConnectionError } from '../../src/client/index.ts';
import { createDialler } from '../../src/gateway/agents/dialler.ts';
import { RemoteAgent } from '../../src/gateway/agents/remote.ts';
import { failureReason } from '../../src/gateway/agents/failure.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { textOf } from '../../src/protocol/index.ts';
import { bearerTokens, createAgent, type ServeOptions } from '../../src/server.ts';
import { genericClient, serveGrpc } from '../support/grpc.ts';
import { startGateway } from '../support/gateway.ts';

const SERVICE = 'lf.a2a.v1.A2AService';

const echo = createAgent({ name: 'Echo', description: 'Repeats' }, async function* (ctx) {
  if (ctx.text === 'ask') yield `You said ${(await ctx.ask('Which?')).text}`;
  else if (ctx.text === 'much') yield 'x'.repeat(200_000);
  else yield `you said ${ctx.text}`;
});

const message = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

async function listening(t: TestContext, server: Server | ReturnType<typeof createHttp2>) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves a card whose interfaces are all gRPC at the address. */
async function grpcCard(t: TestContext, address: string): Promise<string> {
  const card = {
    name: 'Echo',
    description: 'Repeats',
    version: '1',
    supportedInterfaces: [{ url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(card));
  });
  return `http://${await listening(t, server)}`;
}

/** An agent that speaks only gRPC, as the gateway's configuration names it. */
async function onlyGrpc(t: TestContext, options: ServeOptions = {}) {
  const served = await serveGrpc(echo, options);
  t.after(() => served[Symbol.asyncDispose]());
  const url = await grpcCard(t, served.address);
  return { url, allowOrigins: [`http://${served.address}`] };
}

test('an agent that speaks only gRPC works behind the gateway: messages, questions, cancellation', async (t) => {
  const agent = await onlyGrpc(t);
  await using running = await startGateway({ config: { agents: { echo: agent } } });
  const headers = { authorization: `Bearer ${running.key()}` };
  const client = await connect(`${running.url}/agents/echo/`, { headers });
  t.after(() => client.close());
  assert.equal(await client.send('hello').text(), 'you said hello');
  const asked = await client.send('ask');
  assert.ok(asked.kind === 'task');
  assert.equal(asked.status.state, 'input-required');
  assert.equal(await client.send('this', { taskId: asked.id }).text(), 'You said this');
  const other = await client.send('ask');
  assert.ok(other.kind === 'task');
  assert.equal((await client.cancel(other.id)).status.state, 'canceled');
});

test('the credentials of the settings reach an agent over gRPC, and only at an allowed origin', async (t) => {
  const authenticate = bearerTokens(new Map([['gateway', 'secret']]));
  const agent = await onlyGrpc(t, { authenticate });
  const headers = { authorization: 'Bearer secret' };
  await using running = await startGateway({
    config: {
      agents: { good: { ...agent, headers }, bare: agent, strict: { url: agent.url, headers } },
    },
  });
  const own = { authorization: `Bearer ${running.key()}` };
  const ask = async (name: string) => {
    const client = await connect(`${running.url}/agents/${name}/`, { headers: own });
    t.after(() => client.close());
    const result = await client.send('hi');
    assert.ok(result.kind === 'task');
    return `${result.status.state}: ${textOf(result.status.message?.parts ?? [])}`;
  };
  assert.match(await ask('good'), /^completed/);
  assert.match(await ask('bare'), /^failed: .*does not accept the gateway's credentials/);
  assert.match(await ask('strict'), /its card refers to another origin.*allowOrigins/);
});

async function failureOf(
  t: TestContext,
  url: string,
  address: string,
  kind: 'trusted' | 'guarded' = 'trusted',
  limits = {},
) {
  const dialler = createDialler([]);
  t.after(() => dialler.close());
  const settings = { url, allowOrigins: [`http://${address}`], limits };
  // The card is fetched without the guard, so that only gRPC can refuse the address.
  const route = { ...dialler[kind], dispatcher: dialler.trusted.dispatcher };
  const agent = new RemoteAgent({ name: 'a', source: 'api', settings, route });
  const { service } = await agent.fetchCard();
  const error: unknown = await service
    .sendMessage({
      message: {
        kind: 'message',
        messageId: 'm',
        role: 'user',
        parts: [{ kind: 'text', text: 'much' }],
      },
    })
    .catch((reason: unknown) => reason);
  return { error, reason: failureReason(error), line: agent.explain(error) };
}

test('a registered agent cannot lead the gateway over gRPC into a closed network', async (t) => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const address = `${host}:9`;
    const failed = await failureOf(t, await grpcCard(t, address), address, 'guarded');
    assert.equal(failed.reason, 'AGENT_UNREACHABLE');
    assert.match(failed.line, /its address is in a network that is not allowed for registered/);
    assert.doesNotMatch(failed.line, /127\.0\.0\.1|localhost/);
  }
});

test('failures over gRPC are typed: not reachable, broken after the request, too large', async (t) => {
  const away = '127.0.0.1:1';
  const unreachable = await failureOf(t, await grpcCard(t, away), away);
  assert.equal(unreachable.reason, 'AGENT_UNREACHABLE');
  assert.match(unreachable.line, /^The agent a is unreachable \(ECONNREFUSED\)\.$/);

  // The agent may have received the message, so it must not be called unreachable.
  const dying = createHttp2((request) => request.stream.session?.destroy());
  const address = await listening(t, dying);
  const broken = await failureOf(t, await grpcCard(t, address), address);
  assert.ok(broken.error instanceof ConnectionError);
  assert.deepEqual([broken.error.reason, broken.reason], ['broken', 'AGENT_INTERRUPTED']);

  const served = await serveGrpc(echo);
  t.after(() => served[Symbol.asyncDispose]());
  const card = await grpcCard(t, served.address);
  const large = await failureOf(t, card, served.address, 'trusted', { maxBytes: 100_000 });
  assert.match(large.line, /it sent more than 100000 bytes/);
});

test('health checks keep the connection of an agent that speaks gRPC', async (t) => {
  let sessions = 0;
  const server = createHttp2((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/grpc', 'grpc-status': '5' });
    response.end();
  });
  server.on('session', () => sessions++);
  const address = await listening(t, server);
  const dialler = createDialler([]);
  t.after(() => dialler.close());
  const settings = { url: await grpcCard(t, address), allowOrigins: [`http://${address}`] };
  const agent = new RemoteAgent({ name: 'a', source: 'config', settings, route: dialler.trusted });
  const first = await agent.fetchCard();
  await first.service.getTask({ id: 't' }).catch(() => {});
  const second = await agent.fetchCard();
  await second.service.getTask({ id: 't' }).catch(() => {});
  assert.equal(second.service, first.service);
  assert.equal(sessions, 1);
});

test('an agent that speaks only gRPC can be registered over the API, which the audit log records', async (t) => {
  const agent = await onlyGrpc(t);
  await using running = await startGateway({ allowNetworks: ['127.0.0.0/8'] });
  const key = running.key();
  const created = await running.ask(key, 'POST', '/a2a/agents', { name: 'echo', ...agent });
  assert.equal(created.status, 201);
  const client = await connect(`${running.url}/agents/echo/`, {
    headers: { authorization: `Bearer ${key}` },
  });
  t.after(() => client.close());
  assert.equal(await client.send('hi').text(), 'you said hi');
  const audit = await (await running.ask(key, 'GET', '/a2a/audit?action=agent')).text();
  assert.match(audit, /"action":"agent.create","subject":"echo"/);
});

test('a call over gRPC needs the scopes of its key, is charged to its budget, and is refused when it is used up', async (t) => {
  const agent = await onlyGrpc(t);
  const usage = { tokens: 7 };
  await using running = await startGateway({
    grpc: grpcBinding(),
    config: { agents: { echo: { ...agent, usage } } },
  });
  using client = genericClient(new URL(running.url).host, SERVICE);
  const tenant = 'agents/echo';
  const send = (secret: string) =>
    client.call(
      'SendMessage',
      { tenant, ...message('hi') },
      { metadata: { authorization: `Bearer ${secret}` } },
    );
  await assert.rejects(send(running.key('default', 'tasks:read')), /PERMISSION_DENIED/);
  const budget = { tokens: 10, period: 'month' } as const;
  const fields = { workspace: 'default', name: 'small', scopes: ['*' as const], budget };
  const { secret, key } = running.gateway.keys.create(fields, 'test');
  assert.match(JSON.stringify(await send(secret)), /you said hi/);
  const Spent = z.object({ spent: z.object({ tokens: z.int() }) });
  const spent = await running.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`);
  assert.equal(Spent.parse(await spent.json()).spent.tokens, 7);
  const refused = await send(secret).catch((error: unknown) => error);
  assert.match(String(refused), /RESOURCE_EXHAUSTED.*budget/);
});
