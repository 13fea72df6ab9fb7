/**
 * What a database of ours is marked by, and how it gets its tables. Its `user_version` is the number of steps it has
 * seen; steps are added at the end and never changed, and there is no way back.
 */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

export interface Schema {
  /** So that no other program's database is ever changed. */
  readonly applicationId: number;
  readonly steps: readonly string[];
}

/** Refuses another program's database, and one of a newer Parley. Changes nothing. */
export function checkVersion(
  db: DatabaseSync,
  path: string,
  { applicationId, steps }: Schema,
): void {
  const version = pragma(db, 'user_version');
  if (pragma(db, 'application_id') !== applicationId) {
    const foreign = version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
    if (foreign) {
      throw new StoreError(`${path} is a database of another program`, {
        hint: 'Choose another path for the store.',
      });
    }
  }
  if (version > steps.length) {
    throw new StoreError(
      `${path} was written by a newer Parley (its schema is ${version}, this one knows ${steps.length})`,
      { hint: 'Upgrade Parley, or choose another path for the store.' },
    );
  }
}

/** Takes the steps that the database has not seen, all of them or none, up to `to`. */
export function migrate(
  db: DatabaseSync,
  { applicationId, steps }: Schema,
  to: number = steps.length,
): void {
  if (pragma(db, 'user_version') >= to) return;
  db.exec('BEGIN EXCLUSIVE');
  try {
    // Another process may have taken them meanwhile.
    for (const step of steps.slice(pragma(db, 'user_version'), to)) db.exec(step);
    db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${to}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
