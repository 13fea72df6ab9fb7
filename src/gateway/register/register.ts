/**
 * The gateway's register: keys, model cards, agents, spending and the audit log, in one SQLite file beside the task
 * store. Other processes (`parley keys`) may write to it while the gateway runs, so a cache of its contents checks
 * `changed`.
 */
import { chmodSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  openDatabase,
  prepareFile,
  sqliteCode,
  StoreError,
  type Schema,
} from '../../base/sqlite/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
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

/** How long to wait for another process that holds the file. This process is blocked meanwhile. */
const BUSY_MS = 2000;

/** The same for a server, where all requests wait. */
export const SERVER_BUSY_MS = 250;

export interface Register {
  readonly db: DatabaseSync;
  /** Runs `work` in a transaction; not nested. An SQLite error becomes `unavailable`, and its cause is logged. */
  transaction<Result>(work: () => Result): Result;
  /** Runs a read, with the same conversion of errors. */
  read<Result>(work: () => Result): Result;
  /** A number that changes when another process has written. */
  changed(): number;
  close(): void;
}

/** Opens the register, in memory if `path` is undefined. Throws a StoreError whose message is one line. */
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
      if (sqliteCode(error) === undefined) throw error;
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
          // Some failures, such as a full disk, have already rolled it back.
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
  const options = { schema: REGISTER, busyMs: BUSY_MS, foreignKeys: true };
  if (path === undefined) return openDatabase(':memory:', options);
  try {
    const file = prepareFile(path);
    const db = openDatabase(file, options);
    chmodSync(file, 0o600);
    return db;
  } catch (error) {
    if (!(error instanceof StoreError) || !isDamaged(error.cause)) throw error;
    const hint = 'restore it from a backup, together with its pepper';
    throw new StoreError(error.message, { code: 'corrupt', hint, cause: error.cause });
  }
}

/** SQLite cannot read the file. */
function isDamaged(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
}
