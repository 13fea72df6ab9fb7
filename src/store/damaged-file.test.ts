import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Append } from '../tasks/index.ts';
import { sqliteStore } from './sqlite.ts';

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const SCOPE = { tenant: '', owner: 'ann' };

function newFile(t: TestContext): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-damaged-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return path.join(folder, 'tasks.db');
}

function open(t: TestContext, file: string, maxPages?: number) {
  const store = sqliteStore(file, { logger, maxPages });
  t.after(() => store.close());
  return store;
}

function newTask(id: string, text = ''): Append {
  const status = { state: 'completed' as const, timestamp: new Date().toISOString() };
  const event = { kind: 'task' as const, id, contextId: id, status, metadata: { text } };
  return { ...SCOPE, taskId: id, contextId: id, expected: 0, entries: [{ seq: 1, event }] };
}

for (const [what, harm, reason] of [
  ['deleted', (file: string) => rmSync(file), /was deleted/],
  [
    'replaced',
    (file: string) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
    /was replaced/,
  ],
] as const) {
  test(`a store whose file was ${what} acknowledges no more writes`, async (t) => {
    const file = newFile(t);
    const store = open(t, file);
    store.append([newTask('a')]);
    store.probe();
    harm(file);
    assert.throws(() => store.probe(), { name: 'StoreError', message: reason });
    assert.throws(() => store.append([newTask('b')]), { name: 'StoreError', message: reason });
    // What was read before can still be read.
    assert.equal(store.head(SCOPE, 'a')?.taskId, 'a');
  });
}

test('a write soon after the file was deleted is refused without a probe', async (t) => {
  const file = newFile(t);
  const store = open(t, file);
  store.append([newTask('t')]);
  rmSync(file);
  const deadline = performance.now() + 5000;
  let refused = 0;
  for (let n = 0; refused === 0 && performance.now() < deadline; n++) {
    try {
      store.append([newTask(`t${n}`)]);
    } catch {
      refused++;
    }
    await new Promise(setImmediate);
  }
  assert.equal(refused, 1);
});

test('a damaged file is not ready, and the error says which file it is', (t) => {
  const file = newFile(t);
  const first = sqliteStore(file, { logger });
  first.append([newTask('a')]);
  first.close();
  const store = open(t, file);
  store.probe();
  writeFileSync(file, Buffer.alloc(statSync(file).size, 'garbage '), { flag: 'r+' });
  assert.throws(() => store.probe(), { name: 'StoreError', message: new RegExp(file) });
});

test('a store without room for more is not ready, until there is room again', (t) => {
  const file = newFile(t);
  const store = open(t, file, 60);
  store.probe();
  const fill = () => {
    for (let n = 0; n < 1000; n++) store.append([newTask(`t${n}`, 'x'.repeat(10_000))]);
  };
  assert.throws(fill, { code: 'full' });
  assert.throws(() => store.probe(), { code: 'full' });
  for (let n = 0; n < 10; n++) store.delete(SCOPE, `t${n}`);
  store.probe();
});

test('a file that is cut short gives an error, and does not end the process', (t) => {
  const file = newFile(t);
  const first = sqliteStore(file, { logger });
  for (let n = 0; n < 200; n++) first.append([newTask(`t${n}`, 'x'.repeat(10_000))]);
  first.close();
  const store = open(t, file);
  store.head(SCOPE, 't0');
  truncateSync(file, 4096);
  assert.throws(() => {
    for (let n = 0; n < 200; n++) store.read(`t${n}`, 0, 10);
  });
  assert.throws(() => store.probe(), { name: 'StoreError' });
});

test('a pipe is refused as a store, and the process does not wait for it', (t) => {
  const file = newFile(t);
  execFileSync('mkfifo', [file]);
  assert.throws(() => sqliteStore(file, { logger }), {
    name: 'StoreError',
    message: /is a pipe or a device, not a database/,
  });
});
