import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JsonValue } from '../../base/index.ts';
import { test, type TestContext } from 'node:test';
import { createEvent, type Event } from '../event.ts';
import type { SessionStore } from '../session.ts';
import { sqliteArtifacts, sqliteSessions, StorageError, type StorageErrorCode } from './index.ts';

const key = { app: 'app', user: 'alice', id: 's1' };

function newPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-agent-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'new', 'agent.db');
}

function opened(
  t: TestContext,
  path: string,
  options?: Parameters<typeof sqliteSessions>[1],
): SessionStore {
  const store = sqliteSessions(path, options);
  t.after(() => store.close());
  return store;
}

function event(stateDelta: Record<string, JsonValue>): Event {
  return createEvent({ runId: 'run', author: 'agent' }, { actions: { stateDelta } });
}

/** One line, and the code. */
function refused(code: StorageErrorCode, words: RegExp): (error: unknown) => boolean {
  return (error) =>
    error instanceof StorageError &&
    error.code === code &&
    words.test(error.message) &&
    !error.message.includes('\n');
}

/** Changes the file behind the store's back. */
function withDatabase(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

test('what was stored is there after the file is opened again', async (t) => {
  const path = newPath(t);
  const first = sqliteSessions(path);
  await first.open(key, { city: 'Rome' });
  const stored = event({ n: 1, 'user:name': 'Alice', 'app:motto': null });
  await first.append(key, [stored]);
  const before = await first.get(key);
  await first.close();
  const again = await opened(t, path).get(key);
  assert.deepEqual(again, before);
  assert.deepEqual(again?.events, [stored]);
});

test('sessions and artifacts may be in one file', async (t) => {
  const path = newPath(t);
  const sessions = opened(t, path);
  const artifacts = sqliteArtifacts(path);
  t.after(() => artifacts.close());
  await sessions.open(key);
  await artifacts.save(key, 'plan', { kind: 'text', text: 'words' });
  await sessions.append(key, [event({ n: 1 })]);
  assert.deepEqual(await artifacts.list(key), ['plan']);
});

test('two stores on one file see each other', async (t) => {
  const path = newPath(t);
  const [one, two] = [opened(t, path), opened(t, path)];
  await one.open(key);
  await two.append(key, [event({ n: 1 })]);
  await one.append(key, [event({ n: 2 })]);
  const session = await two.get(key);
  assert.deepEqual(session?.state, { n: 2 });
  assert.equal(session.events.length, 2);
});

test('the file is for its owner only, and so is the folder that was made for it', async (t) => {
  const path = newPath(t);
  opened(t, path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
});

test('closing leaves one file, with nothing waiting beside it', async (t) => {
  const path = newPath(t);
  const store = sqliteSessions(path);
  await store.open(key);
  await store.close();
  assert.equal(statSync(`${path}-wal`, { throwIfNoEntry: false }), undefined);
});

test('a file of a newer Parley is refused and left as it is', async (t) => {
  const path = newPath(t);
  await sqliteSessions(path).close();
  withDatabase(path, 'PRAGMA user_version = 99');
  assert.throws(() => sqliteSessions(path), refused('unusable', /newer Parley.*99.*upgrade/));
  assert.throws(() => sqliteArtifacts(path), refused('unusable', /newer Parley.*99.*upgrade/));
});

test("another program's database is refused", async (t) => {
  const path = newPath(t);
  mkdirSync(join(path, '..'));
  withDatabase(path, 'CREATE TABLE theirs (x)');
  assert.throws(() => sqliteSessions(path), refused('unusable', /another program/));
});

test('a file that is no database is refused', async (t) => {
  const path = newPath(t);
  mkdirSync(join(path, '..'));
  writeFileSync(path, 'words, words, words\n'.repeat(100));
  assert.throws(() => sqliteSessions(path), refused('unusable', /not a database/));
});

test('a folder is refused', async (t) => {
  const path = newPath(t);
  mkdirSync(path, { recursive: true });
  assert.throws(() => sqliteSessions(path), refused('unusable', /is a folder/));
});

test('a folder that cannot be made is refused', () => {
  const path = '/proc/nowhere/agent.db';
  assert.throws(() => sqliteSessions(path), refused('unusable', /cannot open/));
});

test('an event that cannot be read is named, and its session can be deleted', async (t) => {
  const path = newPath(t);
  const store = opened(t, path);
  await store.open(key);
  await store.append(key, [event({ n: 1 })]);
  withDatabase(path, `UPDATE events SET json = '{"id":'`);
  await assert.rejects(store.get(key), refused('corrupt', /an event of session s1/));
  await assert.rejects(store.open(key), refused('corrupt', /an event of session s1/));
  assert.equal(await store.delete(key), true);
  assert.deepEqual((await store.open(key)).events, []);
});

test('an artifact that cannot be read is named', async (t) => {
  const path = newPath(t);
  const store = sqliteArtifacts(path);
  t.after(() => store.close());
  await store.save(key, 'plan', { kind: 'text', text: 'words' });
  withDatabase(path, `UPDATE artifacts SET json = 'x'`);
  await assert.rejects(store.load(key, 'plan'), refused('corrupt', /the artifact plan/));
});

test('when the disk is full nothing of the append is stored, and a smaller one goes on', async (t) => {
  const store = opened(t, newPath(t), { maxPages: 40 });
  await store.open(key);
  const batch = [event({ first: 1, 'user:first': 1 }), event({ big: 'x'.repeat(300_000) })];
  await assert.rejects(store.append(key, batch), refused('full', /no room/));
  const session = await store.get(key);
  assert.deepEqual([session?.events, session?.state], [[], {}]);
  await store.append(key, [event({ small: 1 })]);
  assert.deepEqual((await store.get(key))?.state, { small: 1 });
});

test('while another process holds the file, a write gives up in time and can be repeated', async (t) => {
  const path = newPath(t);
  const store = opened(t, path, { busyTimeout: 20 });
  await store.open(key);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const waiting = event({ n: 1 });
  await assert.rejects(store.append(key, [waiting]), refused('busy', /another process/));
  assert.equal((await store.get(key))?.events.length, 0);
  other.exec('ROLLBACK');
  await store.append(key, [waiting]);
  assert.equal((await store.get(key))?.events.length, 1);
});
