import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { StoreError } from '../../store/index.ts';
import { openStore, storeLocation, storeProblem } from './store-location.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'parley-location-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const log = { debug() {}, info() {}, warn() {}, error() {}, async flush() {} };

function open(file: string) {
  return openStore({ kind: 'sqlite', file, durability: 'normal' }, {}, log);
}

test('a file is given with sqlite: or as a plain path', async () => {
  for (const [store, file] of [
    ['sqlite:tasks', 'tasks'],
    ['tasks.db', 'tasks.db'],
    ['./tasks', './tasks'],
    ['/data/tasks', '/data/tasks'],
    [String.raw`C:\data\tasks.sqlite3`, String.raw`C:\data\tasks.sqlite3`],
  ] as const) {
    const location = storeLocation({ store }, {}, 'echo');
    assert.deepEqual(location, { kind: 'sqlite', file, durability: 'normal' });
  }
  for (const store of ['paper', 'http://x.org/tasks.db', 'sqlite:', '']) {
    assert.throws(
      () => storeLocation({ store }, {}, 'echo'),
      /use memory, sqlite:PATH or postgres:/,
    );
  }
});

test('a database is given with its URL, and the password is not in the error if it is unavailable', async () => {
  for (const url of ['postgres://u:secret@127.0.0.1:1/tasks', 'postgresql://127.0.0.1:1/tasks']) {
    const location = storeLocation({ store: url }, {}, 'echo');
    assert.deepEqual(location, { kind: 'postgres', url });
    await assert.rejects(openStore(location, {}, log), (error: Error) => {
      assert.match(
        error.message,
        /cannot reach the database 127\.0\.0\.1:1\/tasks: .*ECONNREFUSED/,
      );
      assert.doesNotMatch(error.message, /secret|--store/);
      return error.name === 'ExitError';
    });
  }
});

test('the password of a URL is not in the error if the scheme is wrong', async () => {
  for (const store of ['POSTGRES://u:secret@h/x', 'mysql://u:secret@h/x']) {
    assert.throws(
      () => storeLocation({ store }, {}, 'echo'),
      (error: Error) => {
        assert.match(error.message, /^--store \w+:…: use memory/);
        return !error.message.includes('secret');
      },
    );
  }
});

test('a store that another process holds: stop that process', async () => {
  const file = path.join(folder, 'held.db');
  const store = await open(file);
  await assert.rejects(open(file), {
    name: 'ExitError',
    message: /held\.db is in use by another process: stop that process, or use --store memory/,
  });
  await store.close();
});

test('the path of a store does not decide what to do', async () => {
  const file = path.join(folder, 'the one in use now.db');
  mkdirSync(file);
  await assert.rejects(open(file), {
    message: /is a folder, not a database \(use the path of a file\): use --store memory/,
  });
});

test('a register that another process holds: its own hint', () => {
  const busy = new StoreError('r.db is in use by another process', {
    code: 'busy',
    hint: 'try again',
  });
  assert.equal(
    storeProblem(busy).message,
    'r.db is in use by another process (try again): use --store memory or --store sqlite:PATH',
  );
});

test('the lease is for PostgreSQL, and has limits', async () => {
  const store = 'postgres://127.0.0.1:1/tasks';
  assert.deepEqual(storeLocation({ store, lease: '30' }, {}, 'echo'), {
    kind: 'postgres',
    url: store,
    leaseMs: 30_000,
  });
  for (const lease of ['0', '3601', 'ten']) {
    assert.throws(() => storeLocation({ store, lease }, {}, 'echo'), /--lease .*from 1 to 3600/);
  }
  for (const other of ['memory', 'sqlite:x.db', undefined]) {
    assert.throws(() => storeLocation({ store: other, lease: '5' }, {}, 'echo'), /--lease is only/);
  }
});
