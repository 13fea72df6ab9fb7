/**
 * Schema versions. A database's `user_version` is the number of migration steps it has seen. Steps are added at the end
 * and never changed; there are no downgrades.
 */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from './store-error.ts';

export interface Schema {
  /** SQLite's `application_id`. It keeps us from changing the database of another program. */
  readonly applicationId: number;
  readonly steps: readonly string[];
}

/** Throws if the database belongs to another program or to a newer version of this one. Changes nothing. */
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
        hint: 'choose another path',
      });
    }
  }
  if (version > steps.length) {
    throw new StoreError(
      `${path} was written by a newer Parley (its schema is ${version}, this one knows ${steps.length})`,
      { hint: 'upgrade Parley, or choose another path' },
    );
  }
}

/** Applies the steps up to `to` that the database has not seen, all of them or none. */
export function migrate(
  db: DatabaseSync,
  { applicationId, steps }: Schema,
  to: number = steps.length,
): void {
  if (pragma(db, 'user_version') >= to) return;
  db.exec('BEGIN EXCLUSIVE');
  try {
    // Read again: another process may have migrated the database in the meantime.
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
