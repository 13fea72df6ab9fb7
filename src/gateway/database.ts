/**
 * The gateway's register: keys, model cards, agents, what was spent and who changed what. One SQLite file beside the
 * store of tasks. The store has one process; this file may be written by others meanwhile (`parley keys`), and whoever
 * caches what it read asks `changed`.
 */
import { chmodSync, mkdirSync, openSync, closeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from '../server/index.ts';
import { reasonOf, StoreError } from '../store/store-error.ts';
import { AGENTS_SCHEMA } from './agents/tables.ts';
import { CARDS_SCHEMA } from './cards/tables.ts';
import { KEYS_SCHEMA } from './keys/tables.ts';

/** Marks a database as a register of ours ("PrlG"). */
const APPLICATION_ID = 0x50726c47;

/** Steps are added at the end and never changed. */
const STEPS: readonly string[] = [[KEYS_SCHEMA, CARDS_SCHEMA, AGENTS_SCHEMA].join('\n')];

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
        db.exec('BEGIN IMMEDIATE');
        try {
          const result = work();
          db.exec('COMMIT');
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
  if (path === undefined) return migrated(new DatabaseSync(':memory:'));
  const file = resolve(path);
  let db: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
    db = new DatabaseSync(file, { timeout: BUSY_MS });
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY');
    return migrated(db);
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
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}

function migrated(db: DatabaseSync): DatabaseSync {
  db.exec('BEGIN IMMEDIATE');
  try {
    const seen = pragma(db, 'user_version');
    const ours = pragma(db, 'application_id') === APPLICATION_ID;
    const empty = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
    if (!ours && !empty) throw new StoreError('the register is a database of another program');
    if (seen > STEPS.length) {
      throw new StoreError('the register was written by a newer Parley', {
        hint: 'Upgrade Parley, or choose another path for the store.',
      });
    }
    for (const step of STEPS.slice(seen)) db.exec(step);
    db.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${STEPS.length}; COMMIT`,
    );
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
  return db;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
