/**
 * Describes the file of a task store for the operator. Changes nothing, and a server may use the file at the same time.
 */
import { DatabaseSync } from 'node:sqlite';
import { toStoreError } from '../base/sqlite/index.ts';
import { ChangeClock, KEPT, type DeadLetter, type Scope } from '../tasks/index.ts';
import { FINISHED, STORE } from './migrations.ts';
import { canReclaim } from './sqlite-retention.ts';
import { Query } from './statements.ts';

export interface StoreReport {
  /** Size of the data in bytes, without the free part of the file. */
  readonly bytes: number;
  /** Size of the free part of the file in bytes. */
  readonly freeBytes: number;
  readonly tasks: number;
  /** Number of finished tasks that ended before `endedBefore`, except tasks that retention never removes. */
  readonly old: number;
  /** Number of events that could not be delivered to webhooks. */
  readonly deadLetters: number;
  /** Whether the free part of the file can be given back to the file system. */
  readonly givesBack: boolean;
}

/**
 * Returns the report, or undefined if the file is not a task store. `endedBefore` is a time in milliseconds. Throws a
 * StoreError if the file cannot be read.
 */
export function inspectStore(file: string, endedBefore: number): StoreReport | undefined {
  return reading(file, (db, number) => {
    const pageBytes = number('PRAGMA page_size');
    const freePages = number('PRAGMA freelist_count');
    return {
      bytes: (number('PRAGMA page_count') - freePages) * pageBytes,
      freeBytes: freePages * pageBytes,
      tasks: number('SELECT sum(n) FROM counters'),
      old: number(
        `SELECT count(*) FROM tasks WHERE ${FINISHED} AND changed < ?
           ${hasExpiry(number) ? `AND expires_at IS NOT ${KEPT}` : ''}`,
        ChangeClock.first(Math.max(0, endedBefore)),
      ),
      deadLetters: hasDeadLetters(number) ? number('SELECT count(*) FROM dead_letters') : 0,
      givesBack: canReclaim(db),
    };
  });
}

/** A dead letter, with the tenant and the owner of its task. */
export interface OwnedDeadLetter extends DeadLetter, Scope {}

/**
 * Returns at most `limit` dead letters of all owners, the latest first. Returns undefined if the file is not a task
 * store. Throws a StoreError if the file cannot be read.
 */
export function storedDeadLetters(file: string, limit: number): OwnedDeadLetter[] | undefined {
  return reading(file, (db, number) => {
    if (!hasDeadLetters(number)) return [];
    type Row = [string, string, string, string, number, string, number, number];
    const rows = new Query<Row>(
      db,
      `SELECT s.tenant, s.owner, t.task_id, p.config_id, d.seq, d.reason, d.attempts, d.at
       FROM dead_letters d
       CROSS JOIN push p ON p.id = d.push CROSS JOIN tasks t ON t.id = p.task
       CROSS JOIN scopes s ON s.id = d.scope
       ORDER BY d.at DESC, d.seq DESC LIMIT ?`,
    ).all(limit);
    return rows.map(([tenant, owner, taskId, configId, seq, reason, attempts, at]) => {
      return { tenant, owner, taskId, configId, seq, reason, attempts, at };
    });
  });
}

type ReadNumber = (sql: string, ...values: number[]) => number;

/** Returns whether the file has a table of dead letters. Files of earlier versions do not have it. */
function hasDeadLetters(number: ReadNumber): boolean {
  return number("SELECT count(*) FROM sqlite_master WHERE name = 'dead_letters'") > 0;
}

/**
 * Returns whether the table of tasks has a column for the time of expiry. Files of the first version do not have it.
 */
function hasExpiry(number: ReadNumber): boolean {
  return number("SELECT count(*) FROM pragma_table_info('tasks') WHERE name = 'expires_at'") > 0;
}

/**
 * Opens the file, runs `work` with it, and closes it. `number` runs a query and returns its first value, or 0 if there
 * is none. Returns undefined if the file is not a task store.
 */
function reading<Result>(
  file: string,
  work: (db: DatabaseSync, number: ReadNumber) => Result,
): Result | undefined {
  let db: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    db = opened;
    const number: ReadNumber = (sql, ...values) =>
      new Query<[number | null]>(opened, sql).get(...values)?.[0] ?? 0;
    if (number('PRAGMA application_id') !== STORE.applicationId) return undefined;
    return work(opened, number);
  } catch (error) {
    throw toStoreError(error, file, 'read');
  } finally {
    db?.close();
  }
}
