import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createHealth, storeCheck } from '../../http/index.ts';
import { memoryStore } from '../../tasks/store/memory-store.ts';
import { openRegister } from './sqlite-register.ts';

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };

test('with a store and a register that can be written it is ready', async () => {
  const register = openRegister(undefined, logger);
  const store = memoryStore();
  const checks = { store: storeCheck(store), register: () => register.check() };
  const health = createHealth({ checks, logger, freshMs: 0 });
  assert.deepEqual(await health.readiness(), {
    status: 'ready',
    checks: { store: 'ok', register: 'ok' },
  });
  register.close();
  assert.deepEqual(await health.readiness(), {
    status: 'failing',
    checks: { store: 'ok', register: 'failed' },
  });
});

test('a register that takes no writes is not ready until it takes them again', async () => {
  const register = openRegister(undefined, logger);
  const checks = { register: () => register.check() };
  const health = createHealth({ checks, logger, freshMs: 0 });
  register.db.exec(`
    CREATE TRIGGER full BEFORE UPDATE ON key_salt BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
  assert.equal((await health.readiness()).status, 'failing');
  register.db.exec('DROP TRIGGER full');
  assert.equal((await health.readiness()).status, 'ready');
  register.close();
});

test('a register whose file was taken away is not ready', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-health-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'register.db');
  const register = openRegister(file, logger);
  t.after(() => register.close());
  const checks = { register: () => register.check() };
  const health = createHealth({ checks, logger, freshMs: 0 });
  assert.equal((await health.readiness()).status, 'ready');
  renameSync(file, `${file}.old`);
  assert.equal((await health.readiness()).status, 'failing');
  copyFileSync(`${file}.old`, file);
  assert.equal((await health.readiness()).status, 'failing');
});
