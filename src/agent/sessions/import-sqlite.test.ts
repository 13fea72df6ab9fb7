import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/postgres.ts';
import { postgresArtifacts } from '../artifacts/postgres.ts';
import { sqliteArtifacts } from '../artifacts/sqlite.ts';
import type { Event } from '../event.ts';
import { importSessions } from './import-sqlite.ts';
import { postgresSessions } from './postgres.ts';
import { sqliteSessions } from './sqlite.ts';

function event(id: string, stateDelta: Record<string, string> = {}): Event {
  const actions = { stateDelta };
  return { id, runId: 'run', author: 'user', timestamp: 1, actions };
}

test('the sessions of a SQLite file are the same in PostgreSQL, with their state and artifacts', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-sessions-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agent.sessions');
  const source = sqliteSessions(file);
  const files = sqliteArtifacts(file);
  const keys = ['one', 'two', 'three'].map((id) => ({ app: 'app', user: 'ann', id }));
  for (const key of keys) await source.open(key, { colour: key.id, 'user:name': 'Ann' });
  await source.append(keys[0]!, [event('a', { 'app:mode': 'x' }), event('b', { colour: 'red' })]);
  await files.save(keys[1]!, 'note', { kind: 'text', text: 'hello' });
  await files.save(keys[1]!, 'user:note', { kind: 'text', text: 'mine' });
  const expected = await Promise.all(keys.map((key) => source.get(key)));
  const list = (await source.list({ app: 'app', user: 'ann' })).map(({ id }) => id);
  await source.close();
  await files.close();

  await using database = await testDatabase();
  assert.equal(await importSessions(file, database.url), 3);
  // After an interruption, the import is repeated.
  assert.equal(await importSessions(file, database.url), 3);
  const target = await postgresSessions(database.url, { poolSize: 1 });
  assert.deepEqual(await Promise.all(keys.map((key) => target.get(key))), expected);
  assert.deepEqual(
    (await target.list({ app: 'app', user: 'ann' })).map(({ id }) => id),
    list,
  );
  await target.append(keys[0]!, [event('c')]);
  assert.equal((await target.get(keys[0]!))?.events.length, 3);
  await target.close();
  const artifacts = await postgresArtifacts(database.url, { poolSize: 1 });
  assert.deepEqual(await artifacts.list(keys[1]!), ['note', 'user:note']);
  assert.deepEqual(await artifacts.load(keys[1]!, 'note'), { kind: 'text', text: 'hello' });
  await artifacts.close();
});

test('imported sessions are listed in the order of their changes, even if the clock was set back', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-sessions-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'agent.sessions');
  let time = Date.now();
  const source = sqliteSessions(file, { now: () => time-- });
  const keys = ['ann', 'bob'].flatMap((user) =>
    ['one', 'two', 'three'].map((id) => ({ app: 'app', user, id })),
  );
  for (const key of keys) await source.open(key);
  await source.append(keys[0]!, [event('a')]);
  await source.close();

  await using database = await testDatabase();
  await importSessions(file, database.url);
  const target = await postgresSessions(database.url, { poolSize: 1 });
  const list = async (user: string) =>
    (await target.list({ app: 'app', user })).map(({ id }) => id);
  assert.deepEqual(await list('ann'), ['one', 'three', 'two']);
  assert.deepEqual(await list('bob'), ['three', 'two', 'one']);
  await target.close();
});
