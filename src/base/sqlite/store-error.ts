import { reasonOf } from '../errors.ts';
import { StoreError, type StoreErrorCode } from '../store-error.ts';

const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;

/** Returns SQLite's primary result code, or undefined if the error does not come from SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

export function isDatabaseBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === BUSY || code === LOCKED;
}

/** Returns whether the error means that the file is damaged or is not a database. */
export function isDatabaseDamaged(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === CORRUPT || code === NOT_A_DATABASE;
}

/**
 * Converts an error of SQLite or of the operating system to a StoreError. Returns other errors unchanged.
 *
 *     throw toStoreError(error, file, 'write to');
 */
export function toStoreError(error: unknown, file: string, action = 'open'): unknown {
  const sqlite = sqliteCode(error);
  if (sqlite === undefined && !(error instanceof Error && 'syscall' in error)) return error;
  const refuse = (code: StoreErrorCode, message: string, hint: string): StoreError =>
    new StoreError(message, { code, hint, cause: error });
  if (isDatabaseBusy(error))
    return refuse('busy', `${file} is in use by another process`, 'try again');
  switch (sqlite) {
    case FULL:
      return refuse('full', `there is no room to ${action} ${file}`, 'free some disk space');
    case CORRUPT:
      return refuse(
        'corrupt',
        `${file} is damaged`,
        `restore it from a backup, or save what can be read: sqlite3 '${file}' .recover | sqlite3 new.db`,
      );
    case NOT_A_DATABASE:
      return refuse('unusable', `${file} is not a database`, 'choose another path');
    default:
      return refuse(
        'unusable',
        `cannot ${action} the database ${file}: ${reasonOf(error)}`,
        'this user needs read and write access to the file and its folder',
      );
  }
}
