/** `parley db`. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { creation, update } from '../contract/task-store/events.ts';
import { testDatabase } from '../support/postgres.ts';
import { assertRefused, folder, parley } from './support.ts';

test('an operator creates the tables, imports a SQLite file and looks at the result', async () => {
  await using database = await testDatabase();
  const { url } = database;
  const empty = await parley(['db', 'status', url]);
  assert.equal(empty.code, 1);
  assert.match(empty.out, /^tasks +version 0, this program has \d+ +run parley db migrate$/m);

  const migrated = await parley(['db', 'migrate', url]);
  assert.deepEqual([migrated.code, migrated.err], [0, '']);
  assert.match(migrated.out, /^tasks: version 0 → \d+$/m);
  assert.match((await parley(['db', 'migrate', url])).out, /up to date/);

  const file = path.join(folder, 'import.db');
  const store = sqliteStore(file);
  store.append([creation('t1'), update('t1', 1, 'completed'), creation('t2')]);
  store.close();
  const sessions = sqliteSessions(`${file}.sessions`);
  await sessions.open({ app: 'app', user: 'ann', id: 'one' });
  await sessions.close();
  const imported = await parley(['db', 'import', url, `sqlite:${file}`, '--json']);
  assert.deepEqual(
    [imported.err, imported.out, imported.code],
    ['', '{"tasks":2,"sessions":1}\n', 0],
  );

  const full = await parley(['db', 'status', url]);
  assert.equal(full.code, 0);
  assert.match(full.out, /^Tasks: 1 completed, 1 submitted$/m);

  const checked = await parley(['doctor', '--json', '--store', url]);
  assert.match(
    checked.out,
    /"name":"postgres","status":"ok","message":"PostgreSQL [^"]*2 tasks; 0 nodes/,
  );
  const letters = await parley(['push', 'list', '--store', url]);
  assert.deepEqual([letters.code, letters.out], [0, '']);

  const again = await parley(['db', 'import', url, `sqlite:${file}`]);
  assert.deepEqual([again.code, again.err], [0, '']);
  assert.match(again.out, /^The tasks were already imported\. The database has all 2 tasks/m);
  const changed = sqliteStore(file);
  changed.append([creation('t3')]);
  changed.close();
  const refused = await parley(['db', 'import', url, `sqlite:${file}`]);
  assertRefused(refused, 1, /was already imported into the database .*, and has changed since/);
});

test('a wrong action, a wrong URL and an unavailable database are one line', async () => {
  assertRefused(
    await parley(['db', 'drop', 'postgres://localhost/x']),
    2,
    /use parley db migrate, status/,
  );
  const other = await parley(['db', 'status', 'mysql://u:secret@localhost/x']);
  assertRefused(other, 2, /needs the URL of a PostgreSQL database, such as postgres:/);
  assert.doesNotMatch(other.err, /secret/);
  assertRefused(
    await parley(['db', 'import', 'postgres://localhost/x']),
    2,
    /needs the SQLite file/,
  );
  const away = await parley(['db', 'status', 'postgres://u:secret@127.0.0.1:1/x']);
  assert.equal(away.code, 1);
  assert.match(
    away.err,
    /^parley: [^\n]*cannot reach the database 127\.0\.0\.1:1\/x: [^\n]*ECONNREFUSED[^\n]*\n$/,
  );
  assert.doesNotMatch(away.err, /secret/);
});
