/**
 * Nodes behind a real pooler: PgBouncer in transaction mode, if it is on this machine. It supports neither LISTEN nor
 * session locks, and before version 1.21 no prepared statements.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { createAgent } from '../../src/tasks/index.ts';
import { startPostgresNode } from '../support/postgres-gateway.ts';
import { within } from '../support/within.ts';
import { postgresStore } from '../../src/store/postgres/postgres-store.ts';
import { all, begin, clusterDatabase, says, silent, startNode, textOfTask } from './nodes.ts';

const PROGRAM = 'pgbouncer';
const NOBODY = 65_534;

function isInstalled(): boolean {
  try {
    execFileSync(PROGRAM, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** Starts a pooler in front of the database. Returns the database's URL through it. */
async function startPooler(url: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-pooler-'));
  const port = await freePort();
  const { hostname, port: database, username, password, pathname } = new URL(url);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${database} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 200
`,
  );
  const isRoot = process.getuid?.() === 0;
  chmodSync(folder, 0o755);
  if (isRoot) for (const each of [folder, file]) chownSync(each, NOBODY, NOBODY);
  const child = spawn(PROGRAM, ['--quiet', file], {
    stdio: 'ignore',
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  });
  after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const pooled = `postgres://${username}@127.0.0.1:${port}${pathname}`;
  for (let tries = 0; ; tries++) {
    const client = new pg.Client(pooled);
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return pooled;
    } catch (error) {
      if (tries === 100) throw error;
      await setTimeout(50);
    }
  }
}

const skip = isInstalled() ? false : 'PgBouncer is not on this machine';
const database = await clusterDatabase();
after(() => database.drop());
const pooled = skip === false ? await startPooler(database.url) : '';

test('behind a pooler in transaction mode, nodes work without hints', { skip }, async (t) => {
  const finish = Promise.withResolvers<void>();
  const agent = createAgent({ name: 'Waiting', description: 'Waits' }, async function* (ctx) {
    yield `${ctx.text} `;
    if (ctx.text !== 'echo') await finish.promise;
    yield 'end';
  });
  const a = await startNode(t, pooled, agent);
  const b = await startNode(t, pooled, agent);
  const { id } = await begin(a.handler, 'go');
  const whole = all(await b.handler.subscribe({ id }));
  // More statements at a time than the pooler has connections.
  const echoes = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      (n % 2 === 0 ? a : b).handler.sendMessage({ message: says('echo') }),
    ),
  );
  for (const task of echoes) {
    assert.ok(task.kind === 'task');
    assert.equal(textOfTask(task), 'echo end');
  }
  finish.resolve();
  const last = (await within('the end of the stream', whole)).at(-1)?.event;
  assert.ok(last?.kind === 'status-update' && last.status.state === 'completed');
  assert.equal(textOfTask(await b.handler.getTask({ id })), 'go end');
  assert.equal((await b.handler.listTasks({ pageSize: 5 })).totalSize, 31);
  assert.deepEqual(
    [a, b].map(({ store }) => store.cluster.stats().listens),
    [false, false],
  );
});

test(
  'behind a pooler, a task is canceled by another node, and one of a node that is gone is taken over',
  { skip },
  async (t) => {
    const agent = createAgent(
      { name: 'Steps', description: 'Waits', resumes: true },
      async function* (ctx) {
        yield 'started';
        await new Promise<void>((resolve) => {
          ctx.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      },
    );
    const a = await startNode(t, pooled, agent, { cluster: { leaseMs: 1000 } });
    const b = await startNode(t, pooled, agent, { cluster: { leaseMs: 1000 } });
    const first = await begin(a.handler, 'go');
    const canceled = await within('the cancellation', b.handler.cancelTask({ id: first.id }));
    assert.equal(canceled.status.state, 'canceled');
    const second = await begin(a.handler, 'go');
    await database.query('DELETE FROM parley.nodes WHERE id = $1', [a.id]);
    const owner = async () =>
      (await database.query('SELECT node FROM parley.tasks WHERE task_id = $1', [second.id]))[0]?.[
        'node'
      ];
    const nodes = () => [a.id, b.id];
    const before = a.id;
    while ((await owner()) === before || !nodes().includes(String(await owner()))) {
      await setTimeout(20);
    }
    const ended = await within('the cancellation', b.handler.cancelTask({ id: second.id }));
    assert.equal(ended.status.state, 'canceled');
  },
);

test('behind a pooler, gateways share keys', { skip }, async () => {
  const start = async () => {
    const store = await postgresStore(pooled, { logger: silent, poolSize: 4 });
    return startPostgresNode(pooled, { store, pollMs: 50 });
  };
  await using one = await start();
  await using other = await start();
  const fields = { workspace: 'default', name: 'test', scopes: ['*' as const] };
  const { secret } = await one.gateway.keys.create(fields, 'test');
  const asked = async () => (await other.ask(secret, 'GET', '/a2a/model-cards?q=word')).status;
  const since = performance.now();
  while ((await asked()) !== 200) {
    assert.ok(performance.now() - since < 10_000, 'the key does not work at the other gateway');
    await setTimeout(20);
  }
});
