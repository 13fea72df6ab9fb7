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
import { deepFreeze } from './freeze.ts';
import { Database, type SqliteOptions } from './database.ts';
import {
  checkSize,
  MAX_KEPT,
  MAX_KEPT_SIZE,
  MAX_SESSION_SIZE,
  keyText,
  pageLimit,
  prepareEvents,
  pruneAll,
  type Owner,
  type SessionPage,
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

/**
 * Opens a session store in a file, and creates the file if it does not exist. Throws a StorageError if the file cannot
 * be used. The file may also contain artifacts.
 *
 *   const sessions = sqliteSessions('/var/lib/parley/agent.db');
 */
export function sqliteSessions(path: string, options: SqliteSessionsOptions = {}): SessionStore {
  return new SqliteSessions(new Database(path, options), options);
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

class SqliteSessions implements SessionStore {
  readonly #db: Database;
  /** The cached sessions, in the order in which they were last read. */
  readonly #kept = new BoundedMap<Kept>(MAX_KEPT);
  readonly #sql: ReturnType<typeof prepare>;
  readonly #maxSessionSize: number;
  readonly #now: () => number;

  constructor(db: Database, options: SqliteSessionsOptions) {
    this.#db = db;
    this.#sql = db.prepareAll(prepare);
    this.#maxSessionSize = options.maxSessionSize ?? MAX_SESSION_SIZE;
    this.#now = options.now ?? Date.now;
  }

  async open(key: SessionKey, state?: State): Promise<Session> {
    checkKey(key);
    // Usually the session exists, so a read is sufficient. A read does not wait for writers.
    const known = this.#db.read(() => this.#load(key));
    if (known) return known;
    return this.#db.write(() => {
      if (!this.#find(key)) {
        const now = this.#now();
        const { app, user, id } = key;
        this.#sql.insertSession.run(app, user, id, now, now, this.#nextChange(key));
        const made = this.#find(key);
        if (made) this.#setState(made, state);
      }
      const session = this.#load(key);
      if (!session) throw new SessionNotFound(key);
      return session;
    });
  }

  async get(key: SessionKey): Promise<Session | undefined> {
    checkKey(key);
    return this.#db.read(() => this.#load(key));
  }

  async append(key: SessionKey, events: readonly Event[]): Promise<number> {
    checkKey(key);
    const prepared = prepareEvents(events);
    return this.#db.write(() => {
      const session = this.#find(key);
      if (!session) throw new SessionNotFound(key);
      let { size } = session;
      let stored = 0;
      for (const { id, event, json } of prepared) {
        if (this.#sql.insertEvent.run(session.row, id, json).changes === 0) continue;
        stored++;
        size += json.length;
        this.#setState(session, event.actions.stateDelta);
      }
      if (stored === 0) return 0;
      checkSize(key, size, this.#maxSessionSize);
      this.#sql.touch.run(this.#now(), this.#nextChange(key), size, session.row);
      return stored;
    });
  }

  async list({ app, user }: Owner, page: SessionPage = {}): Promise<readonly SessionSummary[]> {
    checkOwner({ app, user });
    const limit = pageLimit(page.limit);
    return this.#db.read(() => {
      let before = Number.MAX_SAFE_INTEGER;
      if (page.before !== undefined) {
        const key = { app, user, id: page.before };
        const last = this.#find(key);
        if (!last) throw new SessionNotFound(key);
        before = last.changed;
      }
      return this.#sql.page.all(app, user, before, limit).map((row) => rowOf(row).summary);
    });
  }

  async delete(key: SessionKey): Promise<boolean> {
    checkKey(key);
    return this.#db.write(() => {
      const session = this.#find(key);
      if (session) this.#remove(session);
      return session !== undefined;
    });
  }

  prune(app: string, before: number): Promise<number> {
    return pruneAll((limit) =>
      this.#db.write(() => {
        const old = this.#sql.old.all(app, before, limit);
        for (const row of old) this.#remove(rowOf(row));
        return old.length;
      }),
    );
  }

  async close(): Promise<void> {
    this.#db.close();
  }

  #remove({ row, summary: { app, user } }: SessionRow): void {
    this.#sql.deleteEvents.run(row);
    this.#sql.deleteState.run(app, user, row);
    this.#sql.deleteSession.run(row);
  }

  #find(key: SessionKey): SessionRow | undefined {
    const found = this.#sql.find.get(key.app, key.user, key.id);
    return found && rowOf(found);
  }

  #load(key: SessionKey): Session | undefined {
    const session = this.#find(key);
    if (!session) return undefined;
    const events = this.#eventsOf(session);
    const what = `the state of session ${key.id}`;
    const state = new Map<string, JsonValue>();
    for (const [user, row] of [
      ['', 0],
      [key.user, 0],
      [key.user, session.row],
    ] as const) {
      for (const { key: name, json } of this.#sql.state.iterate(key.app, user, row)) {
        state.set(fromJson(what, String(name)), fromJson(what, String(json)));
      }
    }
    return { ...session.summary, state: Object.fromEntries(state), events };
  }

  #eventsOf(session: SessionRow): readonly Event[] {
    const { row, summary } = session;
    const name = keyText(summary);
    const before = this.#kept.get(name);
    this.#kept.delete(name);
    const isSame = before?.row === row && before.createdAt === summary.createdAt;
    let kept = isSame ? this.#readOn(session, before) : undefined;
    // The cache is outdated if the session was deleted and created again.
    if (kept?.size !== session.size) kept = this.#readOn(session);
    if (kept.size <= MAX_KEPT_SIZE) this.#kept.set(name, kept);
    return kept.events;
  }

  #readOn({ row, summary }: SessionRow, from?: Kept): Kept {
    const { id: session, createdAt } = summary;
    const fresh: Event[] = [];
    let { last, size } = from ?? { last: 0, size: 0 };
    for (const { id, json } of this.#sql.events.iterate(row, last)) {
      const text = String(json);
      fresh.push(deepFreeze(fromJson(`an event of session ${session}`, text)));
      last = Number(id);
      size += text.length;
    }
    if (from && fresh.length === 0) return from;
    const events = Object.freeze(from ? [...from.events, ...fresh] : fresh);
    return { row, createdAt, events, last, size };
  }

  #setState({ row, summary: { app, user } }: SessionRow, delta: State | undefined): void {
    for (const [scope, key, value] of storedChanges(delta)) {
      const place = [
        app,
        scope === 'app' ? '' : user,
        scope === 'session' ? row : 0,
        JSON.stringify(key),
      ];
      if (value === null) this.#sql.removeKey.run(...place);
      else this.#sql.setKey.run(...place, toJson('state', value));
    }
  }

  #nextChange({ app, user }: SessionKey): number {
    return Number(this.#sql.lastChange.get(app, user)?.changed ?? 0) + 1;
  }
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
