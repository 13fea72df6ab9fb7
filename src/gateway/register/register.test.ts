import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { StoreError } from '../../base/sqlite/index.ts';
import { openRegister } from './register.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-register-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a register that another process holds causes an error after the busy timeout', () => {
  const file = path.join(folder, 'held.db');
  const register = openRegister(file, silent, { busyMs: 50 });
  using other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const since = performance.now();
  const failure = (error: unknown) => error instanceof A2AError && error.kind === 'unavailable';
  assert.throws(() => register.transaction(() => {}), failure);
  assert.ok(performance.now() - since < 1000);
  other.exec('ROLLBACK');
  register.transaction(() => {});
  register.close();
});

test('the error about a damaged register says to restore it', () => {
  const file = path.join(folder, 'damaged.db');
  writeFileSync(file, 'A'.repeat(8192));
  assert.throws(
    () => openRegister(file, silent),
    (error: unknown) => error instanceof StoreError && /backup/.test(error.hint ?? ''),
  );
});

test("another program's database is refused, by its name, and left alone", () => {
  const file = path.join(folder, 'theirs.db');
  const theirs = new DatabaseSync(file);
  theirs.exec('CREATE TABLE notes (text TEXT)');
  theirs.close();
  chmodSync(file, 0o644);
  const before = readFileSync(file);
  assert.throws(() => openRegister(file, silent), /theirs\.db is a database of another program/);
  assert.deepEqual(readFileSync(file), before);
  assert.equal(statSync(file).mode & 0o777, 0o644);
});

test('a register of a newer Parley is refused and left as it is', () => {
  const file = path.join(folder, 'newer.db');
  const register = openRegister(file, silent);
  register.db.exec('PRAGMA user_version = 99');
  register.close();
  assert.throws(() => openRegister(file, silent), /newer\.db was written by a newer Parley \(.*99/);
});
