import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sqliteStore } from '../../store/index.ts';
import { storeChecks } from './store-checks.ts';

const DAY = 86_400_000;

test('the size, the number of tasks and what the retention removes are shown, also while a server runs', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-store-checks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clock = { now: Date.now() - 40 * DAY };
  const store = sqliteStore(join(folder, 'echo.db'), { now: () => clock.now });
  t.after(() => store.close());
  const add = (taskId: string, state: 'completed' | 'input-required') => {
    const event = { kind: 'task', id: taskId, contextId: 'c', status: { state } } as const;
    const scope = { tenant: '', owner: '' };
    store.append([{ ...scope, taskId, contextId: 'c', expected: 0, entries: [{ seq: 1, event }] }]);
  };
  add('t1', 'completed');
  add('t2', 'input-required');
  clock.now += 40 * DAY;
  add('t3', 'completed');
  const [check] = storeChecks(folder, undefined);
  assert.equal(check?.status, 'ok');
  assert.match(
    check.message,
    /echo\.db: 0\.\d MB, 3 tasks; a server will remove 1 task that ended more than 30 days ago$/,
  );
  assert.match(storeChecks(folder, 'off')[0]?.message ?? '', /the retention removes nothing now$/);
  assert.match(
    storeChecks(folder, '60d,0.01MB')[0]?.message ?? '',
    /a server will remove the oldest tasks, about 0\.\d MB$/,
  );
});

test('dead letters are mentioned, with the command that lists them', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-store-checks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = sqliteStore(join(folder, 'echo.db'));
  t.after(() => store.close());
  const event = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' } } as const;
  const scope = { tenant: '', owner: '', taskId: 't', contextId: 'c' };
  store.append([{ ...scope, expected: 0, entries: [{ seq: 1, event }] }]);
  const progress = { cursor: 1, attempts: 0 };
  const config = { id: 'h', url: 'https://hook.example/' };
  store.savePush({ taskId: 't', config, version: '1.0', progress });
  const deadLetter = { taskId: 't', configId: 'h', seq: 1, reason: 'x', attempts: 6, at: 1 };
  store.savePushProgress([{ taskId: 't', configId: 'h', progress, deadLetter }]);
  assert.match(
    storeChecks(folder, undefined)[0]?.message ?? '',
    /; 1 dead letter, see parley push list --store .*echo\.db$/,
  );
});

test('a damaged store is a problem, and another file is not a store', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-store-checks-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'bad.db'), 'SQLite format 3\0'.padEnd(4096, 'x'));
  writeFileSync(join(folder, 'notes.txt'), '');
  const [check, ...others] = storeChecks(folder, undefined);
  assert.deepEqual(others, []);
  assert.equal(check?.status, 'broken');
  assert.match(check.message, /bad\.db/);
});
