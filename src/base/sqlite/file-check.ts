/**
 * Checks that the file of an open database still exists and is readable. SQLite does not notice if another program
 * deletes or replaces the file. Writes then succeed, but the data is lost when the database is closed.
 */
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../errors.ts';
import { StoreError } from '../store-error.ts';
import { toStoreError } from './store-error.ts';

export interface FileCheck {
  /** Throws a StoreError if the file at the database's path is no longer the file that is open. */
  present(): void;
  /**
   * Checks the same as `present`, and runs `query` on a new connection. Throws a StoreError if the check or the query
   * fails, for example because the file is damaged. `query` should read the first and the last pages. The open
   * connection cannot be used, because it has most pages in its cache.
   */
  readable(query: string): void;
}

/** Returns the checks for a database. They do nothing if the database is in memory. */
export function fileCheck(db: DatabaseSync): FileCheck {
  const file = db.location();
  if (file === null) return { present() {}, readable() {} };
  const identity = (): string | undefined => {
    const found = statSync(file, { throwIfNoEntry: false });
    return found && `${found.dev} ${found.ino}`;
  };
  const opened = identity();

  function present(): void {
    const now = identity();
    if (now !== undefined && now === opened) return;
    throw new StoreError(
      `${file} was ${now === undefined ? 'deleted' : 'replaced'} while it was in use`,
      {
        hint: 'nothing more is written to it: restore the file, and restart the server',
      },
    );
  }

  return {
    present,
    readable(query) {
      present();
      let fresh: DatabaseSync | undefined;
      try {
        fresh = new DatabaseSync(file, { readOnly: true, timeout: 100 });
        fresh.prepare(query).all();
      } catch (error) {
        const known = toStoreError(error, file, 'read');
        throw known instanceof StoreError
          ? known
          : new StoreError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
      } finally {
        fresh?.close();
      }
    },
  };
}
