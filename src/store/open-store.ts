/**
 * Opens the file of the task store for one process.
 *
 * Only one process may use a store, so a second process is refused. The lock file is PATH-lock. Other processes can
 * still read the database of the store.
 */
import { accessSync, closeSync, constants, openSync, readSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  createFile,
  fileCheck,
  openDatabase,
  prepareFile,
  StoreError,
  toStoreError,
  tryLock,
  type FileLock,
} from '../base/sqlite/index.ts';
import { STORE } from './migrations.ts';
import { canReclaim } from './sqlite-retention.ts';

const HEADER = 'SQLite format 3\0';

/** How long to wait for another process that has locked the file, for example to read it. */
const BUSY_MS = 2000;
const CACHE_KIB = 16_000;

/**
 * Maximum size of a file that is rewritten when it is opened (`allowReclaim`). At this size, rewriting takes less than
 * a second.
 */
const VACUUM_BYTES = 64 * 1024 * 1024;

export type OpenStore = ReturnType<typeof openStoreFile>;

export interface OpenStoreOptions {
  readonly synchronous: 'NORMAL' | 'FULL';
  readonly maxPages?: number | undefined;
}

/**
 * Minimum time between two checks whether the file was deleted or replaced. Without the checks, clients would get
 * acknowledgements for data that is lost. A check before each transaction would make transactions several percent
 * slower.
 */
const CHECK_MS = 100;

/** Statements that change no data, but need new pages, so they fail if the disk or the file is full. */
export const PROBE =
  "INSERT INTO meta VALUES ('probe', zeroblob(65536)); DELETE FROM meta WHERE key = 'probe'";

export function openStoreFile(path: string, options: OpenStoreOptions) {
  const file = prepareFile(path);
  const lock = takeLock(file);
  let opened: DatabaseSync | undefined;
  try {
    checkFile(file);
    const db = openDatabase(file, {
      ...options,
      schema: STORE,
      busyMs: BUSY_MS,
      incrementalVacuum: true,
    });
    opened = db;
    const check = fileCheck(db);
    let checkedAt = -Infinity;
    // The file is not mapped into memory (mmap_size). Reads would be 5 % faster, but if another program truncated the
    // file, SIGBUS would end the process.
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA mmap_size = 0`);
    if (statSync(file).size <= VACUUM_BYTES) allowReclaim(db);
    return {
      db,
      /**
       * Throws a StoreError if the file was deleted or replaced. Looks at the file at most once per CHECK_MS, so that
       * it is fast.
       */
      checkPresent(): void {
        const now = performance.now();
        if (now - checkedAt < CHECK_MS) return;
        check.present();
        checkedAt = now;
      },
      /** Throws a StoreError if the file was deleted or replaced, or if it is damaged. */
      checkReadable(): void {
        checkedAt = -Infinity;
        check.readable(
          'SELECT 1 FROM meta, (SELECT max(id) FROM events), (SELECT max(id) FROM tasks)',
        );
      },
      /** Writes the write-ahead log back into the file, closes the file, and releases the lock. */
      close(): void {
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

/** Rewrites a file of an earlier version, so that the space of removed tasks can be given back to the file system. */
function allowReclaim(db: DatabaseSync): void {
  if (canReclaim(db)) return;
  try {
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM');
  } catch {
    // Another process reads the file, or the disk is full. The next start tries again.
  }
}

function takeLock(file: string): { release(): void; abandon(): void } {
  const path = `${file}-lock`;
  let lock: FileLock | undefined;
  try {
    lock = tryLock(path);
  } catch (error) {
    throw toStoreError(error, file);
  }
  if (!lock) {
    throw new StoreError(`${file} is in use by another process`, {
      code: 'busy',
      hint: 'only one server can use a store: stop the other server, or choose another path',
    });
  }
  const held = lock;
  return {
    release: () => held.release(),
    /** Releases the lock. Removes the lock file if this process created it, because `file` may not be a store. */
    abandon: () => {
      if (held.created) rmSync(path, { force: true });
      held.release();
    },
  };
}

/**
 * Creates the file if it does not exist. Otherwise checks that it is readable and writable, and that it is empty or a
 * database. Without this check, SQLite would overwrite a short file of another kind. Call this only while the lock is
 * held and before SQLite opens the file. Closing a file releases all locks that this process has on the file, including
 * the locks of SQLite.
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
