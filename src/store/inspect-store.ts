/**
 * Describes the file of a task store for the operator. It can be used while a server uses the file, and changes
 * nothing.
 */
import { DatabaseSync } from 'node:sqlite';
import { toStoreError } from '../base/sqlite/index.ts';
import { ChangeClock } from '../tasks/index.ts';
import { STORE } from './migrations.ts';
import { canReclaim } from './sqlite-retention.ts';
import { Query } from './statements.ts';

export interface StoreReport {
  /** Size of the data in bytes, without the free part of the file. */
  readonly bytes: number;
  readonly freeBytes: number;
  readonly tasks: number;
  /** Number of finished tasks that ended before `endedBefore`. */
  readonly old: number;
  /** Whether the free part of the file can be given back to the file system. */
  readonly givesBack: boolean;
}

/**
 * Returns the report, or undefined if the file is not a task store. `endedBefore` is a time in milliseconds. Throws a
 * StoreError if the file cannot be read.
 */
export function inspectStore(file: string, endedBefore: number): StoreReport | undefined {
  let db: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    db = opened;
    const number = (sql: string, ...values: number[]) =>
      new Query<[number | null]>(opened, sql).get(...values)?.[0] ?? 0;
    if (number('PRAGMA application_id') !== STORE.applicationId) return undefined;
    const pageBytes = number('PRAGMA page_size');
    const freePages = number('PRAGMA freelist_count');
    return {
      bytes: (number('PRAGMA page_count') - freePages) * pageBytes,
      freeBytes: freePages * pageBytes,
      tasks: number('SELECT sum(n) FROM counters'),
      old: number(
        `SELECT count(*) FROM tasks
         WHERE state IN ('completed', 'canceled', 'failed', 'rejected') AND changed < ?`,
        ChangeClock.first(Math.max(0, endedBefore)),
      ),
      givesBack: canReclaim(opened),
    };
  } catch (error) {
    throw toStoreError(error, file, 'read');
  } finally {
    db?.close();
  }
}
