import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { STORE } from './migrations.ts';
import { migrate } from '../base/sqlite/index.ts';
import { sqliteStore } from './sqlite.ts';
import { prepareStatements } from './statements.ts';

const alice = { tenant: '', owner: 'alice' };

test('a store of the first schema keeps its tasks, which do not expire until an expiry is set', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-migrations-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'tasks.db');
  const event = (taskId: string, state: string) =>
    JSON.stringify({ kind: 'task', id: taskId, contextId: 'c', status: { state } });
  const old = new DatabaseSync(path);
  migrate(old, STORE, 1);
  old.exec(`
    INSERT INTO scopes VALUES (1, '', 'alice');
    INSERT INTO tasks VALUES (1, 't1', 1, 'c', 'working', 1, 1024, 1), (2, 't2', 1, 'c', 'completed', 1, 2048, 2);
    INSERT INTO events VALUES (1, 1, 1, '["m1"]', '${event('t1', 'working')}'),
      (2, 2, 1, NULL, '${event('t2', 'completed')}');
    INSERT INTO messages VALUES (1, 'm1', 1);
    INSERT INTO counters VALUES (1, 'working', 1), (1, 'completed', 1);
  `);
  old.close();

  const store = sqliteStore(path);
  t.after(() => store.close());
  const { heads, total } = store.list({ ...alice, contextId: 'c', limit: 10 });
  assert.deepEqual(
    heads.map(({ taskId }) => taskId),
    ['t2', 't1'],
  );
  assert.equal(total, 2);
  assert.equal(store.findMessage(alice, 'm1'), 't1');
  assert.deepEqual(store.expired(Number.MAX_SAFE_INTEGER, 10), []);
  store.setExpiry(alice, 't1', 5);
  assert.equal(store.expired(5, 10)[0]?.taskId, 't1');
});

test('a store whose index of finished tasks has the old condition keeps these tasks for retention', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-migrations-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'tasks.db');
  const old = new DatabaseSync(path);
  migrate(old, STORE, 6);
  const states = ['completed', 'working', 'canceled', 'failed', 'input-required', 'rejected'];
  for (const [at, state] of states.entries()) {
    old
      .prepare('INSERT INTO tasks VALUES (?, ?, 1, ?, ?, 1, ?, 1, NULL)')
      .run(at + 1, `t${at + 1}`, 'c', state, (at + 1) * 1024);
  }
  old.exec("INSERT INTO scopes VALUES (1, '', 'alice')");
  old.close();

  const store = sqliteStore(path);
  t.after(() => store.close());
  assert.deepEqual(
    (await store.retention.finished({ limit: 10 })).map(({ taskId }) => taskId),
    ['t1', 't3', 't4', 't6'],
  );
});

test('storing a task and its events builds no temporary table', () => {
  const db = new DatabaseSync(':memory:');
  migrate(db, STORE);
  const { addTask, setStatus, addEvent, addMessage, count } = prepareStatements(db);
  for (const { sourceSQL } of [addTask, setStatus, addEvent, addMessage, count]) {
    const steps = db.prepare(`EXPLAIN ${sourceSQL}`).all();
    const temporary = steps.filter(({ opcode }) => opcode === 'OpenEphemeral');
    assert.equal(temporary.length, 0, sourceSQL);
  }
  db.close();
});
