/** Opens a SQLite file, or throws a StoreError that says in one line why not. */
import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../errors.ts';
import { checkVersion, migrate, type Schema } from './schema.ts';
import { StoreError, toStoreError } from './store-error.ts';

/** Limits the space that the write-ahead log keeps after a large transaction. */
const JOURNAL_BYTES = 64 * 1024 * 1024;

export interface DatabaseOptions {
  readonly schema: Schema;
  /** How long to wait for other processes. This process is blocked meanwhile. */
  readonly busyMs: number;
  /** `FULL`: a commit survives a power failure. `NORMAL` (the default): it survives the end of the process. */
  readonly synchronous?: 'NORMAL' | 'FULL' | undefined;
  readonly foreignKeys?: boolean;
  /** Maximum size of the file, in pages of 4 KiB. */
  readonly maxPages?: number | undefined;
}

/**
 * Opens a database in WAL mode with its newest schema. Several processes may do so at the same time.
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
    migrate(db, schema);
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA journal_size_limit = ${JOURNAL_BYTES}`);
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.floor(maxPages)}`);
    return db;
  } catch (error) {
    db?.close();
    throw toStoreError(error, file);
  }
}

/** The real path of a database file, which need not exist yet. Creates its folder, for the owner only. */
export function prepareFile(path: string): string {
  const wanted = resolve(path);
  try {
    makeFolder(dirname(wanted));
    const found = statSync(wanted, { throwIfNoEntry: false });
    if (found?.isDirectory()) {
      throw new StoreError(`${wanted} is a folder, not a database`, {
        hint: 'give the path of a file',
      });
    }
    return found ? realpathSync(wanted) : join(realpathSync(dirname(wanted)), basename(wanted));
  } catch (error) {
    throw toStoreError(error, wanted);
  }
}

/** Not `recursive`: with it, Node never returns if the system answers ENOENT for a folder it cannot create (/proc). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

/** Creates an empty file for the owner only. Returns false, and does not open the file, if it exists. */
export function createFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}
