/**
 * Copies the sessions, the state and the artifacts of a SQLite file to PostgreSQL. Each session is copied with its
 * state in one transaction. Sessions, values and artifacts that the database already has are not changed, so an import
 * that was interrupted can be repeated.
 */
import { randomUUID } from 'node:crypto';
import type { Executor } from '../../base/postgres/index.ts';
import { Database } from './database.ts';
import { INSERT, INSERT_EVENTS } from './postgres.ts';
import { keyOf, PostgresDatabase } from './postgres-database.ts';
import { rowOf, SELECT, type SessionRow } from './sqlite.ts';

/** Maximum number of events in one statement. */
const EVENTS_AT_ONCE = 500;

/** Copies the file. Returns the number of its sessions. Throws a StorageError if this is not possible. */
export async function importSessions(file: string, url: string): Promise<number> {
  const source = new Database(file);
  try {
    const target = await PostgresDatabase.open(url, { poolSize: 1 });
    try {
      return await copy(source, target);
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
}

async function copy(source: Database, target: PostgresDatabase): Promise<number> {
  // The sessions are copied in the order of their last changes, so that the list of each user has the same order. The
  // times of the changes do not show this order, because the clock may have been set back.
  const sessions = all(source, `${SELECT} ORDER BY changed, id`).map(rowOf);
  for (const session of sessions) {
    await target.write((db) => db.transaction((tx) => copySession(source, tx, session)));
  }
  await target.write((db) => db.transaction((tx) => copyShared(source, tx)));
  return sessions.length;
}

function all(source: Database, sql: string, ...values: (string | number)[]) {
  return source.read(() => source.prepare(sql).all(...values));
}

async function copySession(source: Database, tx: Executor, session: SessionRow): Promise<void> {
  const { row, summary, size } = session;
  const { app, user, id, createdAt, updatedAt } = summary;
  const key = keyOf('session', app, user, id);
  const events = all(
    source,
    'SELECT event_id, json FROM events WHERE session = ? ORDER BY id',
    row,
  ).map(({ event_id, json }) => ({ id: String(event_id), json: String(json) }));
  const owner = keyOf('user', app, user);
  const values = [key, owner, app, id, createdAt, updatedAt, events.length, size];
  const [made] = await tx.query<{ id: number }>(INSERT, values);
  if (!made) return;
  const batch = randomUUID();
  for (let at = 0; at < events.length; at += EVENTS_AT_ONCE) {
    const part = events.slice(at, at + EVENTS_AT_ONCE);
    const columns = [part.map((event) => event.id), part.map(({ json }) => json)];
    await tx.query(INSERT_EVENTS, [made.id, at, batch, ...columns]);
  }
  const sql = 'SELECT key, json FROM state WHERE app = ? AND user = ? AND session = ?';
  for (const { key: name, json } of all(source, sql, app, user, row)) {
    await setKey(tx, key, String(name), String(json));
  }
}

/** Copies the state of users and apps, and the artifacts. */
async function copyShared(source: Database, tx: Executor): Promise<void> {
  for (const row of all(source, 'SELECT app, user, key, json FROM state WHERE session = 0')) {
    const [app, user] = [String(row['app']), String(row['user'])];
    const place = user === '' ? keyOf('app', app) : keyOf('user', app, user);
    await setKey(tx, place, String(row['key']), String(row['json']));
  }
  for (const row of all(source, 'SELECT * FROM artifacts ORDER BY id')) {
    const [app, user] = [String(row['app']), String(row['user'])];
    const id = String(row['session_id']);
    const place = id === '' ? keyOf('user', app, user) : keyOf('session', app, user, id);
    await tx.query(
      `INSERT INTO parley.artifacts (place, name, version, json) VALUES ($1, $2, $3, $4)
       ON CONFLICT DO NOTHING`,
      [place, String(row['name']), Number(row['version']), String(row['json'])],
    );
  }
}

async function setKey(tx: Executor, place: Uint8Array, key: string, json: string): Promise<void> {
  // `key` is the name as JSON text, but `hash` is the hash of the name itself.
  const hash = keyOf('state', String(JSON.parse(key)));
  await tx.query(
    `INSERT INTO parley.session_state (place, hash, key, json) VALUES ($1, $2, $3, $4)
     ON CONFLICT (place, hash) DO NOTHING`,
    [place, hash, key, json],
  );
}
