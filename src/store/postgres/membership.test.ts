import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { testDatabase } from '../../../test/support/postgres.ts';
import { within } from '../../../test/support/within.ts';
import { createAgent, createHandler } from '../../tasks/index.ts';
import { postgresStore } from './postgres-store.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const agent = createAgent({ name: 'Echo', description: 'Repeats' }, async function* ({ text }) {
  yield text;
});

test('a node that could not join joins at the next attempt, and leaves when it closes', async () => {
  await using database = await testDatabase();
  const handler = createHandler(agent, { store: await postgresStore(database.url), logger });
  const nodes = () => database.query('SELECT id FROM parley.nodes');
  // Without the first table, a node gets no lease. Without the second one, it cannot use its lease.
  for (const table of ['nodes', 'tasks']) {
    await database.query(`ALTER TABLE parley.${table} RENAME TO away`);
    await assert.rejects(handler.recover());
    await database.query(`ALTER TABLE parley.away RENAME TO ${table}`);
  }
  await database.query('DELETE FROM parley.nodes');
  await handler.recover();
  assert.equal((await nodes()).length, 1);
  await handler.close(0);
  assert.deepEqual(await nodes(), []);
});

test('of a node that cannot open a session again, only the lease counts', async (t) => {
  await using database = await testDatabase();
  const store = await postgresStore(database.url, { logger });
  const handler = createHandler(agent, { store, logger });
  await handler.recover();
  const becomes = async (locked: boolean) => {
    const rows = async () => database.query('SELECT FROM parley.nodes WHERE locked = $1', [locked]);
    while ((await rows()).length === 0) await setTimeout(20);
  };
  await within('the lock', becomes(true));
  const { node } = store.cluster;
  t.mock.method(store.database.db, 'session', () => Promise.reject(new Error('no connection')));
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  await within('the end of the lock', becomes(false));
  assert.equal(store.cluster.node, node);
  assert.equal(store.cluster.hasLease, true);
  await handler.close(0);
});
