import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { StoreError } from '../../base/sqlite/index.ts';
import { createSpending } from '../budgets/spending.ts';
import { USUAL_DIMENSIONS } from '../budgets/usage.ts';
import { AGENTS_SCHEMA } from './agent-tables.ts';
import { CARDS_SCHEMA } from './card-tables.ts';
import { KEYS_SCHEMA } from './key-tables.ts';
import type { Steps } from './register.ts';
import { openRegister } from './sqlite-register.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-register-'));
after(() => rmSync(folder, { recursive: true, force: true }));
function* nothing(): Steps<void> {}
const silent = { debug() {}, info() {}, warn() {}, error() {} };

test('a register that another process holds causes an error after the busy timeout', () => {
  const file = path.join(folder, 'held.db');
  const register = openRegister(file, silent, { busyMs: 50 });
  using other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  const since = performance.now();
  const failure = (error: unknown) => error instanceof A2AError && error.kind === 'unavailable';
  assert.throws(() => register.transaction(nothing), failure);
  assert.ok(performance.now() - since < 1000);
  other.exec('ROLLBACK');
  register.transaction(nothing);
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

test('a read-only file is refused when it is opened, not at the first write', (t) => {
  const place = mkdtempSync(path.join(tmpdir(), 'parley-register-'));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  const file = path.join(place, 'read-only.db');
  openRegister(file, silent).close();
  chmodSync(place, 0o777);
  chmodSync(file, 0o444);
  // Root may write to any file, so another user opens it. The program is loaded before, because this user may not be
  // allowed to read it.
  const script = `
    import { openRegister } from ${JSON.stringify(import.meta.resolve('./sqlite-register.ts'))};
    if (process.getuid?.() === 0) process.setuid(65_534);
    try {
      openRegister(${JSON.stringify(file)}, console).close();
      console.log('opened');
    } catch (error) {
      console.log(error.name + ': ' + error.message);
    }`;
  const options = { cwd: place, encoding: 'utf8' } as const;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
  assert.match(
    child.stdout,
    /^StoreError: cannot open .*read-only\.db: .*permission/i,
    child.stderr,
  );
});

test('a mode that cannot be changed is a StoreError, and the database is closed', (t) => {
  const close = t.mock.method(DatabaseSync.prototype, 'close');
  t.mock.method(fs, 'chmodSync', () => {
    throw Object.assign(new Error('EPERM: operation not permitted'), { syscall: 'chmod' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  assert.throws(() => openRegister(path.join(folder, 'mode.db'), silent), StoreError);
  assert.equal(close.mock.callCount(), 1);
});

test('the spending in a register of the first version counts for budgets', async () => {
  const file = path.join(folder, 'first.db');
  {
    using db = new DatabaseSync(file);
    db.exec([KEYS_SCHEMA, CARDS_SCHEMA, AGENTS_SCHEMA].join('\n'));
    db.exec(`
      PRAGMA application_id = 1349676103; PRAGMA user_version = 1;
      INSERT INTO api_keys (id, workspace, name, scopes, budget, created_at)
        VALUES ('k', 'default', 'old', '["*"]', '{"tokens":100,"period":"total"}', 1);
      INSERT INTO spending VALUES ('default', 'k', '2026-01-01', 'm', 'USD', 2, 30, 40, 5);`);
  }
  const register = openRegister(file, silent);
  const spending = createSpending({ register, logger: silent });
  assert.equal((await spending.budgetStatus('k'))?.spent.tokens, 70);
  const call = { caller: { workspace: 'default', keyId: 'k' }, prompt: () => 10 };
  assert.equal((await spending.reserve(call)).maxOutputTokens, 20);
  const row = { day: '2026-01-01', keyId: 'k', keyName: 'old', model: 'm', calls: 2, failures: 0 };
  const range = { from: '2026-01-01', to: '2026-12-31', limit: 10, offset: 0 };
  const { rows } = await spending.usage('default', { by: USUAL_DIMENSIONS, ...range });
  assert.partialDeepStrictEqual(rows, [{ ...row, inputTokens: 30 }]);
  register.close();
});
