/** The prepared statements of the SQLite store, and the types of their rows. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { TaskState } from '../protocol/index.ts';
import { ChangeClock } from '../tasks/index.ts';

/** Greater than every change number and every row number. */
export const END = Number.MAX_SAFE_INTEGER;

/** Returns the first change number at the time `updatedSince`, or 0 if the time is undefined. */
export function firstChange(updatedSince: number | undefined): number {
  return updatedSince === undefined ? 0 : Math.min(ChangeClock.first(updatedSince), END);
}

/** The columns of a task's head. `json` is the log entry with the task's status. */
export type HeadRow = [
  taskId: string,
  contextId: string,
  changed: number,
  createdAt: number,
  expiresAt: number | null,
  seq: number,
  json: string,
];

/** Returns the number of the task's last change. */
export function lastChangeOf([, , changed]: HeadRow): number {
  return changed;
}

/** The fields of a task that an append or a removal needs. */
type VersionRow = [id: number, scope: number, state: TaskState, statusSeq: number, seq: number];

export type StateCount = [state: TaskState, n: number];

/** A statement that returns rows as arrays, which Node creates twice as fast as objects. */
export class Query<Row extends unknown[]> {
  readonly #statement: StatementSync;

  constructor(db: DatabaseSync, sql: string) {
    this.#statement = db.prepare(sql);
    this.#statement.setReturnArrays(true);
  }

  get(...parameters: SQLInputValue[]): Row | undefined {
    return this.#statement.get(...parameters) as unknown as Row | undefined;
  }

  all(...parameters: SQLInputValue[]): Row[] {
    return this.#statement.all(...parameters) as unknown as Row[];
  }
}

const LAST_SEQ = '(SELECT max(seq) FROM events WHERE task = t.id)';
const HEAD = `t.task_id, t.context_id, t.changed, t.created_at, t.expires_at, ${LAST_SEQ}, e.json`;
const STATUS = 'CROSS JOIN events e ON e.task = t.id AND e.seq = t.status_seq';
/** The row id of a task, by its id. */
export const ROW_ID = '(SELECT id FROM tasks WHERE task_id = ?)';
/** The parameters are the scope, the state, the first change, and the first change after the range. */
const IN_STATE = 't.scope = ?1 AND t.state = ?2 AND t.changed >= ?3 AND t.changed < ?4';

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: DatabaseSync) {
  const command = (sql: string) => db.prepare(sql);
  const query = <Row extends unknown[]>(sql: string) => new Query<Row>(db, sql);
  return {
    begin: command('BEGIN IMMEDIATE'),
    commit: command('COMMIT'),
    rollback: command('ROLLBACK'),

    meta: query<[value: Uint8Array]>('SELECT value FROM meta WHERE key = ?'),
    findScope: query<[id: number]>('SELECT id FROM scopes WHERE tenant = ? AND owner = ?'),
    addScope: command('INSERT INTO scopes (tenant, owner) VALUES (?, ?)'),

    version: query<VersionRow>(
      `SELECT t.id, t.scope, t.state, t.status_seq, ${LAST_SEQ} FROM tasks t WHERE t.task_id = ?`,
    ),
    addTask: command(
      `INSERT INTO tasks
         (task_id, scope, context_id, state, status_seq, changed, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    setStatus: command('UPDATE tasks SET state = ?, status_seq = ?, changed = ? WHERE id = ?'),
    addEvent: command('INSERT INTO events (task, seq, accepts, json, at) VALUES (?, ?, ?, ?, ?)'),
    addMessage: command('INSERT OR IGNORE INTO messages VALUES (?, ?, ?)'),
    count: command(
      'INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n',
    ),

    head: query<HeadRow>(
      `SELECT ${HEAD} FROM tasks t ${STATUS} WHERE t.task_id = ? AND t.scope = ?`,
    ),
    read: query<[seq: number, json: string]>(
      `SELECT seq, json FROM events WHERE task = ${ROW_ID} AND seq > ? ORDER BY seq LIMIT ?`,
    ),
    eventTime: query<[at: number | null]>(
      `SELECT at FROM events WHERE task = ${ROW_ID} AND seq = ?`,
    ),
    messageTask: query<[taskId: string]>(
      `SELECT t.task_id FROM messages m CROSS JOIN tasks t ON t.id = m.task
       WHERE m.scope = ? AND m.message_id = ?`,
    ),
    inState: query<[tenant: string, owner: string, ...head: HeadRow]>(
      `SELECT s.tenant, s.owner, ${HEAD} FROM counters c
       CROSS JOIN tasks t ON t.scope = c.scope AND t.state = c.state ${STATUS}
       CROSS JOIN scopes s ON s.id = c.scope
       WHERE c.state = ? AND c.n > 0 ORDER BY t.id`,
    ),

    expired: query<[tenant: string, owner: string, ...head: HeadRow]>(
      `SELECT s.tenant, s.owner, ${HEAD} FROM tasks t INDEXED BY tasks_by_expiry ${STATUS}
       CROSS JOIN scopes s ON s.id = t.scope
       WHERE t.expires_at <= ? ORDER BY t.expires_at LIMIT ?`,
    ),
    setExpiry: command('UPDATE tasks SET expires_at = ? WHERE task_id = ? AND scope = ?'),

    counters: query<StateCount>(
      'SELECT state, n FROM counters WHERE scope = ? AND n > 0 ORDER BY n DESC',
    ),
    pageOfState: query<HeadRow>(
      `SELECT ${HEAD} FROM tasks t INDEXED BY tasks_by_state ${STATUS} WHERE ${IN_STATE}
       ORDER BY t.changed DESC LIMIT ?5`,
    ),
    pageOfContext: query<HeadRow>(
      `SELECT ${HEAD} FROM tasks t INDEXED BY tasks_by_context ${STATUS}
       WHERE ${IN_STATE} AND t.context_id = ?6 ORDER BY t.changed DESC LIMIT ?5`,
    ),
    countOfState: query<[n: number]>(
      `SELECT count(*) FROM tasks t INDEXED BY tasks_by_state WHERE ${IN_STATE}`,
    ),
    countOfContext: query<[n: number]>(
      `SELECT count(*) FROM tasks t INDEXED BY tasks_by_context
       WHERE ${IN_STATE} AND t.context_id = ?5`,
    ),
    countsOfContext: query<StateCount>(
      `SELECT t.state, count(*) FROM tasks t INDEXED BY tasks_by_context
       WHERE t.scope = ? AND t.context_id = ? GROUP BY t.state`,
    ),
    lastChange: query<[changed: number | null]>(
      `SELECT max((SELECT max(changed) FROM tasks WHERE scope = c.scope AND state = c.state))
       FROM counters c`,
    ),

    accepted: query<[accepts: string]>(
      'SELECT accepts FROM events WHERE task = ? AND accepts IS NOT NULL',
    ),
    dropMessage: command('DELETE FROM messages WHERE scope = ? AND message_id = ?'),
    dropEvents: command('DELETE FROM events WHERE task = ? AND seq > ?'),
    dropTask: query<[contextId: string]>('DELETE FROM tasks WHERE id = ? RETURNING context_id'),
  };
}
