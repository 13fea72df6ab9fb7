/**
 * The SQLite file that contains sessions and artifacts. Several stores and processes may have the file open. A write
 * waits for other writes, but only for a limited time.
 */
import type { DatabaseSync } from 'node:sqlite';
import { openDatabase, prepareFile, toStoreError, type Schema } from '../../base/sqlite/index.ts';
import { StorageError, toStorageError } from '../storage-error.ts';

/** The options of the SQLite stores. */
export interface SqliteOptions {
  /**
   * The durability of stored data. With `normal` (the default), the data survives a crash of the process. With
   * `full`, it also survives a power failure.
   */
  readonly durability?: 'normal' | 'full';
  /**
   * Maximum time that a call waits for other processes, in milliseconds. The wait blocks this process. Default: 5,000.
   */
  readonly busyTimeout?: number;
  /** Maximum size of the file, in pages of 4 KiB. Default: SQLite's own limit. */
  readonly maxPages?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

const STEPS: readonly string[] = [
  `
  CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Orders the owner's sessions by their last change, whatever the clock does.
    changed INTEGER NOT NULL,
    -- Characters of all its events.
    size INTEGER NOT NULL,
    UNIQUE (app, user, session_id)
  );
  CREATE INDEX sessions_by_change ON sessions (app, user, changed);

  -- The order of the events is the order of their ids.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (session, event_id)
  );
  CREATE INDEX events_by_session ON events (session);

  -- In the state of an app, user is '' and session is 0. In the state of a user, session is 0.
  -- A key is stored as JSON text, so that it can be any string.
  CREATE TABLE state (
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (app, user, session, key)
  ) WITHOUT ROWID;

  -- In the artifacts of a user, session_id is ''.
  CREATE TABLE artifacts (
    id INTEGER PRIMARY KEY,
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (app, user, session_id, name, version)
  );
  `,
];

/** The schema of the file. The application id is "Pagt" in ASCII. */
const SESSIONS: Schema = { applicationId: 0x50616774, steps: STEPS };

/**
 * An open database. The constructor, `read` and `write` convert errors of the database to StorageErrors. A call that
 * fails changes nothing.
 */
export class Database {
  readonly #db: DatabaseSync;
  readonly #file: string;

  constructor(path: string, options: SqliteOptions = {}) {
    try {
      this.#file = prepareFile(path);
      this.#db = openDatabase(this.#file, {
        schema: SESSIONS,
        busyMs: options.busyTimeout ?? 5_000,
        synchronous: options.durability === 'full' ? 'FULL' : 'NORMAL',
        maxPages: options.maxPages,
      });
    } catch (error) {
      throw toStorageError(error);
    }
  }

  prepare(sql: string) {
    return this.#db.prepare(sql);
  }

  /** Prepares the statements of a store. Closes the database if this fails. */
  prepareAll<Statements>(make: (db: Database) => Statements): Statements {
    try {
      return this.read(() => make(this));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Runs `work` in a transaction. Other processes cannot write during the transaction. */
  write<T>(work: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', 'write to', work);
  }

  /** Runs `work` on a consistent snapshot of the database. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', 'read', work);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #transaction<T>(begin: string, action: string, work: () => T): T {
    if (!this.#db.isOpen) throw new StorageError('closed', `the store ${this.#file} is closed`);
    try {
      this.#db.exec(begin);
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // If the disk is full, SQLite may already have rolled back the transaction.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw toStorageError(toStoreError(error, this.#file, action));
    }
  }
}
