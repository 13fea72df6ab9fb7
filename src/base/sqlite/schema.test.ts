import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { openDatabase } from './open-database.ts';
import { type Schema } from './schema.ts';

const OLD: Schema = { applicationId: 7, steps: ['CREATE TABLE a (x)', 'CREATE TABLE b (x)'] };
const NEW: Schema = { applicationId: 7, steps: [...OLD.steps, 'CREATE TABLE c (x)'] };

/** Opens a file with `OLD` while another process migrates it to `schema`, just before the transaction begins. */
function openDuring(t: TestContext, schema: Schema): { file: string; open: () => DatabaseSync } {
  const folder = mkdtempSync(join(tmpdir(), 'parley-schema-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'raced.db');
  const exec = t.mock.method(DatabaseSync.prototype, 'exec');
  // The first call sets pragmas.
  exec.mock.mockImplementationOnce(function (this: DatabaseSync, sql: string) {
    assert.equal(sql, 'BEGIN EXCLUSIVE');
    openDatabase(file, { schema, busyMs: 0 }).close();
    return this.exec(sql);
  }, 1);
  return { file, open: () => openDatabase(file, { schema: OLD, busyMs: 0 }) };
}

function versionOf(file: string): unknown {
  using db = new DatabaseSync(file);
  return db.prepare('PRAGMA user_version').get()?.['user_version'];
}

test('a database that another process migrates at the same time is opened', (t) => {
  const { file, open } = openDuring(t, OLD);
  open().close();
  assert.equal(versionOf(file), 2);
});

test('a database that a newer Parley migrates at the same time is refused and keeps its version', (t) => {
  const { file, open } = openDuring(t, NEW);
  assert.throws(open, /raced\.db was written by a newer Parley \(.*3, .*2\)/);
  assert.equal(versionOf(file), 3);
});
