/** The register as an SQLite file next to the task store. */
import { accessSync, chmodSync, constants } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  createFile,
  fileCheck,
  isDatabaseDamaged,
  openDatabase,
  prepareFile,
  sqliteCode,
  StoreError,
  toStoreError,
  type Schema,
} from '../../base/sqlite/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { AGENTS_SCHEMA, LINK_CONTEXTS_SCHEMA, SENDERS_SCHEMA } from './agent-tables.ts';
import { ATTRIBUTION_SCHEMA, BUDGETS_SCHEMA, RECOVERED_SCHEMA } from './budget-tables.ts';
import { CARDS_SCHEMA } from './card-tables.ts';
import { KEYS_SCHEMA } from './key-tables.ts';
import {
  type RegisterQuery,
  type Register,
  statement,
  type StatementText,
  type Steps,
} from './register.ts';

/** The schema of the register. The application id is "PrlG" in ASCII. */
const REGISTER: Schema = {
  applicationId: 0x50726c47,
  steps: [
    [KEYS_SCHEMA, CARDS_SCHEMA, AGENTS_SCHEMA].join('\n'),
    BUDGETS_SCHEMA,
    ATTRIBUTION_SCHEMA,
    SENDERS_SCHEMA,
    LINK_CONTEXTS_SCHEMA,
    RECOVERED_SCHEMA,
  ],
};

/** Maximum time to wait for a lock of another process. The wait blocks this process. */
const BUSY_MS = 2000;

/** The value of `busyMs` for servers. It is shorter than BUSY_MS, because the wait delays all requests. */
export const SERVER_BUSY_MS = 250;

const TOUCH_SALT = statement('UPDATE key_salt SET salt = salt');

/** A register whose methods return their results themselves, not promises. */
export interface SqliteRegister extends Register {
  readonly db: DatabaseSync;
  transaction<Result>(work: () => Steps<Result>): Result;
  change<Result>(work: () => Steps<Result>): Result;
  read<Result>(work: () => Steps<Result>): Result;
  check(): void;
  close(): void;
}

/**
 * Opens the register. If `path` is undefined, the register is kept in memory. Throws a StoreError if the register
 * cannot be opened.
 */
export function openRegister(
  path: string | undefined,
  logger: Logger,
  { busyMs = BUSY_MS }: { readonly busyMs?: number } = {},
): SqliteRegister {
  const db = open(path);
  db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  const version = db.prepare('PRAGMA data_version');
  version.setReturnArrays(true);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  let ownChanges = 0;
  /** The version of the file in this turn of the event loop. Undefined if it was not read in this turn yet. */
  let fileVersion: number | undefined;
  const forgetVersion = () => {
    fileVersion = undefined;
  };

  function guarded<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (sqliteCode(error) === undefined) throw error;
      logger.error({ err: error }, 'failed to read or write the register');
      throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
    }
  }

  const prepared = new WeakMap<StatementText, StatementSync>();
  function run({ statement: text, named, values, wants }: RegisterQuery): unknown {
    let found = prepared.get(text);
    if (!found) {
      found = db.prepare(text.sql);
      if (text.arrays) found.setReturnArrays(true);
      prepared.set(text, found);
    }
    if (wants === 'one') return named ? found.get(named) : found.get(...values);
    if (wants === 'all') return named ? found.all(named) : found.all(...values);
    return Number((named ? found.run(named) : found.run(...values)).changes);
  }

  function finished<Result>(work: Steps<Result>): Result {
    let step = work.next();
    while (step.done !== true) step = work.next(run(step.value));
    return step.value;
  }

  function transaction<Result>(work: () => Steps<Result>): Result {
    return guarded(() => {
      begin.run();
      try {
        const result = finished(work());
        commit.run();
        return result;
      } catch (error) {
        // After some failures, such as a full disk, SQLite has already rolled back the transaction.
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  const file = fileCheck(db);
  return {
    kind: 'sqlite',
    salt: saltIn(db),
    db,
    transaction,
    change(work) {
      try {
        return transaction(work);
      } finally {
        ownChanges++;
      }
    },
    read: (work) => guarded(() => finished(work())),
    // The file is checked at most once per turn of the event loop, because every request calls `changed` several times.
    changed() {
      if (fileVersion === undefined) {
        fileVersion = guarded(() => (version.get() as unknown as [number])[0]);
        setImmediate(forgetVersion);
      }
      // Both numbers only increase, so their sum changes whenever one of them changes.
      return fileVersion + ownChanges;
    },
    onChange() {},
    tell() {},
    onTold() {},
    // Only a write detects a full or read-only disk, so the check writes a value that is already stored. It also fails
    // if the file was deleted or replaced, because later writes would be lost.
    check() {
      file.readable('SELECT 1 FROM key_salt');
      transaction(() => TOUCH_SALT.run());
    },
    close() {
      if (db.isOpen) db.close();
    },
  };
}

function saltIn(db: DatabaseSync): Uint8Array {
  const salt = db.prepare('SELECT salt FROM key_salt').get()?.['salt'];
  if (salt instanceof Uint8Array) return salt;
  throw new StoreError('the register has no salt for its keys: restore it from a backup');
}

function open(path: string | undefined): DatabaseSync {
  const options = { schema: REGISTER, busyMs: BUSY_MS, foreignKeys: true };
  if (path === undefined) return openDatabase(':memory:', options);
  const file = prepareFile(path);
  let db: DatabaseSync | undefined;
  try {
    // SQLite opens a read-only file without an error, and only the first write would fail.
    if (!createFile(file)) accessSync(file, constants.W_OK);
    db = openDatabase(file, options);
    // The mode is changed after the check of the schema, so that the database of another program keeps its mode.
    chmodSync(file, 0o600);
    return db;
  } catch (thrown) {
    db?.close();
    const error = toStoreError(thrown, file);
    if (!(error instanceof StoreError) || !isDatabaseDamaged(error.cause)) throw error;
    const hint = 'restore it from a backup, together with its .pepper file';
    throw new StoreError(error.message, { code: 'corrupt', hint, cause: error.cause });
  }
}
