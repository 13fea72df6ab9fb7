/**
 * The database file of sessions and artifacts: opens it, or says in one line why not.
 *
 * Any number of stores and processes may have it open. A write waits for its turn, though not for ever. With
 * durability `normal` what was stored survives the end of the process, with `full` that of the machine too.
 */
import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { reasonOf } from '../../base/index.ts';
import { StorageError } from '../storage-error.ts';

export interface SqliteOptions {
  /** What an append survives: `normal` (the default) the end of the process, `full` that of the machine. */
  readonly durability?: 'normal' | 'full';
  /** How long a call waits for other processes, in milliseconds (5,000 unless told). This process waits with it. */
  readonly busyTimeout?: number;
  /** Lets the file grow to so many pages of 4 KiB and no more. */
  readonly maxPages?: number;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
}

/** Marks a database as ours ("Pagt"), so that no other program's is ever changed. */
const APPLICATION_ID = 0x50616774;

/** A database's `user_version` is the number of steps it has seen. Steps are added at the end and never changed. */
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

  -- In the order of their ids.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    json TEXT NOT NULL,
    UNIQUE (session, event_id)
  );
  CREATE INDEX events_by_session ON events (session);

  -- Of an app: user is '' and session 0. Of a user: session 0. A key is JSON text, which can hold any string.
  CREATE TABLE state (
    app TEXT NOT NULL,
    user TEXT NOT NULL,
    session INTEGER NOT NULL,
    key TEXT NOT NULL,
    json TEXT NOT NULL,
    PRIMARY KEY (app, user, session, key)
  ) WITHOUT ROWID;

  -- Of a user: session_id is ''.
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

const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;

/** An open database. Whatever fails in it is a StorageError, and has changed nothing. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #file: string;

  constructor(path: string, options: SqliteOptions = {}) {
    this.#file = resolve(path);
    const synchronous = options.durability === 'full' ? 'FULL' : 'NORMAL';
    let db: DatabaseSync | undefined;
    try {
      createFile(this.#file);
      db = new DatabaseSync(this.#file, {
        timeout: options.busyTimeout ?? 5_000,
        enableForeignKeyConstraints: false,
      });
      migrate(db, this.#file);
      db.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA journal_size_limit = 67108864`);
      if (options.maxPages !== undefined) {
        db.exec(`PRAGMA max_page_count = ${Math.floor(options.maxPages)}`);
      }
    } catch (error) {
      db?.close();
      throw this.#explain(error, 'open');
    }
    this.#db = db;
  }

  prepare(sql: string) {
    return this.#db.prepare(sql);
  }

  /** All of it or nothing. Nobody else writes meanwhile. */
  write<T>(work: () => T): T {
    return this.#transaction('BEGIN IMMEDIATE', 'write to', work);
  }

  /** Sees the database as it is at one moment. */
  read<T>(work: () => T): T {
    return this.#transaction('BEGIN', 'read', work);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #transaction<T>(begin: string, what: string, work: () => T): T {
    if (!this.#db.isOpen) throw new StorageError('closed', `the store ${this.#file} is closed`);
    try {
      this.#db.exec(begin);
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      // A full disk has ended the transaction already.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw this.#explain(error, what);
    }
  }

  #explain(error: unknown, what: string): unknown {
    const code = sqliteCode(error);
    if (code === undefined && !isSystemError(error)) return error;
    const file = this.#file;
    switch (code) {
      case BUSY:
      case LOCKED:
        return new StorageError('busy', `${file} is in use by another process: try again`, error);
      case FULL:
        return new StorageError('full', `there is no room to ${what} ${file}: make some`, error);
      case CORRUPT:
        return new StorageError('corrupt', `${file} is damaged: restore it from a copy`, error);
      case NOT_A_DATABASE:
        return new StorageError('unusable', `${file} is not a database: choose another`, error);
      default:
        return new StorageError('unusable', `cannot ${what} ${file}: ${reasonOf(error)}`, error);
    }
  }
}

/** Reads what a row holds: `readable('an event', (): Event => JSON.parse(json))`. */
export function readable<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new StorageError('corrupt', `${what} cannot be read: delete it, or restore it`, cause);
  }
}

/** Makes the file, for its owner only, and its folder. */
function createFile(file: string): void {
  makeFolder(dirname(file));
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isDirectory()) {
    throw new StorageError('unusable', `${file} is a folder: give the path of a file`);
  }
  if (found) return;
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    // Another process was faster.
    if (!existsSync(file)) throw error;
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

/** Refuses what is not ours, then takes the steps that the database has not seen, all or none. */
function migrate(db: DatabaseSync, file: string): void {
  if (checkVersion(db, file) < STEPS.length) {
    // Several processes may come here at once: the first takes the steps, the others see so when it is their turn.
    db.exec('BEGIN IMMEDIATE');
    for (const step of STEPS.slice(checkVersion(db, file))) db.exec(step);
    db.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${STEPS.length}; COMMIT`,
    );
  }
  db.exec('PRAGMA journal_mode = WAL');
}

/** How many steps it has seen. */
function checkVersion(db: DatabaseSync, file: string): number {
  const version = pragma(db, 'user_version');
  if (pragma(db, 'application_id') !== APPLICATION_ID) {
    if (version !== 0 || db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get()) {
      throw new StorageError(
        'unusable',
        `${file} is a database of another program: choose another path`,
      );
    }
  }
  if (version > STEPS.length) {
    throw new StorageError(
      'unusable',
      `${file} was written by a newer Parley (its schema is ${version}, this one knows ${STEPS.length}): upgrade, or choose another path`,
    );
  }
  return version;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** SQLite's result code of a failure, without its extension; undefined if it was not SQLite that failed. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
