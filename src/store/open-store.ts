/**
 * Opens the file of the task store for one process.
 *
 * Only one process may use a store, so a second process is refused. The lock is an open transaction in PATH-lock, an
 * empty database. The operating system releases the lock when the process ends, even after a crash. Other processes can
 * still read the database of the store.
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

/** How long to wait for another process that reads the file. */
const BUSY_MS = 2000;
const CACHE_KIB = 16_000;
/**
 * Maximum size of the part of the file that is mapped into memory. With memory mapping, a page that is not in the cache
 * is read without a system call and without a copy. In a store with a million tasks, most pages are not in the cache.
 * The disadvantage: if the disk has a read error or another program truncates the file, the process ends with SIGBUS.
 * After a restart, all committed data is available again.
 */
const MAPPED_BYTES = 1024 * 1024 * 1024;

export interface OpenStore {
  readonly db: DatabaseSync;
  /** Writes the write-ahead log back into the file, closes the file, and releases the lock. */
  close(): void;
}

export interface OpenStoreOptions {
  readonly synchronous: 'NORMAL' | 'FULL';
  readonly maxPages?: number | undefined;
}

export function openStoreFile(path: string, options: OpenStoreOptions): OpenStore {
  const file = prepareFile(path);
  const lock = takeLock(file);
  let opened: DatabaseSync | undefined;
  try {
    checkFile(file);
    const db = openDatabase(file, { ...options, schema: STORE, busyMs: BUSY_MS });
    opened = db;
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = ${MAPPED_BYTES}`);
    return {
      db,
      close() {
        if (!db.isOpen) return;
        try {
          db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        } catch {
          // The disk may be full. No data is lost, because the next process that opens the file reads the write-ahead
          // log.
        }
        db.close();
        lock.release();
      },
    };
  } catch (error) {
    opened?.close();
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
      hint: 'only one server can use a store: stop the other server, or choose another path',
      cause: error,
    });
  }
  const held = lock;
  return {
    release: () => held.close(),
    /** Releases the lock. Removes the lock file if it was created here, because the file may not be a store. */
    abandon: () => {
      if (made) rmSync(path, { force: true });
      held.close();
    },
  };
}

/**
 * Creates the file if it does not exist. Otherwise checks that it is readable, writable and a database, because SQLite
 * would overwrite a short file of another kind. Call this only while the lock is held and before SQLite opens the file:
 * closing a file releases all locks that this process has on the file, including those of SQLite.
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
