import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { TaskEvent } from '../protocol/index.ts';
import { sqliteStore } from './sqlite.ts';

const scope = { tenant: '', owner: 'alice' };

test('the reads of a turn share a transaction, which ends before a write and with the turn', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-reads-'));
  const path = join(folder, 'tasks.db');
  const store = sqliteStore(path);
  const other = new DatabaseSync(path);
  t.after(() => {
    other.close();
    store.close();
    rmSync(folder, { recursive: true });
  });
  const append = (taskId: string) => {
    const event: TaskEvent = {
      kind: 'task',
      id: taskId,
      contextId: 'c',
      status: { state: 'submitted' },
    };
    const entries = [{ seq: 1, event }];
    const messageIds = [`message of ${taskId}`];
    store.append([{ ...scope, taskId, contextId: 'c', expected: 0, entries, messageIds }]);
  };
  const find = (messageId: string) => store.findMessage(scope, messageId);
  append('one');
  const forget = () => other.exec(`DELETE FROM messages WHERE message_id = 'message of one'`);
  const stored = () => other.prepare('SELECT count(*) AS n FROM tasks').get()?.['n'];

  assert.equal(find('message of one'), 'one');
  forget();
  assert.equal(find('message of one'), 'one', 'the same transaction');
  append('two');
  assert.equal(stored(), 2, 'a write is not part of the transaction');
  assert.equal(find('message of two'), 'two');
  assert.equal(find('message of one'), undefined);

  await new Promise((resolve) => setImmediate(resolve));
  const truncated = other.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  assert.equal(truncated?.['busy'], 0, 'the transaction has ended');
});
