import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { answerText, connect, ConnectionError, type RemoteAgentClient } from '../../src/client.ts';
import { grpcBinding } from '../../src/grpc.ts';
import {
  A2AError,
  type AgentCard,
  bearerTokens,
  createAgent,
  serve,
  type SendResult,
  type Task,
} from '../../src/server.ts';
import { sqliteStore } from '../../src/store-sqlite.ts';
import { grpcPort, type GrpcServer, serveGrpc } from '../support/grpc.ts';

const agent = createAgent({ name: 'Echo', description: 'Repeats words' }, async function* (ctx) {
  if (ctx.text === 'ask') yield `You said ${(await ctx.ask('Which?')).text}`;
  else for (const word of ctx.text.split(' ')) yield `${word} `;
});

/** Returns a card with interfaces over gRPC. */
function cardOf(address: string, more: Partial<AgentCard> = {}): AgentCard {
  return {
    name: 'Echo',
    description: 'Repeats words',
    version: '1.0.0',
    supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
      url: address,
      protocolBinding: 'GRPC',
      protocolVersion,
    })),
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    ...more,
  };
}

function taskOf(result: SendResult): Task {
  assert.equal(result.kind, 'task');
  return result;
}

for (const version of ['1.0', '0.3'] as const) {
  describe(`connect over gRPC, ${version}`, () => {
    let served: GrpcServer;
    let client: RemoteAgentClient;
    before(async () => {
      served = await serveGrpc(agent, {
        push: { allowNetworks: ['127.0.0.0/8'] },
        extendedCard: { description: 'for friends' },
      });
      const card = cardOf(served.address);
      client = await connect(`http://${served.address}`, { card, version });
    });
    after(() => served[Symbol.asyncDispose]());

    test('the endpoint is the gRPC interface', () => {
      const { binding, url } = client.endpoint;
      assert.deepEqual({ binding, url }, { binding: 'GRPC', url: `http://${served.address}/` });
    });

    test('a message is answered, and its text arrives in chunks', async () => {
      assert.equal(await client.send('hello there').text(), 'hello there ');
    });

    test('a task is read, continued with an answer, and canceled', async () => {
      const task = taskOf(await client.send('ask'));
      assert.equal(task.status.state, 'input-required');
      assert.equal((await client.get(task.id)).id, task.id);
      const answered = taskOf(await client.send('this', { taskId: task.id }));
      assert.equal(answered.status.state, 'completed');
      const other = taskOf(await client.send('ask'));
      assert.equal((await client.cancel(other.id)).status.state, 'canceled');
    });

    test('an error of the agent has its kind and details', async () => {
      await assert.rejects(client.get('nowhere'), (error) => {
        assert.ok(error instanceof A2AError);
        assert.equal(error.kind, 'taskNotFound');
        assert.equal(error.detail.info?.taskId, 'nowhere');
        return true;
      });
    });

    test('a stream of a working task resumes after the last event without gap', async () => {
      const seqs: (number | undefined)[] = [];
      const stream = client.stream('a b c');
      for await (const { seq } of stream) seqs.push(seq);
      assert.deepEqual(seqs, [1, 2, 3, 4, 5, 6]);
    });

    test('webhooks are set, read, listed and deleted', async () => {
      const task = taskOf(await client.send('ask'));
      const set = await client.setPushConfig(task.id, { id: 'w', url: 'http://127.0.0.1:9/hook' });
      assert.equal(set.pushNotificationConfig.url, 'http://127.0.0.1:9/hook');
      const read = await client.getPushConfig(task.id, 'w');
      assert.equal(read.pushNotificationConfig.id, 'w');
      assert.equal((await client.listPushConfigs(task.id)).length, 1);
      await client.deletePushConfig(task.id, 'w');
      assert.equal((await client.listPushConfigs(task.id)).length, 0);
    });

    test('the extended card is read', async () => {
      assert.equal((await client.extendedCard()).description, 'for friends');
    });
  });
}

test('tasks are listed over gRPC in 1.0, and 0.3 says that it has no such method', async () => {
  await using served = await serveGrpc(agent);
  const card = cardOf(served.address);
  const client = await connect(`http://${served.address}`, { card });
  await client.send('one');
  const { tasks, totalSize } = await client.list();
  assert.deepEqual([tasks.length, totalSize], [1, 1]);
  const old = await connect(`http://${served.address}`, { card, version: '0.3' });
  await assert.rejects(old.list(), { kind: 'methodNotFound' });
});

test("the caller's tenant is sent over gRPC of 1.0, and refused over 0.3, which has no tenants", async () => {
  await using served = await serveGrpc(agent);
  const card = cardOf(served.address);
  const { service } = await connect(`http://${served.address}`, { card });
  const message = { kind: 'message', messageId: 'm', role: 'user' } as const;
  const params = { message: { ...message, parts: [{ kind: 'text' as const, text: 'hi' }] } };
  const { id } = taskOf(await service.sendMessage({ ...params, tenant: 'acme' }));
  assert.equal((await service.getTask({ id, tenant: 'acme' })).id, id);
  await assert.rejects(service.getTask({ id }), { kind: 'taskNotFound' });
  const old = await connect(`http://${served.address}`, { card, version: '0.3' });
  const refused = { kind: 'invalidParams', message: /tenant: A2A 0\.3 has no tenants/ };
  await assert.rejects(old.service.sendMessage({ ...params, tenant: 'acme' }), refused);
  await assert.rejects(old.service.streamMessage({ ...params, tenant: 'acme' }), refused);
});

test('a stream over gRPC continues when its server stops and another one takes over', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'grpc-'));
  t.after(() => rmSync(folder, { recursive: true }));
  let runs = 0;
  const profile = { name: 'Slow', description: 'Takes its time', resumes: true };
  const slow = createAgent(profile, async function* ({ signal }) {
    yield 'one ';
    if (runs++ === 0) await once(signal, 'abort');
    yield 'two';
  });
  const port = await grpcPort(t);
  const start = () => {
    const store = sqliteStore(path.join(folder, 'tasks.db'));
    const served = serve(slow, { grpc: grpcBinding(), store });
    t.after(() => served.close());
    port.serve(served);
    return served;
  };
  const first = start();
  const client = await connect(`http://${port.address}`, {
    card: cardOf(port.address),
    retry: { attempts: 20, delayMs: 1 },
  });
  const stream = client.stream('go');
  const seqs: number[] = [];
  for await (const { event, seq = 0 } of stream) {
    seqs.push(seq);
    if (event.kind !== 'artifact-update' || seqs.length > 3) continue;
    await first.close();
    start();
  }
  assert.equal(answerText(stream.task), 'one two');
  assert.deepEqual(
    seqs,
    [...new Set(seqs)].toSorted((a, b) => a - b),
  );
});

test('credentials reach only a trusted origin, over gRPC too', async () => {
  const authenticate = bearerTokens(new Map([['ann', 'secret']]));
  await using served = await serveGrpc(agent, { authenticate });
  const card = cardOf(served.address);
  const headers = { authorization: 'Bearer secret' };
  const origin = `http://${served.address}`;
  const client = await connect(origin, { card, headers });
  assert.equal(await client.send('hi').text(), 'hi ');
  const stranger = await connect(origin, { card });
  await assert.rejects(stranger.send('hi').text(), { kind: 'unauthenticated' });
  await assert.rejects(connect('http://127.0.0.1:1', { card, headers }), { reason: 'untrusted' });
  const trusting = await connect('http://127.0.0.1:1', { card, headers, trustedOrigins: [origin] });
  assert.equal(await trusting.send('hi').text(), 'hi ');
});

test('a card cannot lead a client over gRPC into a private network', async () => {
  const card = cardOf('10.0.0.1:50051');
  const client = await connect('https://agent.example', { card });
  await assert.rejects(client.send('hi').text(), { reason: 'untrusted' });
});

test('an agent that does not listen is unreachable', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  assert.ok(address && typeof address === 'object');
  probe.close();
  const card = cardOf(`127.0.0.1:${address.port}`);
  const client = await connect(`http://127.0.0.1:${address.port}`, { card });
  await assert.rejects(client.get('t'), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.reason, 'unreachable');
    return true;
  });
});

test('a status of a proxy and a malformed message are errors as over HTTP', async (t) => {
  let status = 0;
  const server = createHttp2Server().listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.on('stream', (stream) => {
    stream.respond({
      ':status': status,
      'content-type': status === 200 ? 'application/grpc' : 'text/html',
      'retry-after': '7',
    });
    // One message of one byte, which is not a field.
    stream.end(Buffer.from([0, 0, 0, 0, 1, 0xff]));
  });
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  const card = cardOf(`127.0.0.1:${address.port}`);
  const leaving = new AbortController();
  server.on('session', (session) => t.after(() => session.destroy()));
  t.after(() => server.close());
  t.after(() => leaving.abort());
  const { signal } = leaving;
  const client = await connect(`http://127.0.0.1:${address.port}`, {
    card,
    signal,
    retry: { attempts: 0 },
  });
  const kinds: unknown[] = [];
  for (status of [401, 403, 429, 503, 200]) {
    const error: unknown = await client.get('t').catch((thrown: unknown) => thrown);
    assert.ok(error instanceof A2AError, String(error));
    kinds.push([error.kind, error.detail.retryAfterSeconds]);
  }
  assert.deepEqual(kinds, [
    ['unauthenticated', 7],
    ['forbidden', 7],
    ['rateLimited', 7],
    ['unavailable', 7],
    ['invalidAgentResponse', undefined],
  ]);
});

test('gRPC is used where the card lists it first, and not with an own fetch', async () => {
  const both = (...bindings: string[]) =>
    cardOf('127.0.0.1:9', {
      supportedInterfaces: bindings.map((protocolBinding) => ({
        url: protocolBinding === 'GRPC' ? '127.0.0.1:9' : 'http://127.0.0.1:9',
        protocolBinding,
        protocolVersion: '1.0',
      })),
    });
  const chosen = async (card: AgentCard, options = {}) =>
    (await connect('http://127.0.0.1:9', { card, ...options })).endpoint.binding;
  assert.equal(await chosen(both('GRPC', 'JSONRPC')), 'GRPC');
  assert.equal(await chosen(both('JSONRPC', 'GRPC')), 'JSONRPC');
  assert.equal(await chosen(both('JSONRPC', 'GRPC'), { binding: 'GRPC' }), 'GRPC');
  assert.equal(await chosen(both('GRPC', 'JSONRPC'), { fetch: globalThis.fetch }), 'JSONRPC');
});

test('with grpcScheme, the address for 0.3 is a URL, and our own client reads both forms', async () => {
  const server = await serve(agent, { grpc: grpcBinding(), grpcScheme: true }).listen(0);
  try {
    const response = await fetch(`${server.url}/.well-known/agent-card.json`);
    const { additionalInterfaces, supportedInterfaces } = (await response.json()) as {
      additionalInterfaces: { url: string; transport: string }[];
      supportedInterfaces: { url: string; protocolBinding: string; protocolVersion: string }[];
    };
    const old = additionalInterfaces.find(({ transport }) => transport === 'GRPC');
    assert.equal(old?.url, server.url);
    const current = supportedInterfaces.find(
      ({ protocolBinding, protocolVersion }) =>
        protocolBinding === 'GRPC' && protocolVersion === '1.0',
    );
    assert.equal(current?.url, server.grpc);
    for (const version of ['0.3', '1.0'] as const) {
      const client = await connect(server.url, { binding: 'GRPC', version });
      assert.equal(await client.send('hi').text(), 'hi ');
    }
  } finally {
    await server.close();
  }
});
