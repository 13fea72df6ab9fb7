/**
 * Copies the sessions and artifacts of a SQLite file to PostgreSQL. Each session is one transaction. A session that the
 * database has is not changed, so an import that was interrupted can be repeated.
 */
import { randomUUID } from 'node:crypto';
import type { Executor } from '../../base/postgres/index.ts';
import { Database } from './database.ts';
import { keyOf, PostgresDatabase } from './postgres-database.ts';

/** Maximum number of events in one statement. */
const EVENTS_AT_ONCE = 500;

interface SessionRow {
  readonly row: number;
  readonly app: string;
  readonly user: string;
  readonly id: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly size: number;
}

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
  // The order of the last changes, so that lists have the same order.
  const rows = source.prepare(
    `SELECT id, app, user, session_id, created_at, updated_at, size FROM sessions
     ORDER BY updated_at, changed, id`,
  );
  let copied = 0;
  for (const found of source.read(() => rows.all())) {
    const session: SessionRow = {
      row: Number(found['id']),
      app: String(found['app']),
      user: String(found['user']),
      id: String(found['session_id']),
      createdAt: Number(found['created_at']),
      updatedAt: Number(found['updated_at']),
      size: Number(found['size']),
    };
    await target.write((db) => db.transaction((tx) => copySession(source, tx, session)));
    copied++;
  }
  await target.write((db) => db.transaction((tx) => copyShared(source, tx)));
  return copied;
}

async function copySession(source: Database, tx: Executor, session: SessionRow): Promise<void> {
  const { row, app, user, id } = session;
  const key = keyOf('session', app, user, id);
  const events = source
    .read(() =>
      source.prepare('SELECT event_id, json FROM events WHERE session = ? ORDER BY id').all(row),
    )
    .map(({ event_id, json }) => ({ id: String(event_id), json: String(json) }));
  const [made] = await tx.query<{ id: number }>(
    `INSERT INTO parley.sessions (key, owner, app, session_id, created_at, updated_at, changed, seq, size)
     VALUES ($1, $2, $3, $4, $5, $6, nextval('parley.session_changes'), $7, $8)
     ON CONFLICT (key) DO NOTHING RETURNING id`,
    [
      key,
      keyOf('user', app, user),
      app,
      id,
      session.createdAt,
      session.updatedAt,
      events.length,
      session.size,
    ],
  );
  if (!made) return;
  const batch = randomUUID();
  for (let at = 0; at < events.length; at += EVENTS_AT_ONCE) {
    const part = events.slice(at, at + EVENTS_AT_ONCE);
    await tx.query(
      `INSERT INTO parley.session_events (session, seq, event_id, batch, json)
       SELECT $1, $2 + e.n, e.id, $3, e.json FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS e (id, json, n)`,
      [made.id, at, batch, part.map((event) => event.id), part.map(({ json }) => json)],
    );
  }
  const state = source.read(() =>
    source
      .prepare('SELECT key, json FROM state WHERE app = ? AND user = ? AND session = ?')
      .all(app, user, row),
  );
  for (const { key: name, json } of state) await setKey(tx, key, String(name), String(json));
}

/** Copies the state of users and apps, and the artifacts. */
async function copyShared(source: Database, tx: Executor): Promise<void> {
  const states = source.prepare('SELECT app, user, key, json FROM state WHERE session = 0');
  for (const row of source.read(() => states.all())) {
    const [app, user] = [String(row['app']), String(row['user'])];
    const place = user === '' ? keyOf('app', app) : keyOf('user', app, user);
    await setKey(tx, place, String(row['key']), String(row['json']));
  }
  const artifacts = source.prepare(
    'SELECT app, user, session_id, name, version, json FROM artifacts ORDER BY id',
  );
  for (const row of source.read(() => artifacts.all())) {
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
  // The key is JSON text.
  const hash = keyOf('state', String(JSON.parse(key)));
  await tx.query(
    `INSERT INTO parley.session_state (place, hash, key, json) VALUES ($1, $2, $3, $4)
     ON CONFLICT (place, hash) DO NOTHING`,
    [place, hash, key, json],
  );
}
