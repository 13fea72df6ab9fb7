/**
 * Opens the file of the task store for one process.
 *
 * A log has one writer, so a second process is refused: PATH-lock is an empty database in which the owner holds a
 * transaction open. The system releases that lock when the process ends, however it ends. Other processes can still read
 * the database itself.
 */
import { accessSync, closeSync, constants, openSync, readSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import {
  createFile,
  isDatabaseBusy,
  openDatabase,
  prepareFile,
  StoreError,
  toStoreError,
} from '../base/sqlite/index.ts';
import { STORE } from './migrations.ts';

const HEADER = 'SQLite format 3\0';

/** How long to wait for a process that reads the file. */
const BUSY_MS = 2000;
const CACHE_KIB = 16_000;
/**
 * With memory mapping, a page that is not in the cache costs no system call and no copy. In a store of a million tasks
 * that is most pages. The price: a read error of the disk, or a file that another program truncates, ends the process
 * with SIGBUS instead of an error. Committed data is available again after a restart.
 */
const MAPPED_BYTES = 1024 * 1024 * 1024;

export interface OpenStore {
  readonly db: DatabaseSync;
  /** Writes the write-ahead log back into the file, and releases the lock. */
  close(): void;
}

export interface OpenStoreOptions {
  readonly synchronous: 'NORMAL' | 'FULL';
  readonly maxPages?: number | undefined;
}

export function openStoreFile(path: string, options: OpenStoreOptions): OpenStore {
  const file = prepareFile(path);
  const lock = takeLock(file);
  try {
    checkFile(file);
    const db = openDatabase(file, { ...options, schema: STORE, busyMs: BUSY_MS });
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = ${MAPPED_BYTES}`);
    return {
      db,
      close() {
        if (!db.isOpen) return;
        try {
          db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        } catch {
          // The disk may be full. Nothing is lost: the log stays, and the next process that opens the file reads it.
        }
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.abandon();
    throw toStoreError(error, file);
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
    if (!isDatabaseBusy(error)) throw toStoreError(error, file);
    throw new StoreError(`${file} is in use by another process`, {
      code: 'busy',
      hint: 'a store has one server: stop the other one, or choose another path',
      cause: error,
    });
  }
  const held = lock;
  return {
    release: () => held.close(),
    /** Leaves no lock file beside a file that is not a store. */
    abandon: () => {
      if (made) rmSync(path, { force: true });
      held.close();
    },
  };
}

/**
 * Checks that a file that exists is readable, writable and a database. SQLite would overwrite a short file of another
 * kind. Call this only under the lock: closing a file drops every lock that this process has on it, including SQLite's.
 */
function checkFile(file: string): void {
  if (createFile(file)) return;
  accessSync(file, constants.R_OK | constants.W_OK);
  const descriptor = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEADER.length);
    const length = readSync(descriptor, head, 0, head.length, 0);
    if (length > 0 && head.toString('latin1', 0, length) !== HEADER) {
      throw new StoreError(`${file} is not a database`, { hint: 'choose another path' });
    }
  } finally {
    closeSync(descriptor);
  }
}
