// What of a caller's request reaches the agent behind the gateway, with every request to the agent.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect, type AgentClient } from '../../src/client/index.ts';
import { GatewayConfig } from '../../src/gateway/config.ts';
import { createAgent, type A2AAgent } from '../../src/tasks/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { interopAgent, EXTENSION } from '../interop/agent.ts';
import { createGates, until, within } from '../interop/support.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { behind, remote } from './agents-support.ts';

interface Asked {
  readonly path: string;
  readonly user: string | undefined;
  readonly secret: string | undefined;
  readonly key: string | undefined;
  readonly extensions: string | undefined;
}

/** An agent of REST, so that the paths of the requests say what they ask for. */
async function recorded(t: TestContext, agent: A2AAgent, streaming = true) {
  const asked: Asked[] = [];
  const { url, server, port } = await remote(t, agent, {
    only: '1.0',
    card: {
      capabilities: { streaming },
      supportedInterfaces: [{ url: '/', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' }],
    },
  });
  server.prependListener('request', ({ url: target = '', headers }) => {
    if (target.startsWith('/.well-known')) return;
    const { authorization, 'x-user': user, 'x-secret': secret, 'a2a-extensions': uris } = headers;
    asked.push({
      path: target.replace(/\?.*/, '').replace(/[\da-f-]{36}/, 'ID'),
      user: user as string | undefined,
      secret: secret as string | undefined,
      key: authorization,
      extensions: uris as string | undefined,
    });
  });
  return { url, server, port, asked };
}

function clientOf(gateway: RunningGateway, key: string): Promise<AgentClient> {
  const headers = { authorization: `Bearer ${key}`, 'X-User': 'ann', 'x-secret': 'of ann' };
  return connect(`${gateway.url}/agents/theirs/`, { headers });
}

const FORWARDS = {
  headers: { authorization: 'Bearer of-the-gateway' },
  forwardHeaders: ['X-User'],
};

test('listed headers reach the agent with a message, a poll and a cancellation, and no other header does', async (t) => {
  const gates = createGates();
  const { url, asked } = await recorded(t, interopAgent(gates), false);
  await using gateway = await startGateway({
    config: { agents: { theirs: { url, ...FORWARDS } } },
  });
  const client = await clientOf(gateway, gateway.key());
  const stream = client.stream('hold gate');
  for await (const { event } of stream) if (event.kind === 'artifact-update') break;
  await client.cancel(stream.task!.id);
  const paths = asked.map((each) => each.path);
  assert.deepEqual([...new Set(paths)], ['/message:send', '/tasks/ID', '/tasks/ID:cancel']);
  for (const { user, secret, key } of asked) {
    assert.deepEqual([user, secret, key], ['ann', undefined, 'Bearer of-the-gateway']);
  }
});

test('listed headers reach the agent with a stream, and when the stream is resumed', async (t) => {
  const gates = createGates();
  const { url, server, asked } = await recorded(t, interopAgent(gates));
  await using gateway = await startGateway({
    config: { agents: { theirs: { url, ...FORWARDS } } },
  });
  const client = await clientOf(gateway, gateway.key());
  const stream = client.stream('hold gate', { extensions: [EXTENSION] });
  let text = '';
  for await (const piece of stream.textChunks()) {
    if (text === '') {
      server.closeAllConnections();
      gates.open('gate');
    }
    text += piece;
  }
  assert.equal(text, 'begun done');
  const [first, ...others] = asked;
  assert.equal(first?.path, '/message:stream');
  assert.ok(others.some(({ path: each }) => each === '/tasks/ID:subscribe'));
  for (const { user, secret, extensions } of asked) {
    assert.deepEqual([user, secret, extensions], ['ann', undefined, EXTENSION]);
  }
});

test('a task that waits for an answer is canceled with the headers of its last message', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  await using gateway = await startGateway({
    config: { agents: { theirs: { url, ...FORWARDS } } },
  });
  const client = await clientOf(gateway, gateway.key());
  const waiting = await client.send('ask');
  assert.ok(waiting.kind === 'task');
  await client.cancel(waiting.id);
  assert.deepEqual(
    asked.map(({ path: each, user }) => [each, user]),
    [
      ['/message:stream', 'ann'],
      ['/tasks/ID:cancel', 'ann'],
    ],
  );
});

test('a header that is no longer listed is not sent, even if it is stored with the task', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  const config = { agents: { theirs: { url, ...FORWARDS } } };
  await using gateway = await startGateway({ config });
  const client = await clientOf(gateway, gateway.key());
  const waiting = await client.send('ask');
  assert.ok(waiting.kind === 'task');
  const { forwardHeaders: _, ...theirs } = config.agents.theirs;
  gateway.gateway.reload(GatewayConfig.parse({ agents: { theirs } }));
  await client.cancel(waiting.id);
  assert.deepEqual(
    asked.map(({ path: each, user }) => [each, user]),
    [
      ['/message:stream', 'ann'],
      ['/tasks/ID:cancel', undefined],
    ],
  );
});

test('after a restart, a task is followed with its headers and extensions, and counts for its key', async (t) => {
  const gates = createGates();
  const { url, asked } = await recorded(t, interopAgent(gates));
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-forwarding-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const open = () =>
    startGateway({
      config: { agents: { theirs: { url, ...FORWARDS, usage: { tokens: 7 } } } },
      store: sqliteStore(path.join(folder, 'tasks.db')),
      register: path.join(folder, 'register.db'),
      secretKey: 'a secret key',
    });
  const first = await open();
  const { key, secret } = first.gateway.keys.create(
    {
      workspace: 'default',
      name: 'limited',
      scopes: ['*'],
      budget: { tokens: 100, period: 'day' },
    },
    'test',
  );
  const client = await clientOf(first, secret);
  const stream = client.stream('hold gate', { extensions: [EXTENSION] });
  for await (const { event } of stream) if (event.kind === 'artifact-update') break;
  await first[Symbol.asyncDispose]();
  const before = asked.length;
  await using second = await open();
  const again = await clientOf(second, secret);
  await until(
    'the subscription',
    () => asked.length,
    (count) => count > before,
  );
  gates.open('gate');
  const task = await until(
    'its end',
    () => again.get(stream.task!.id),
    ({ status }) => status.state === 'completed',
  );
  assert.equal(task.artifacts?.[0]?.parts.length, 1);
  for (const { user, secret: other, extensions } of asked) {
    assert.deepEqual([user, other, extensions], ['ann', undefined, EXTENSION]);
  }
  const usage = await second.ask(secret, 'GET', '/a2a/usage');
  const { items } = (await usage.json()) as { items: object[] };
  assert.equal(items.length, 1);
  assert.partialDeepStrictEqual(items[0], {
    keyId: key.id,
    agent: 'theirs',
    calls: 1,
    inputTokens: 7,
  });
});

test('the output modes that a client accepts reach the agent, by message and by stream', async (t) => {
  const seen: unknown[] = [];
  const picky = createAgent({ name: 'Picky', description: '' }, async function* () {
    yield 'ok';
  });
  const execute: A2AAgent['execute'] = (context) => {
    seen.push(context.acceptedOutputModes);
    return picky.execute(context);
  };
  const { url } = await remote(t, { ...picky, execute });
  await using gateway = await startGateway({ config: { agents: { theirs: { url } } } });
  const client = await clientOf(gateway, gateway.key());
  const configuration = { acceptedOutputModes: ['image/png', 'text/plain'] };
  await client.send('one', { configuration });
  await within('a stream', client.stream('two', { configuration }).text());
  await client.send('three');
  assert.deepEqual(seen, [['image/png', 'text/plain'], ['image/png', 'text/plain'], undefined]);
});

test('too many or too long output modes are refused', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  await using gateway = await startGateway({ config: { agents: { theirs: { url } } } });
  const client = await clientOf(gateway, gateway.key());
  for (const acceptedOutputModes of [Array.from({ length: 101 }, String), ['x'.repeat(257)]]) {
    const sent = client.send('one', { configuration: { acceptedOutputModes } });
    await assert.rejects(sent, /acceptedOutputModes: at most 100 types of at most 256 characters/);
  }
  assert.deepEqual(asked, []);
});

test('metadata that is too large to be stored with the sender is refused', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  await using gateway = await startGateway({ config: { agents: { theirs: { url } } } });
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'count 1' }] };
  const body = { message, metadata: { long: 'x'.repeat(2 ** 18) } };
  const path = '/agents/theirs/message:send';
  const refused = await gateway.ask(gateway.key(), 'POST', path, body);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /metadata: at most 262144 characters as JSON/);
  assert.deepEqual(asked, []);
});

test('a listed header that cannot be passed on is refused', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  await using gateway = await startGateway({
    config: { agents: { theirs: { url, ...FORWARDS } } },
  });
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'count 1' }] };
  const refused = await gateway.ask(
    gateway.key(),
    'POST',
    '/agents/theirs/message:send',
    { message },
    { 'x-user': 'Zo\u00eb' },
  );
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /The header x-user cannot be passed on to the agent theirs/);
  assert.deepEqual(asked, []);
});

test('credentials of the gateway, headers of the connection and own headers of the agent cannot be listed', () => {
  const check = (forwardHeaders: string[]) =>
    GatewayConfig.safeParse({
      agents: {
        theirs: { url: 'http://127.0.0.1:1', headers: { 'X-Tenant': 'one' }, forwardHeaders },
      },
    });
  for (const name of ['Authorization', 'x-api-key', 'Host', 'Connection', 'TE', 'x-tenant']) {
    assert.equal(check([name]).success, false, name);
  }
  assert.equal(check(['X-User', 'Cookie']).success, true);
});

test('a user whose scopes and key are unknown cannot use an agent', async (t) => {
  const { url, asked } = await recorded(t, interopAgent(createGates()));
  const config = { theirs: { url } };
  const { handler } = behind(t, { config, allowNetworks: ['127.0.0.0/8'] });
  const parts = [{ kind: 'text' as const, text: 'hello' }];
  const message = { kind: 'message', messageId: 'm', role: 'user', parts } as const;
  const user = { id: 'default' };
  await assert.rejects(handler.sendMessage({ message, metadata: { agent: 'theirs' } }, { user }), {
    kind: 'unauthenticated',
  });
  assert.deepEqual(asked, []);
});
