import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creation, update } from '../../../test/contract/task-store/events.ts';
import { testDatabase } from '../../../test/support/postgres.ts';
import { inspectPostgres, postgresDeadLetters } from './inspect-postgres.ts';
import { postgresStore } from './postgres-store.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('an operator sees the size, the nodes, and the dead letters of all users', async () => {
  await using database = await testDatabase();
  await assert.rejects(inspectPostgres(database.url, 0), /missing or of an older version/);
  const store = await postgresStore(database.url, { logger: silent, poolSize: 2 });
  const first = creation('t1');
  await store.append([first, update('t1', 1, 'completed'), creation('t2')]);
  const letter = {
    taskId: 't1',
    configId: 'hook',
    seq: 1,
    // PostgreSQL cannot store NUL as it is.
    reason: 'status 500 \0',
    attempts: 3,
    at: 5,
  };
  await store.savePush({
    taskId: 't1',
    version: '1.0',
    config: { id: 'hook', url: 'https://hooks.example/' },
    progress: { cursor: 0, attempts: 0 },
  });
  const progress = { cursor: 1, attempts: 0 };
  await store.savePushProgress([{ taskId: 't1', configId: 'hook', progress, deadLetter: letter }]);
  const report = await inspectPostgres(database.url, Date.now() + 1000);
  assert.deepEqual([report.tasks, report.old, report.nodes, report.orphans], [2, 1, 0, 0]);
  assert.equal(report.deadLetters, 1);
  assert.doesNotMatch(report.name, /postgres:postgres/);
  const { tenant, owner } = first;
  assert.deepEqual(await postgresDeadLetters(database.url, 10), [{ ...letter, tenant, owner }]);
  await store.close();
});
