/**
 * Keeps sessions in a SQLite file, which several processes may share.
 *
 * An append is one transaction: it adds the events, changes the state, and updates the session's row. If it fails,
 * for example because the disk is full, nothing is stored, and a later append may succeed.
 *
 * Events never change, so the events of recently read sessions are cached. When a session is read again, only newer
 * events are loaded, including those of other processes.
 */
import { BoundedMap, type JsonValue } from '../../base/index.ts';
import type { Event } from '../event.ts';
import {
  SessionNotFound,
  type Session,
  type SessionKey,
  type SessionStore,
  type SessionSummary,
  type State,
} from '../session.ts';
import { Database, type SqliteOptions } from './database.ts';
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
} from './prepare.ts';
import { storedChanges } from './state.ts';
import { checkKey, checkOwner, fromJson, toJson } from '../storage-error.ts';

/** The options of `sqliteSessions`. */
export interface SqliteSessionsOptions extends SqliteOptions {
  /**
   * Maximum size of the events of one session, in characters of JSON. Appends that would exceed it are refused.
   * Default: 64 Mi.
   */
  readonly maxSessionSize?: number;
}

/** The row of a session. */
export interface SessionRow {
  readonly row: number;
  readonly summary: SessionSummary;
  readonly changed: number;
  readonly size: number;
}

/** The cached events of a session. */
interface Kept {
  readonly row: number;
  readonly createdAt: number;
  /** The events, deeply frozen. */
  readonly events: readonly Event[];
  /** The row id of the last event. */
  readonly last: number;
  readonly size: number;
}

/**
 * Opens a session store in a file, and creates the file if it does not exist. Throws a StorageError if the file cannot
 * be used. The file may also contain artifacts.
 *
 *   const sessions = sqliteSessions('/var/lib/parley/agent.db');
 */
export function sqliteSessions(path: string, options: SqliteSessionsOptions = {}): SessionStore {
  const { maxSessionSize = MAX_SESSION_SIZE, now = Date.now } = options;
  const db = new Database(path, options);
  const sql = db.prepareAll(prepare);
  /** The cached sessions, in the order in which they were last read. */
  const kept = new BoundedMap<Kept>(MAX_KEPT);

  function remove({ row, summary: { app, user } }: SessionRow): void {
    sql.deleteEvents.run(row);
    sql.deleteState.run(app, user, row);
    sql.deleteSession.run(row);
  }

  function find(key: SessionKey): SessionRow | undefined {
    const found = sql.find.get(key.app, key.user, key.id);
    return found && rowOf(found);
  }

  function load(key: SessionKey): Session | undefined {
    const session = find(key);
    if (!session) return undefined;
    const events = eventsOf(session);
    const what = `the state of session ${key.id}`;
    const state = new Map<string, JsonValue>();
    for (const [user, row] of [
      ['', 0],
      [key.user, 0],
      [key.user, session.row],
    ] as const) {
      for (const { key: name, json } of sql.state.iterate(key.app, user, row)) {
        state.set(fromJson(what, String(name)), fromJson(what, String(json)));
      }
    }
    return { ...session.summary, state: Object.fromEntries(state), events };
  }

  function eventsOf(session: SessionRow): readonly Event[] {
    const { row, summary } = session;
    const name = keyText(summary);
    const before = kept.get(name);
    kept.delete(name);
    const isSame = before?.row === row && before.createdAt === summary.createdAt;
    let latest = isSame ? readOn(session, before) : undefined;
    // The cache is outdated if the session was deleted and created again.
    if (latest?.size !== session.size) latest = readOn(session);
    if (latest.size <= MAX_KEPT_SIZE) kept.set(name, latest);
    return latest.events;
  }

  function readOn({ row, summary }: SessionRow, from?: Kept): Kept {
    const { id: session, createdAt } = summary;
    const fresh: Event[] = [];
    let { last, size } = from ?? { last: 0, size: 0 };
    for (const { id, json } of sql.events.iterate(row, last)) {
      const text = String(json);
      fresh.push(deepFreeze(fromJson(`an event of session ${session}`, text)));
      last = Number(id);
      size += text.length;
    }
    if (from && fresh.length === 0) return from;
    const events = Object.freeze(from ? [...from.events, ...fresh] : fresh);
    return { row, createdAt, events, last, size };
  }

  function setState({ row, summary: { app, user } }: SessionRow, delta: State | undefined): void {
    for (const [scope, key, value] of storedChanges(delta)) {
      const place = [
        app,
        scope === 'app' ? '' : user,
        scope === 'session' ? row : 0,
        JSON.stringify(key),
      ];
      if (value === null) sql.removeKey.run(...place);
      else sql.setKey.run(...place, toJson('state', value));
    }
  }

  function nextChange({ app, user }: SessionKey): number {
    return Number(sql.lastChange.get(app, user)?.changed ?? 0) + 1;
  }

  return {
    async open(key, state) {
      checkKey(key);
      // Usually the session exists, so a read is sufficient. A read does not wait for writers.
      const known = db.read(() => load(key));
      if (known) return known;
      return db.write(() => {
        if (!find(key)) {
          const time = now();
          const { app, user, id } = key;
          sql.insertSession.run(app, user, id, time, time, nextChange(key));
          const made = find(key);
          if (made) setState(made, state);
        }
        const session = load(key);
        if (!session) throw new SessionNotFound(key);
        return session;
      });
    },
    async get(key) {
      checkKey(key);
      return db.read(() => load(key));
    },
    async append(key, events) {
      checkKey(key);
      const prepared = prepareEvents(events);
      return db.write(() => {
        const session = find(key);
        if (!session) throw new SessionNotFound(key);
        let { size } = session;
        let stored = 0;
        for (const { id, event, json } of prepared) {
          if (sql.insertEvent.run(session.row, id, json).changes === 0) continue;
          stored++;
          size += json.length;
          setState(session, event.actions.stateDelta);
        }
        if (stored === 0) return 0;
        checkSize(key, size, maxSessionSize);
        sql.touch.run(now(), nextChange(key), size, session.row);
        return stored;
      });
    },
    async list({ app, user }, page = {}) {
      checkOwner({ app, user });
      const limit = pageLimit(page.limit);
      return db.read(() => {
        let before = Number.MAX_SAFE_INTEGER;
        if (page.before !== undefined) {
          const key = { app, user, id: page.before };
          const last = find(key);
          if (!last) throw new SessionNotFound(key);
          before = last.changed;
        }
        return sql.page.all(app, user, before, limit).map((row) => rowOf(row).summary);
      });
    },
    async delete(key) {
      checkKey(key);
      return db.write(() => {
        const session = find(key);
        if (session) remove(session);
        return session !== undefined;
      });
    },
    prune(app, before) {
      return pruneAll((limit) =>
        db.write(() => {
          const old = sql.old.all(app, before, limit);
          for (const row of old) remove(rowOf(row));
          return old.length;
        }),
      );
    },
    async close() {
      db.close();
    },
  };
}

function prepare(db: Database) {
  return {
    find: db.prepare(`${SELECT} WHERE app = ? AND user = ? AND session_id = ?`),
    page: db.prepare(
      `${SELECT} WHERE app = ? AND user = ? AND changed < ? ORDER BY changed DESC LIMIT ?`,
    ),
    lastChange: db.prepare(
      'SELECT max(changed) AS changed FROM sessions WHERE app = ? AND user = ?',
    ),
    insertSession: db.prepare(
      `INSERT INTO sessions (app, user, session_id, created_at, updated_at, changed, size)
       VALUES (?, ?, ?, ?, ?, ?, 0)`,
    ),
    touch: db.prepare('UPDATE sessions SET updated_at = ?, changed = ?, size = ? WHERE id = ?'),
    old: db.prepare(`${SELECT} WHERE app = ? AND updated_at < ? LIMIT ?`),
    deleteSession: db.prepare('DELETE FROM sessions WHERE id = ?'),
    events: db.prepare('SELECT id, json FROM events WHERE session = ? AND id > ? ORDER BY id'),
    insertEvent: db.prepare(
      `INSERT INTO events (session, event_id, json) VALUES (?, ?, ?)
       ON CONFLICT (session, event_id) DO NOTHING`,
    ),
    deleteEvents: db.prepare('DELETE FROM events WHERE session = ?'),
    state: db.prepare('SELECT key, json FROM state WHERE app = ? AND user = ? AND session = ?'),
    setKey: db.prepare(
      `INSERT INTO state (app, user, session, key, json) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET json = excluded.json`,
    ),
    removeKey: db.prepare(
      'DELETE FROM state WHERE app = ? AND user = ? AND session = ? AND key = ?',
    ),
    deleteState: db.prepare('DELETE FROM state WHERE app = ? AND user = ? AND session = ?'),
  };
}

/** Selects the columns that `rowOf` reads. */
export const SELECT =
  'SELECT id, app, user, session_id, created_at, updated_at, changed, size FROM sessions';

export function rowOf(columns: Readonly<Record<string, unknown>>): SessionRow {
  return {
    row: Number(columns['id']),
    summary: {
      app: String(columns['app']),
      user: String(columns['user']),
      id: String(columns['session_id']),
      createdAt: Number(columns['created_at']),
      updatedAt: Number(columns['updated_at']),
    },
    changed: Number(columns['changed']),
    size: Number(columns['size']),
  };
}
