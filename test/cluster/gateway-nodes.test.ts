// Two gateways with one PostgreSQL database.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { isTerminal, type Task, type TaskState } from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import type { Key } from '../../src/gateway/keys/schema.ts';
import { postgresStore } from '../../src/store/index.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { testDatabase, type TestDatabase } from '../support/postgres.ts';
import { type PostgresNode, startPostgresNode } from '../support/postgres-gateway.ts';
import { type Asked, fakeVendor, type FakeVendor, type Reply } from '../support/vendors/server.ts';
import { SEED_BODY } from '../gateway/cards-support.ts';
import { compatible, piece } from '../gateway/models-support.ts';
import { remote } from '../gateway/agents-support.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const PROMPT_TOKENS = 15;
const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Weather?' }] };

let database: TestDatabase;
let vendor: FakeVendor;
let one: PostgresNode;
let other: PostgresNode;
/** The tokens that the provider has charged. */
let charged = 0;

before(async () => {
  database = await testDatabase();
  vendor = await fakeVendor((asked) => answerOf(asked));
  const circuit = { failures: 2, openMs: 600_000 };
  const failing = compatible(vendor.url, { models: ['broken'], attempts: 1, circuit });
  const providers = { p: compatible(vendor.url, { models: ['m'] }), failing };
  const config = { providers } as object;
  one = await startPostgresNode(database.url, { config });
  other = await startPostgresNode(database.url, { config });
});

after(async () => {
  await one[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await vendor[Symbol.asyncDispose]();
  await database.drop();
});

/** An answer as long as the request allows, with the usage that a provider reports. */
function answerOf({ body }: Asked): Reply {
  if (Reflect.get(Object(body), 'model') === 'broken') return { status: 500, body: '{}' };
  const tokens = Math.min(Number(Reflect.get(Object(body), 'max_tokens') ?? 200), 200);
  charged += PROMPT_TOKENS + tokens;
  const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens };
  const choices = [{ index: 0, delta: {}, finish_reason: 'length' }];
  const end = JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices, usage });
  return { events: [piece('word '.repeat(tokens)), `data: ${end}\n\n`, 'data: [DONE]\n\n'] };
}

async function newKey(fields: Partial<Pick<Key, 'budget' | 'rateLimit'>> = {}) {
  const wanted = { workspace: 'default', name: 'test', scopes: ['*' as const], ...fields };
  return one.gateway.keys.create(wanted, 'test');
}

async function json(response: Response): Promise<Record<string, unknown>> {
  return Object(await response.json()) as Record<string, unknown>;
}

/** Waits until a request has this status. Returns the milliseconds. */
async function untilStatus(status: number, ask: () => Promise<Response>): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const response = await ask();
    await response.arrayBuffer();
    if (response.status === status) return performance.now() - begun;
    if (performance.now() - begun > 10_000) assert.fail(`still ${response.status}`);
    await delay(5);
  }
}

test('a key that one gateway creates works on the other, and stops there when it is revoked', async () => {
  const admin = await newKey();
  const { key, secret } = await newKey();
  const list = () => other.ask(secret, 'GET', '/a2a/keys');
  assert.equal((await list()).status, 200);
  const revoked = await one.ask(admin.secret, 'DELETE', `/a2a/keys/${key.id}`);
  assert.equal(revoked.status, 204);
  assert.equal((await one.ask(secret, 'GET', '/a2a/keys')).status, 401);
  const ms = await untilStatus(401, list);
  assert.ok(ms < 1000, `after ${ms} ms`);
});

test('a change takes effect on the other gateway even if its notifications are lost', async () => {
  const { key, secret } = await newKey();
  assert.equal((await other.ask(secret, 'GET', '/a2a/model-cards')).status, 200);
  // A pooler may lose the connections that listen.
  const ended = await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  assert.equal(ended.length, 2);
  await one.gateway.keys.revoke('default', key.id, { force: true }, 'test');
  const ms = await untilStatus(401, () => other.ask(secret, 'GET', '/a2a/model-cards'));
  assert.ok(ms < 1500, `after ${ms} ms`);
});

test('model cards and agents of one gateway can be used on the other', async () => {
  const { secret } = await newKey();
  const { workspaceId: _, ...card } = SEED_BODY;
  const made = await json(
    await one.ask(secret, 'POST', '/a2a/model-cards', {
      ...card,
      slug: 'shared',
      card: { ...card.card, provider: 'p', model: 'm' },
    }),
  );
  await untilStatus(200, () => other.ask(secret, 'GET', '/v1/models/shared'));
  const answer = await other.ask(secret, 'POST', '/v1/chat/completions', {
    ...CHAT,
    model: 'shared',
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(
    (await one.ask(secret, 'DELETE', `/a2a/model-cards/${String(made['id'])}`)).status,
    204,
  );
  await untilStatus(404, () => other.ask(secret, 'GET', '/v1/models/shared'));

  const agent = { name: 'theirs', url: 'https://agent.example' };
  const put = await one.ask(secret, 'POST', '/a2a/agents?verify=false', agent);
  assert.equal(put.status, 201, await put.text());
  await untilStatus(200, () => other.ask(secret, 'GET', '/a2a/agents/theirs'));
  assert.equal((await other.ask(secret, 'DELETE', '/a2a/agents/theirs')).status, 204);
  await untilStatus(404, () => one.ask(secret, 'GET', '/a2a/agents/theirs'));
});

test('fifty calls at once on both gateways do not exceed a budget of a thousand tokens', async () => {
  const { key, secret } = await newKey({ budget: { tokens: 1000, period: 'total' } });
  charged = 0;
  const ask = async (n: number) => {
    const node = n % 2 === 0 ? one : other;
    const response = await node.ask(secret, 'POST', '/v1/chat/completions', CHAT);
    return { status: response.status, text: await response.text() };
  };
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ask(n)));
  const good = answers.filter(({ status }) => status === 200);
  assert.ok(good.length > 0);
  assert.ok(answers.every(({ status }) => status === 200 || status === 429));
  for (let n = 0; n < 10; n++) await ask(n);
  // Each gateway stores the usage of its own calls before it reports.
  await one.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`);
  const usage = await json(await other.ask(secret, 'GET', `/a2a/keys/${key.id}/usage`));
  assert.ok(charged <= 1000 && charged >= 1000 - PROMPT_TOKENS - 40, `${charged} tokens`);
  assert.deepEqual(usage['spent'], { tokens: charged, amount: 0 });
  assert.equal((await ask(1)).status, 429);
});

test('usage that could not be stored is stored when the database is back, without another call', async (t) => {
  const { key, secret } = await newKey({ budget: { tokens: 1000, period: 'total' } });
  let isAway = false;
  const proxy = await startTcpProxy(() => (isAway ? [] : [Number(new URL(database.url).port)]));
  t.after(() => proxy.close());
  const answer = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  await using slow = await fakeVendor(async (asked) => {
    reached.resolve();
    await answer.promise;
    return answerOf(asked);
  });
  const url = new URL(database.url);
  url.port = String(proxy.port);
  const config = { providers: { p: compatible(slow.url, { models: ['m'] }) } } as object;
  await using node = await startPostgresNode(url.href, { config });
  const call = node.ask(secret, 'POST', '/v1/chat/completions', { ...CHAT, max_tokens: 20 });
  await reached.promise;
  isAway = true;
  proxy.cut();
  answer.resolve();
  assert.equal((await call).status, 200);
  await delay(50);
  isAway = false;
  const begun = performance.now();
  const stored = async () => {
    const [row] = await database.query(
      'SELECT sum(input_tokens + output_tokens)::integer AS tokens FROM parley.spending WHERE key_id = $1',
      [key.id],
    );
    return row?.['tokens'];
  };
  while ((await stored()) !== PROMPT_TOKENS + 20) {
    assert.ok(performance.now() - begun < 3000, 'the usage is not stored');
    await delay(20);
  }
});

test('the calls of a gateway that is gone are counted at once, so that they do not shorten other answers', async () => {
  const { key, secret } = await newKey({ budget: { tokens: 1000, period: 'total' } });
  const answer = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  await using slow = await fakeVendor(async (asked) => {
    reached.resolve();
    await answer.promise;
    return answerOf(asked);
  });
  const config = { providers: { p: compatible(slow.url, { models: ['m'] }) } } as object;
  await using node = await startPostgresNode(database.url, { config });
  const call = node.ask(secret, 'POST', '/v1/chat/completions', { ...CHAT, max_tokens: 900 });
  await reached.promise;
  await database.query(
    'DELETE FROM parley.nodes WHERE id = (SELECT owner FROM parley.reservations WHERE key_id = $1)',
    [key.id],
  );
  const begun = performance.now();
  const reserved = async () => {
    const [row] = await database.query(
      "SELECT reserved_tokens::integer AS tokens FROM parley.budget_counters WHERE holder = 'key:default/' || $1",
      [key.id],
    );
    return row?.['tokens'];
  };
  while ((await reserved()) !== 0) {
    assert.ok(performance.now() - begun < 5000, 'the tokens are still reserved');
    await delay(20);
  }
  answer.resolve();
  assert.equal((await call).status, 200);
});

test('both gateways together keep to the rate limit of a key', async () => {
  const { secret } = await newKey({ rateLimit: { requestsPerMinute: 1, burst: 6 } });
  const answers = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const response = await (n % 2 === 0 ? one : other).ask(secret, 'GET', '/a2a/model-cards');
      await response.arrayBuffer();
      return response;
    }),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 6);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 14);
  assert.ok(refused.every(({ headers }) => Number(headers.get('retry-after')) > 30));
});

test('the audit log and the usage of both gateways are in one place', async () => {
  const admin = await newKey();
  const { key, secret } = await newKey();
  for (const node of [one, other]) {
    const answer = await node.ask(secret, 'POST', '/v1/chat/completions', CHAT);
    assert.equal(answer.status, 200, await answer.text());
    const renamed = await node.ask(admin.secret, 'PATCH', `/a2a/keys/${key.id}`, { name: 'again' });
    assert.equal(renamed.status, 200);
    // A gateway stores its usage before it reports.
    await node.ask(admin.secret, 'GET', '/a2a/usage');
  }
  const reports = await Promise.all(
    [one, other].map(async (node) => ({
      usage: (await json(await node.ask(admin.secret, 'GET', `/a2a/usage?by=key&key=${key.id}`)))[
        'items'
      ],
      audit: (await json(await node.ask(admin.secret, 'GET', '/a2a/audit?limit=2')))['items'],
    })),
  );
  assert.deepEqual(reports[0], reports[1]);
  const [row] = Object(reports[0]?.usage) as { calls: number }[];
  assert.equal(row?.calls, 2);
  const entries = Object(reports[0]?.audit) as { action: string; number: number }[];
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['key.edit', 'key.edit'],
  );
  assert.equal(entries[0]!.number, entries[1]!.number + 1);
});

test('a circuit that opens on one gateway is open on the other', async () => {
  const { secret } = await newKey();
  const failing = { ...CHAT, model: 'broken' };
  const ask = async (node: PostgresNode) => {
    const response = await node.ask(secret, 'POST', '/v1/chat/completions', failing);
    return { status: response.status, text: await response.text() };
  };
  const calls = () =>
    vendor.asked.filter(({ body }) => Reflect.get(Object(body), 'model') === 'broken').length;
  for (let n = 0; n < 2; n++) await ask(one);
  assert.match((await ask(one)).text, /overloaded/);
  assert.equal(calls(), 2);
  const begun = performance.now();
  const isOpen = async () => {
    const metrics = await (await other.ask(secret, 'GET', '/metrics')).text();
    return /parley_model_circuit_open\{provider="failing"\} 1/.test(metrics);
  };
  while (!(await isOpen())) {
    assert.ok(performance.now() - begun < 5000, 'the other gateway was not told');
    await delay(5);
  }
  assert.match((await ask(other)).text, /overloaded/);
  assert.equal(calls(), 2);
});

test('a gateway that cannot look for revoked keys refuses requests, and continues when it can', async () => {
  await using own = await testDatabase();
  await using node = await startPostgresNode(own.url, { pollMs: 20, staleMs: 1000 });
  const fields = { workspace: 'default', name: 'test', scopes: ['*' as const] };
  const { secret } = await node.gateway.keys.create(fields, 'test');
  // This needs no database, except to look for changes.
  const ask = () => node.ask(secret, 'GET', '/v1/models');
  assert.equal((await ask()).status, 200);
  const name = new URL(own.url).pathname.slice(1);
  const allow = (allowed: boolean) =>
    database.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS ${allowed}`);
  await allow(false);
  await database.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
    [name],
  );
  await untilStatus(503, ask);
  await allow(true);
  await untilStatus(200, ask);
});

test('a gateway has one lease, one listener and one pool in its database', async () => {
  await using own = await testDatabase();
  const store = await postgresStore(own.url, { logger: silent, poolSize: 3 });
  await using node = await startPostgresNode(own.url, { store });
  const fields = { workspace: 'default', name: 'test', scopes: ['*' as const] };
  const { secret } = await node.gateway.keys.create(fields, 'test');
  const asked = Array.from({ length: 30 }, () => node.ask(secret, 'GET', '/a2a/model-cards'));
  for (const response of await Promise.all(asked)) assert.equal(response.status, 200);
  const nodes = await own.query('SELECT id FROM parley.nodes');
  assert.deepEqual(nodes, [{ id: store.cluster.node }]);
  const connections = await own.query(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  assert.ok(connections.length <= 3 + 1, `${connections.length} connections`);
});

test('a message for a task of the other gateway needs the same scope there, and its sender pays', async (t) => {
  await using own = await testDatabase();
  let ask = Promise.withResolvers<void>();
  const asker = createAgent({ name: 'Asker', description: 'Asks' }, async function* (ctx) {
    await ask.promise;
    yield (await ctx.ask('which?')).text;
  });
  const agent = await remote(t, asker);
  const seen: string[] = [];
  agent.server.prependListener('request', ({ headers }) => {
    seen.push(`${String(headers['x-user'])} ${String(headers['traceparent'])}`);
  });
  const config = { agents: { asker: { url: agent.url, forwardHeaders: ['x-user'] } } } as object;
  const options = { config, allowNetworks: ['127.0.0.0/8'] };
  const start = async () => {
    const store = await postgresStore(own.url, { logger: silent, secretKey: 'a'.repeat(43) });
    return { store, node: await startPostgresNode(own.url, { ...options, store }) };
  };
  const executing = await start();
  await using _executing = executing.node;
  const receiving = await start();
  await using _receiving = receiving.node;
  const { keys } = executing.node.gateway;
  const create = (name: string, scopes: Key['scopes']) =>
    keys.create({ workspace: 'default', name, scopes }, 'test');
  const starter = await create('starter', ['*']);
  const weak = await create('weak', ['tasks:read', 'tasks:write']);
  const sender = await create('sender', ['tasks:write', 'agents:use']);

  const send = async ({ url }: PostgresNode, { secret }: typeof weak, message: object) => {
    const parts = [{ kind: 'text', text: 'go' }];
    const whole = { kind: 'message', messageId: randomUUID(), role: 'user', parts, ...message };
    const isNew = !('taskId' in message);
    const params = {
      message: whole,
      ...(isNew && { metadata: { agent: 'asker' }, configuration: { blocking: false } }),
    };
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'x-user': isNew ? 'starter' : 'sender',
        traceparent: `00-${'a'.repeat(32)}-${(isNew ? '1' : '2').repeat(16)}-01`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }),
    });
    return Object(await response.json()) as { result?: Task; error?: { message: string } };
  };
  const scope = { tenant: '', owner: 'default' };
  /** Waits until the task has the state. Fails if the task has ended, so that the test never waits in vain. */
  const reaches = async (id: string, state: TaskState) => {
    for (;;) {
      const found = (await executing.store.head(scope, id))?.status.state;
      if (found === state) return;
      assert.ok(found && !isTerminal(found), `${id} is ${found} instead of ${state}`);
      await delay(5);
    }
  };
  /** Sends a message to a task that asks right after the receiving gateway has found it working at the other one. */
  const answer = async (key: typeof weak) => {
    ask = Promise.withResolvers();
    const started = await send(executing.node, starter, {});
    assert.ok(started.result, JSON.stringify(started));
    const taskId = started.result.id;
    await reaches(taskId, 'working');
    const { store } = receiving;
    const head = store.head.bind(store);
    store.head = async (...task) => {
      store.head = head;
      const found = await head(...task);
      ask.resolve();
      await reaches(taskId, 'input-required');
      return found;
    };
    return send(receiving.node, key, { taskId });
  };

  const refused = await answer(weak);
  assert.match(refused.error?.message ?? JSON.stringify(refused), /agents:use/);
  const before = seen.length;
  const done = await answer(sender);
  assert.equal(done.result?.status.state, 'completed', JSON.stringify(done));
  assert.ok(
    seen.slice(before).some((each) => /^sender 00-a{32}-/.test(each)),
    seen.join('\n'),
  );
  const usage = await executing.node.ask(starter.secret, 'GET', '/a2a/usage?by=key');
  const { items } = (await usage.json()) as { items: { keyId: string; calls: number }[] };
  const calls = new Map(items.map(({ keyId, calls: count }) => [keyId, count]));
  assert.equal(calls.get(sender.key.id), 1, JSON.stringify(items));
});

test('a gateway that stops hands its tasks over although it still settles its budgets', async () => {
  await using own = await testDatabase();
  const store = await postgresStore(own.url, { logger: silent });
  const node = await startPostgresNode(own.url, { store });
  const { node: id } = store.cluster;
  await own.query(
    `INSERT INTO parley.tasks (task_id, scope, context_id, state, seq, status_seq, changed, created_at, bytes, counted,
       node) VALUES ('t', 1, 'c', 'working', 1, 1, 1, 1, 1, 1, $1)`,
    [id],
  );
  const [nodesBefore] = await own.query('SELECT count(*) AS n FROM parley.nodes');
  assert.equal(Number(nodesBefore?.['n']), 1);
  await node[Symbol.asyncDispose]();
  assert.deepEqual(await own.query('SELECT node FROM parley.tasks'), [{ node: '' }]);
  assert.deepEqual(await own.query('SELECT id FROM parley.nodes'), []);
});
