/**
 * The gateway's register: keys, model cards, agents, what was spent and who changed what. One SQLite file beside the
 * store of tasks. The store has one process; this file may be written by others meanwhile (`parley keys`), and whoever
 * caches what it read asks `changed`.
 */
import { chmodSync, mkdirSync, openSync, closeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { reasonOf } from '../../base/index.ts';
import { DatabaseSync } from 'node:sqlite';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { checkVersion, migrate, type Schema, sqliteCode, StoreError } from '../../store/index.ts';
import { AGENTS_SCHEMA } from './agent-tables.ts';
import { CARDS_SCHEMA } from './card-tables.ts';
import { KEYS_SCHEMA } from './key-tables.ts';

/** "PrlG". */
const REGISTER: Schema = {
  applicationId: 0x50726c47,
  steps: [[KEYS_SCHEMA, CARDS_SCHEMA, AGENTS_SCHEMA].join('\n')],
};

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** How long another process may hold the file before we give up. Nothing else is done meanwhile. */
const BUSY_MS = 2000;

/** The same for a server, which keeps everybody waiting. */
export const SERVER_BUSY_MS = 250;

export interface Register {
  readonly db: DatabaseSync;
  /** All of it or nothing. What SQLite refuses becomes `unavailable`, with the cause in our log. Not nested. */
  transaction<Result>(work: () => Result): Result;
  /** A read, with the same translation of failures. */
  read<Result>(work: () => Result): Result;
  /** A number that is another one after somebody else's process has written. */
  changed(): number;
  close(): void;
}

/** `path` undefined: in memory. Throws a StoreError in one line. */
export function openRegister(
  path: string | undefined,
  logger: Logger,
  { busyMs = BUSY_MS }: { readonly busyMs?: number } = {},
): Register {
  const db = open(path);
  db.exec(`PRAGMA busy_timeout = ${busyMs}`);
  const version = db.prepare('PRAGMA data_version');
  version.setReturnArrays(true);
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');

  function guarded<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) {
        throw error;
      }
      logger.error({ err: error }, 'the register could not be read or written');
      throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
    }
  }

  return {
    db,
    transaction: (work) =>
      guarded(() => {
        begin.run();
        try {
          const result = work();
          commit.run();
          return result;
        } catch (error) {
          // Some failures, a full disk among them, have rolled it back already.
          if (db.isTransaction) db.exec('ROLLBACK');
          throw error;
        }
      }),
    read: guarded,
    changed: () => guarded(() => (version.get() as unknown as [number])[0]),
    close() {
      if (db.isOpen) db.close();
    },
  };
}

function open(path: string | undefined): DatabaseSync {
  let db: DatabaseSync | undefined;
  if (path === undefined) {
    db = new DatabaseSync(':memory:');
    migrate(db, REGISTER);
    return db;
  }
  const file = resolve(path);
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    checkVersion(db, file, REGISTER);
    chmodSync(file, 0o600);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY');
    migrate(db, REGISTER);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof StoreError) throw error;
    throw new StoreError(`cannot open the register ${file}: ${reasonOf(error)}`, {
      hint: isDamaged(error)
        ? 'Restore it from a backup, with the pepper that belongs to it.'
        : 'The folder must be one that this user may write to.',
      cause: error,
    });
  }
}

/** SQLite cannot make sense of the file. */
function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
