/**
 * Keeps sessions in PostgreSQL, which several processes may share.
 *
 * An append is one transaction: it adds the events, changes the state, and updates the session's row. If the connection
 * is lost, the append is sent again. Events have ids, so they are stored only once.
 *
 * Events never change, so the events of recently read sessions are cached. When a session is read again, only newer
 * events are loaded, including those of other processes.
 */
import { randomUUID } from 'node:crypto';
import { BoundedMap, Turns, type JsonValue } from '../../base/index.ts';
import { isDuplicate, type Executor, type Postgres } from '../../base/postgres/index.ts';
import type { Event } from '../event.ts';
import {
  SessionNotFound,
  type Session,
  type SessionKey,
  type SessionStore,
  type State,
} from '../session.ts';
import { checkKey, checkOwner, fromJson, toJson } from '../storage-error.ts';
import { keyOf, PostgresDatabase, type PostgresAgentOptions } from './postgres-database.ts';
import {
  checkSize,
  deepFreeze,
  MAX_KEPT,
  MAX_KEPT_SIZE,
  MAX_SESSION_SIZE,
  keyText,
  pageLimit,
  prepareEvents,
  pruneAll,
  type PreparedEvent,
} from './prepare.ts';
import { storedChanges } from './state.ts';

/** The options of `postgresSessions`. */
export interface PostgresSessionsOptions extends PostgresAgentOptions {
  /**
   * Maximum size of the events of one session, in characters of JSON. Appends that would exceed it are refused.
   * Default: 64 Mi.
   */
  readonly maxSessionSize?: number;
}

/** The cached events of a session. */
interface Kept {
  readonly row: number;
  /** The events, deeply frozen. */
  readonly events: readonly Event[];
  readonly size: number;
}

/** A row of `LOAD`. `kind` determines which of the other columns are used. */
type LoadRow = [
  kind: 'session' | 'event' | 'state',
  row: number,
  createdAt: number,
  updatedAt: number,
  key: string,
  json: string,
];

/** Reads the session, its events with a number above $4, and its state, in one snapshot. */
const LOAD = {
  name: 'parley.load_session',
  text: `
    WITH s AS MATERIALIZED (SELECT * FROM parley.sessions WHERE key = $1)
    SELECT 'session', id, created_at, updated_at, '', '' FROM s
    UNION ALL
    SELECT 'event', e.seq, 0, 0, '', e.json FROM s CROSS JOIN LATERAL
      (SELECT seq, json FROM parley.session_events WHERE session = s.id AND seq > $4 ORDER BY seq) e
    UNION ALL
    SELECT 'state', 0, 0, 0, t.key, t.json FROM s CROSS JOIN LATERAL
      (SELECT key, json FROM parley.session_state WHERE place IN ($1, $2, $3)) t`,
};

const PAGE = {
  name: 'parley.list_sessions',
  text: `SELECT session_id, created_at, updated_at FROM parley.sessions
         WHERE owner = $1 AND changed < $2 ORDER BY changed DESC LIMIT $3`,
};

const CHANGED = {
  name: 'parley.session_changed',
  text: 'SELECT changed FROM parley.sessions WHERE key = $1',
};

/** Adds a session, unless it exists. */
export const INSERT = `
  INSERT INTO parley.sessions (key, owner, app, session_id, created_at, updated_at, changed, seq, size)
  VALUES ($1, $2, $3, $4, $5, $6, nextval('parley.session_changes'), $7, $8)
  ON CONFLICT (key) DO NOTHING RETURNING id`;

/** Adds events that the session does not have yet. The session is locked, so the numbers of its events have no gaps. */
export const INSERT_EVENTS = `
  INSERT INTO parley.session_events (session, seq, event_id, batch, json)
  SELECT $1, $2 + row_number() OVER (ORDER BY e.n), e.id, $3, e.json
  FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS e (id, json, n)
  WHERE NOT EXISTS (SELECT FROM parley.session_events x WHERE x.session = $1 AND x.event_id = e.id)
  RETURNING event_id`;

const TOUCH = `
  UPDATE parley.sessions SET updated_at = $2, changed = nextval('parley.session_changes'), seq = seq + $3, size = $4
  WHERE id = $1`;

/**
 * Stores all events and state changes, if the session exists, has room, and has none of the events yet. Returns whether
 * they were stored.
 */
const APPEND = {
  name: 'parley.append_session',
  text: `
    WITH s AS MATERIALIZED (SELECT id, seq, size FROM parley.sessions WHERE key = $1 FOR UPDATE),
      ok AS MATERIALIZED (
        SELECT s.* FROM s WHERE s.size + $5::bigint <= $6 AND NOT EXISTS (
          SELECT FROM parley.session_events x WHERE x.session = s.id AND x.event_id = ANY ($3))),
      added AS (
        INSERT INTO parley.session_events (session, seq, event_id, batch, json)
        SELECT ok.id, ok.seq + e.n, e.id, $2, e.json
        FROM ok CROSS JOIN unnest($3::text[], $4::text[]) WITH ORDINALITY AS e (id, json, n)),
      kept AS (
        INSERT INTO parley.session_state (place, hash, key, json)
        SELECT c.place, c.hash, c.key, c.json FROM ok
        CROSS JOIN unnest($8::bytea[], $9::bytea[], $10::text[], $11::text[]) AS c (place, hash, key, json)
        WHERE c.json IS NOT NULL
        ON CONFLICT (place, hash) DO UPDATE SET json = excluded.json),
      removed AS (
        DELETE FROM parley.session_state t
        USING ok CROSS JOIN unnest($8::bytea[], $9::bytea[], $11::text[]) AS c (place, hash, json)
        WHERE c.json IS NULL AND t.place = c.place AND t.hash = c.hash),
      touched AS (
        UPDATE parley.sessions k SET updated_at = $7, changed = nextval('parley.session_changes'),
          seq = k.seq + cardinality($3), size = k.size + $5
        FROM ok WHERE k.id = ok.id AND cardinality($3) > 0)
    SELECT EXISTS (SELECT FROM ok)`,
};

const SET_KEY = `
  INSERT INTO parley.session_state (place, hash, key, json) VALUES ($1, $2, $3, $4)
  ON CONFLICT (place, hash) DO UPDATE SET json = excluded.json`;

const REMOVE_KEY = 'DELETE FROM parley.session_state WHERE place = $1 AND hash = $2';

const OLD = 'WHERE app = $1 AND updated_at < $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED';

/**
 * Opens a session store in the schema `parley` of a database, and creates its tables if needed. Throws a StorageError
 * if the database cannot be used.
 *
 *   const sessions = await postgresSessions('postgres://parley@localhost/parley');
 */
export async function postgresSessions(
  url: string,
  options: PostgresSessionsOptions = {},
): Promise<SessionStore> {
  const { maxSessionSize = MAX_SESSION_SIZE, now = Date.now } = options;
  const database = await PostgresDatabase.open(url, options);
  /** The cached sessions, in the order in which they were last read. */
  const cache = new BoundedMap<Kept>(MAX_KEPT);
  /** The writes of this store object to one session run in the order of their calls. */
  const order = new Turns();

  /**
   * Stores the events, in one round trip. Returns false and does nothing if the session does not exist, is full, or
   * already has one of the events.
   */
  async function appendAll(
    db: Postgres,
    key: SessionKey,
    events: readonly PreparedEvent[],
    batch: string,
  ): Promise<boolean> {
    const changes = stateChanges(key, deltasOf(events));
    try {
      const [row] = await db.run<[stored: boolean]>(APPEND, [
        rowKey(key),
        batch,
        events.map(({ id }) => id),
        events.map(({ json }) => json),
        sizeOf(events),
        maxSessionSize,
        now(),
        ...[0, 1, 2, 3].map((column) => changes.map((change) => change[column])),
      ]);
      return row?.[0] === true;
    } catch (error) {
      // Another process has stored one of the events at the same time.
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Stores the events that are not in the session yet. */
  async function appendNew(
    tx: Executor,
    key: SessionKey,
    events: readonly PreparedEvent[],
    batch: string,
    isRetry: boolean,
  ): Promise<number> {
    const [session] = await tx.query<{ id: number; seq: number; size: number }>(
      'SELECT id, seq, size FROM parley.sessions WHERE key = $1 FOR UPDATE',
      [rowKey(key)],
    );
    if (!session) throw new SessionNotFound(key);
    const inserted = await tx.query<{ event_id: string }>(INSERT_EVENTS, [
      session.id,
      session.seq,
      batch,
      events.map(({ id }) => id),
      events.map(({ json }) => json),
    ]);
    if (inserted.length === 0) return isRetry ? countBatch(tx, session.id, batch) : 0;
    const ids = new Set(inserted.map(({ event_id }) => event_id));
    const stored = events.filter(({ id }) => ids.has(id));
    const size = session.size + sizeOf(stored);
    checkSize(key, size, maxSessionSize);
    await setState(tx, key, deltasOf(stored));
    await tx.query(TOUCH, [session.id, now(), stored.length, size]);
    return stored.length;
  }

  /** Removes the sessions that `where` selects and locks. Returns their number. */
  function remove(where: string, values: unknown[]): Promise<number> {
    /** The sessions of the last attempt. */
    let tried: readonly number[] = [];
    return database.write((db, isRetry) =>
      db.transaction(async (tx) => {
        // The last attempt may have been committed although its connection was lost. FOR UPDATE waits until that
        // attempt has ended.
        if (isRetry && tried.length > 0) {
          const left = await tx.query(
            'SELECT FROM parley.sessions WHERE id = ANY ($1) FOR UPDATE',
            [tried],
          );
          if (left.length === 0) return tried.length;
        }
        const sessions = await tx.query<{ id: number; key: Uint8Array }>(
          `SELECT id, key FROM parley.sessions ${where}`,
          values,
        );
        if (sessions.length === 0) return 0;
        const ids = sessions.map(({ id }) => id);
        tried = ids;
        const keys = sessions.map(({ key }) => key);
        await tx.query('DELETE FROM parley.session_events WHERE session = ANY ($1)', [ids]);
        await tx.query('DELETE FROM parley.session_state WHERE place = ANY ($1)', [keys]);
        await tx.query('DELETE FROM parley.sessions WHERE id = ANY ($1)', [ids]);
        return sessions.length;
      }),
    );
  }

  async function load(key: SessionKey): Promise<Session | undefined> {
    const name = keyText(key);
    const kept = cache.get(name);
    const after = kept?.events.length ?? 0;
    const rows = await database.read((db) => db.run<LoadRow>(LOAD, [...placesOf(key), after]));
    const [session] = rows;
    if (session?.[0] !== 'session') return undefined;
    const [, row, createdAt, updatedAt] = session;
    if (kept && kept.row !== row) {
      // The session was deleted and created again.
      cache.delete(name);
      return load(key);
    }
    const state = new Map<string, JsonValue>();
    const fresh: Event[] = [];
    let size = kept?.size ?? 0;
    for (const [kind, , , , stateKey, json] of rows) {
      if (kind === 'event') {
        fresh.push(deepFreeze(fromJson(`an event of session ${key.id}`, json)));
        size += json.length;
      } else if (kind === 'state') {
        const what = `the state of session ${key.id}`;
        state.set(fromJson(what, stateKey), fromJson(what, json));
      }
    }
    const events = Object.freeze([...(kept?.events ?? []), ...fresh]);
    if (size > MAX_KEPT_SIZE) cache.delete(name);
    else if (!isNewer(cache.get(name), row, events)) cache.set(name, { row, events, size });
    const { app, user, id } = key;
    return { app, user, id, createdAt, updatedAt, state: Object.fromEntries(state), events };
  }

  return {
    async open(key, state) {
      checkKey(key);
      const known = await load(key);
      if (known) return known;
      await order.run(keyText(key), () =>
        database.write((db) =>
          db.transaction(async (tx) => {
            const { app, user, id } = key;
            const time = now();
            const values = [rowKey(key), keyOf('user', app, user), app, id, time, time, 0, 0];
            const [made] = await tx.query(INSERT, values);
            if (made) await setState(tx, key, [state]);
          }),
        ),
      );
      const session = await load(key);
      if (!session) throw new SessionNotFound(key);
      return session;
    },
    async get(key) {
      checkKey(key);
      return load(key);
    },
    async append(key, events) {
      checkKey(key);
      const prepared = prepareEvents(events);
      const batch = randomUUID();
      return order.run(keyText(key), () =>
        database.write(async (db, isRetry) => {
          if (!isRetry && (await appendAll(db, key, prepared, batch))) return prepared.length;
          return db.transaction((tx) => appendNew(tx, key, prepared, batch, isRetry));
        }),
      );
    },
    async list({ app, user }, page = {}) {
      checkOwner({ app, user });
      const limit = pageLimit(page.limit);
      return database.read(async (db) => {
        let before = Number.MAX_SAFE_INTEGER;
        if (page.before !== undefined) {
          const key = { app, user, id: page.before };
          const [last] = await db.run<[changed: number]>(CHANGED, [rowKey(key)]);
          if (!last) throw new SessionNotFound(key);
          before = last[0];
        }
        const values = [keyOf('user', app, user), before, limit];
        const rows = await db.run<[id: string, createdAt: number, updatedAt: number]>(PAGE, values);
        return rows.map(([id, createdAt, updatedAt]) => ({ app, user, id, createdAt, updatedAt }));
      });
    },
    async delete(key) {
      checkKey(key);
      const removeIt = () => remove('WHERE key = $1 FOR UPDATE', [rowKey(key)]);
      return (await order.run(keyText(key), removeIt)) > 0;
    },
    prune: (app, before) => pruneAll((limit) => remove(OLD, [app, before, limit])),
    close: () => database.close(),
  };
}

/** Returns whether a concurrent call has cached more events of the same session. */
function isNewer(kept: Kept | undefined, row: number, events: readonly Event[]): boolean {
  return kept?.row === row && kept.events.length > events.length;
}

/** Returns how many events an earlier attempt of the same append has stored. */
async function countBatch(tx: Executor, session: number, batch: string): Promise<number> {
  const [row] = await tx.query<{ n: number }>(
    'SELECT count(*) AS n FROM parley.session_events WHERE session = $1 AND batch = $2',
    [session, batch],
  );
  return row?.n ?? 0;
}

/**
 * A change of one key of the state: its place, its hash, its name as JSON, and its new value as JSON. The value is null
 * if the key is removed.
 */
type StateChange = readonly [place: Uint8Array, hash: Uint8Array, key: string, json: string | null];

/**
 * Returns the changes, sorted by key. Transactions that make the changes one by one in this order cannot deadlock.
 * `APPEND` sets keys and removes keys in two parts of a statement, so it can deadlock. After a deadlock, it is run
 * again.
 */
function stateChanges(key: SessionKey, deltas: readonly (State | undefined)[]): StateChange[] {
  const [session, user, app] = placesOf(key);
  const places = { session, user, app };
  const changes = new Map<string, StateChange>();
  for (const delta of deltas) {
    for (const [scope, name, value] of storedChanges(delta)) {
      const json = value === null ? null : toJson('state', value);
      changes.set(name, [places[scope], keyOf('state', name), JSON.stringify(name), json]);
    }
  }
  return [...changes].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
}

async function setState(
  tx: Executor,
  key: SessionKey,
  deltas: readonly (State | undefined)[],
): Promise<void> {
  for (const change of stateChanges(key, deltas)) {
    const [place, hash, , json] = change;
    if (json === null) await tx.query(REMOVE_KEY, [place, hash]);
    else await tx.query(SET_KEY, change);
  }
}

function deltasOf(events: readonly PreparedEvent[]): (State | undefined)[] {
  return events.map(({ event }) => event.actions.stateDelta);
}

function sizeOf(events: readonly PreparedEvent[]): number {
  return events.reduce((sum, { json }) => sum + json.length, 0);
}

function rowKey({ app, user, id }: SessionKey): Uint8Array {
  return keyOf('session', app, user, id);
}

/** Returns the places (column `place`) where the states of the session, the user and the app are stored. */
function placesOf(key: SessionKey): readonly [Uint8Array, Uint8Array, Uint8Array] {
  return [rowKey(key), keyOf('user', key.app, key.user), keyOf('app', key.app)];
}
