/**
 * Opens the database file, or says in one line why not.
 *
 * A log has one writer, so a second process is refused: PATH-lock is an empty database in which the owner holds a
 * transaction open. The system drops that lock with the process, however it ends. Others may still read the database
 * itself.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { reasonOf } from '../base/index.ts';
import { DatabaseSync } from 'node:sqlite';
import { STORE } from './migrations.ts';
import { checkVersion, migrate } from './schema.ts';
import { sqliteCode, StoreError } from './store-error.ts';

const BUSY = 5;
const NOT_A_DATABASE = 26;
const HEADER = 'SQLite format 3\0';

/** How long somebody who reads the file may hold us up. */
const BUSY_MS = 2000;
const CACHE_KIB = 16_000;
/** One large batch must not hold the room for ever. */
const JOURNAL_BYTES = 64 * 1024 * 1024;
/**
 * Mapped, a page that is not in the cache costs a look instead of a call and a copy: that is most of them, in a store of
 * a million tasks. The price: a disk that cannot be read, or a file that another program cuts short, ends the process
 * with SIGBUS instead of an error. What was stored is there again after a restart.
 */
const MAPPED_BYTES = 1024 * 1024 * 1024;

export interface OpenDatabase {
  readonly db: DatabaseSync;
  /** Writes the log back into the file, and lets go of it. */
  close(): void;
}

export function openDatabase(path: string, synchronous: 'NORMAL' | 'FULL'): OpenDatabase {
  const file = locate(path);
  const lock = takeLock(file);
  let db: DatabaseSync | undefined;
  try {
    checkFile(file);
    db = new DatabaseSync(file, { timeout: BUSY_MS, enableForeignKeyConstraints: false });
    checkVersion(db, file, STORE);
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA temp_store = MEMORY;
       PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = ${MAPPED_BYTES};
       PRAGMA journal_size_limit = ${JOURNAL_BYTES}`,
    );
    migrate(db, STORE);
  } catch (error) {
    db?.close();
    lock.abandon();
    throw explain(file, error);
  }
  const opened = db;
  return {
    db: opened,
    close() {
      if (!opened.isOpen) return;
      try {
        opened.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      } catch {
        // No room for it, say. Nothing is lost: the journal stays, and the next to open the file goes on from it.
      }
      opened.close();
      lock.release();
    },
  };
}

/** The file's one true path: a lock under another name would be none. Makes the folder. */
function locate(path: string): string {
  const wanted = resolve(path);
  try {
    makeFolder(dirname(wanted));
    const found = statSync(wanted, { throwIfNoEntry: false });
    if (found?.isDirectory()) {
      throw new StoreError(`${wanted} is a folder, not a database`, {
        hint: 'Give the path of a file.',
      });
    }
    return found ? realpathSync(wanted) : join(realpathSync(dirname(wanted)), basename(wanted));
  } catch (error) {
    throw explain(wanted, error);
  }
}

/** Not `recursive`: Node's own never ends where the system says ENOENT for a folder that it will not make (/proc). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}

function takeLock(file: string): { release(): void; abandon(): void } {
  const path = `${file}-lock`;
  let lock: DatabaseSync | undefined;
  let made = false;
  try {
    made = createFile(path);
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (sqliteCode(error) !== BUSY) throw explain(file, error);
    throw new StoreError(`${file} is in use by another process`, {
      hint: 'A store has one server. Stop the other one, or choose another path for the store.',
      cause: error,
    });
  }
  const held = lock;
  return {
    release: () => held.close(),
    /** Leaves nothing beside a file that turned out to be none of ours. */
    abandon: () => {
      if (made) rmSync(path, { force: true });
      held.close();
    },
  };
}

/**
 * Makes sure that the file is there, and nobody else's to read. Only under the lock: closing a file drops every lock
 * that this process has on it, SQLite's own among them.
 */
function checkFile(file: string): void {
  if (createFile(file)) return;
  accessSync(file, constants.R_OK | constants.W_OK);
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEADER.length);
    const length = readSync(descriptor, head, 0, head.length, 0);
    if (length > 0 && head.toString('latin1', 0, length) !== HEADER) {
      throw new StoreError(`${file} is not a database`, {
        hint: 'Choose another path for the store.',
      });
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Creates the file for the owner only, and says whether it did; one that is there stays as it is, and is not opened. */
function createFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function explain(file: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  if (sqliteCode(error) === NOT_A_DATABASE) {
    return new StoreError(`${file} is not a database`, {
      hint: 'Choose another path for the store.',
      cause: error,
    });
  }
  return new StoreError(`cannot open the store ${file}: ${reasonOf(error)}`, {
    hint: 'The folder must be one that this user may write to.',
    cause: error,
  });
}
