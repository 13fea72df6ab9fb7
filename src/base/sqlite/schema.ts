/**
 * Schema versions. The `user_version` of a database is the number of migration steps that were applied to it. New steps
 * are added at the end, and steps are never changed. There are no downgrades.
 */
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store-error.ts';

export interface Schema {
  /** SQLite's `application_id`. It prevents changes to databases of other programs. */
  readonly applicationId: number;
  readonly steps: readonly string[];
}

/** Throws if the database belongs to another program or to a newer version of Parley. Changes nothing. */
export function checkVersion(
  db: DatabaseSync,
  path: string,
  { applicationId, steps }: Schema,
): void {
  const version = pragma(db, 'user_version');
  const isUsed = version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
  // The id is read last, because another process may be creating the tables and setting the id at this moment.
  if (isUsed && pragma(db, 'application_id') !== applicationId) {
    throw new StoreError(`${path} is a database of another program`, {
      hint: 'choose another path',
    });
  }
  if (version > steps.length) {
    throw new StoreError(
      `${path} was written by a newer Parley (its schema version is ${version}, this Parley supports ${steps.length})`,
      { hint: 'upgrade Parley, or choose another path' },
    );
  }
}

/** Applies the missing migration steps up to version `to`, either all of them or none. */
export function migrate(
  db: DatabaseSync,
  { applicationId, steps }: Schema,
  to: number = steps.length,
): void {
  if (pragma(db, 'user_version') >= to) return;
  db.exec('BEGIN EXCLUSIVE');
  try {
    // The version is read again, because another process may have migrated the database in the meantime. A newer
    // Parley may have migrated it to a version higher than `to`.
    const version = pragma(db, 'user_version');
    if (version < to) {
      for (const step of steps.slice(version, to)) db.exec(step);
      db.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${to}`);
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
