/** Opens a SQLite file. If this fails, throws a StoreError with the reason in one line. */
import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../errors.ts';
import { makeFolder } from '../files/index.ts';
import { checkVersion, migrate, type Schema } from './schema.ts';
import { StoreError } from '../store-error.ts';
import { toStoreError } from './store-error.ts';

/** Maximum size of the write-ahead log file that remains after a large transaction. */
const JOURNAL_BYTES = 64 * 1024 * 1024;
/**
 * Size of the write-ahead log, in pages of 4 KiB, at which it is written back into the file. With SQLite's default of
 * 1000, pages that change all the time, such as those of indexes, would be written back four times as often.
 */
const CHECKPOINT_PAGES = 4000;

export interface DatabaseOptions {
  readonly schema: Schema;
  /** Maximum time to wait for other processes, in milliseconds. The wait blocks this process. */
  readonly busyMs: number;
  /**
   * The durability of a commit. With `FULL`, a commit survives a power failure. With `NORMAL` (the default), it
   * survives only a crash of the process.
   */
  readonly synchronous?: 'NORMAL' | 'FULL' | undefined;
  readonly foreignKeys?: boolean;
  /** Whether `PRAGMA incremental_vacuum` works in files that are created here. */
  readonly incrementalVacuum?: boolean;
  /** Maximum size of the file, in pages of 4 KiB. Default: SQLite's own limit. */
  readonly maxPages?: number | undefined;
}

/**
 * Opens a database in WAL mode and migrates it to the newest schema. Several processes may open it at the same time.
 *
 *     const db = openDatabase(prepareFile('agent.db'), { schema: SCHEMA, busyMs: 5000 });
 */
export function openDatabase(file: string, options: DatabaseOptions): DatabaseSync {
  const { schema, busyMs, synchronous = 'NORMAL', foreignKeys = false, maxPages } = options;
  let db: DatabaseSync | undefined;
  try {
    if (file !== ':memory:') createFile(file);
    db = new DatabaseSync(file, { timeout: busyMs, enableForeignKeyConstraints: foreignKeys });
    checkVersion(db, file, schema);
    db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA temp_store = MEMORY`);
    // For a file that already has tables, this takes effect only after a VACUUM.
    if (options.incrementalVacuum) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    migrate(db, schema);
    // Another process may have migrated the database to a newer version since the first check.
    checkVersion(db, file, schema);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${JOURNAL_BYTES};
      PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.floor(maxPages)}`);
    return db;
  } catch (error) {
    db?.close();
    throw toStoreError(error, file);
  }
}

/**
 * Returns the real path of a database file, even if the file does not exist yet. Creates its folder with access for the
 * owner only.
 */
export function prepareFile(path: string): string {
  const wanted = resolve(path);
  try {
    makeFolder(dirname(wanted));
    const found = statSync(wanted, { throwIfNoEntry: false });
    // Opening a pipe would block the process until another program writes to it.
    if (found && !found.isFile()) {
      const kind = found.isDirectory() ? 'a folder' : 'a pipe or a device';
      throw new StoreError(`${wanted} is ${kind}, not a database`, {
        hint: 'use the path of a file',
      });
    }
    return found ? realpathSync(wanted) : join(realpathSync(dirname(wanted)), basename(wanted));
  } catch (error) {
    throw toStoreError(error, wanted);
  }
}

/** Creates an empty file with access for the owner only. If the file exists, returns false and does not open it. */
export function createFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}
