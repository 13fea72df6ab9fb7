import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  agentSays,
  alice,
  artifact,
  bob,
  creation,
  update,
  webhook,
} from '../../../test/contract/task-store/events.ts';
import { testDatabase } from '../../../test/support/postgres.ts';
import type { Scope, TaskStore } from '../../tasks/index.ts';
import { sqliteStore } from '../sqlite.ts';
import { importSqlite } from './import-sqlite.ts';
import { postgresStore } from './postgres-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-import-'));
const database = await testDatabase();
test.after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const secretKey = 'b'.repeat(43);
const file = join(folder, 'tasks.db');
const LAST = 249;

/** Everything that a client or an operator can see. */
async function contents(store: TaskStore) {
  const all = async (scope: Scope) => store.list({ ...scope, limit: 1000 });
  const heads = [...(await all(alice)).heads, ...(await all(bob)).heads];
  return {
    // Only PostgreSQL lists the time of the last artifact.
    heads: heads.map((head) => ({ ...head, artifactAt: undefined })),
    totals: [(await all(alice)).total, (await all(bob)).total],
    context: (await store.list({ ...alice, contextId: 'c1', limit: 1 })).total,
    logs: await Promise.all(heads.map(async ({ taskId }) => store.read(taskId, 0, 10_000))),
    messages: [await store.findMessage(alice, 'm1'), await store.findMessage(alice, 'm \0')],
    push: await store.listPush('t1'),
    due: (await store.duePush({ limit: 10 })).map(({ taskId, dueAt }) => [taskId, dueAt]),
    letters: await store.deadLetters({ ...alice, limit: 10 }),
    expired: (await store.expired(100, 10)).map(({ taskId }) => taskId),
    unfinished: (await store.unfinished()).map(({ taskId }) => taskId).toSorted(),
  };
}

test('an import that is interrupted continues, and then everything is in the database', async () => {
  // The order of lists does not depend on the clock, which is set back all the time here.
  let time = Date.now();
  const now = () => time--;
  const source = sqliteStore(file, { secretKeyFile: join(folder, 'key'), logger, now });
  source.append([
    { ...creation('t1'), messageIds: ['m1', 'm \0', 'm1'], expiresAt: 50 },
    update('t1', 1, 'working', agentSays('on it \0')),
    artifact('t1', 2),
    { ...creation('id \0 \ud800', bob) },
  ]);
  for (let n = 0; n <= LAST; n++)
    source.append([creation(`n${n}`), update(`n${n}`, 1, 'completed')]);
  for (let n = 0; n < 3000; n++) source.append([artifact('t1', n + 3)]);
  const record = webhook('t1', 'w1');
  source.savePush({ ...record, config: { ...record.config, token: 'very-secret' } });
  const letter = { taskId: 't1', configId: 'w1', seq: 1, reason: 'gone', attempts: 9, at: 7 };
  const progress = { cursor: 1, attempts: 0, dueAt: 5 };
  source.savePushProgress([{ taskId: 't1', configId: 'w1', progress, deadLetter: letter }]);
  const before = await contents(source);
  const { next } = source.list({ ...alice, limit: 1 });
  source.close();

  const options = { from: { secretKeyFile: join(folder, 'key') }, to: { secretKey }, logger };
  const interrupted = new AbortController();
  const first = importSqlite(file, database.url, {
    ...options,
    signal: interrupted.signal,
    onProgress: () => interrupted.abort(),
  });
  await assert.rejects(first, { name: 'AbortError' });
  const counts: number[] = [];
  const onProgress = (tasks: number) => void counts.push(tasks);
  const total = LAST + 3;
  assert.equal(await importSqlite(file, database.url, { ...options, onProgress }), total);
  assert.equal(counts[0], total, 'the first group was not copied again');
  assert.equal(await importSqlite(file, database.url, options), total, 'a third time does nothing');

  const store = await postgresStore(database.url, { secretKey, logger });
  assert.deepEqual(await contents(store), before);
  const page = await store.list({ ...alice, limit: 1, cursor: next });
  assert.equal(page.heads[0]?.taskId, before.heads[1]?.taskId, 'page tokens stay valid');
  assert.deepEqual(await store.append([update('t1', 3003, 'completed')]), ['ok']);
  await store.close();
});

test('another file is not imported into a database that has tasks', async () => {
  const other = join(folder, 'other.db');
  sqliteStore(other, { secretKey, logger }).close();
  const options = { from: { secretKey }, to: { secretKey }, logger };
  await assert.rejects(
    importSqlite(other, database.url, options),
    /tasks that are not from this file/,
  );
  await using used = await testDatabase();
  const store = await postgresStore(used.url, { logger });
  await store.append([creation('t1')]);
  await store.close();
  await assert.rejects(importSqlite(other, used.url, options), /tasks that are not from this file/);
});
