import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/postgres.ts';
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
