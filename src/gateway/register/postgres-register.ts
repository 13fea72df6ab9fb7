/**
 * The register in PostgreSQL, for several gateways (nodes) with one database.
 *
 * Each node keeps in memory the keys, cards and agents that it uses. Each change of keys, cards or agents increases a
 * number in the database. Each node reads this number every 500 ms, and at once after a notification. So a change
 * usually takes effect on all nodes within a second, even if notifications are lost. If a node has not been able to
 * read the number for 5 seconds, it refuses requests. Without this limit, it could accept a key that was revoked long
 * ago.
 *
 * A register that is opened in the database of a task store uses the store's connections, lease and listener
 * (`NodeDatabase`).
 */
import { randomBytes } from 'node:crypto';
import { rest } from '../../base/index.ts';
import {
  type Executor,
  fromPostgresText,
  StoreError,
  toPostgresText,
} from '../../base/postgres/index.ts';
import { NodeDatabase, PostgresStore } from '../../store/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { REGISTER_LOCKS } from './advisory-locks.ts';
import { postgresQuery, postgresResult } from './postgres-statement.ts';
import { REGISTER_TABLES } from './postgres-tables.ts';
import type { Register, Steps } from './register.ts';

const POLL_MS = 500;
const STALE_MS = 5000;
const CHANNEL = 'parley_register';
/** Maximum size of a notification. PostgreSQL refuses 8000 bytes or more. Longer texts are not sent. */
const MAX_PAYLOAD_BYTES = 7900;
/** Maximum number of connections of a register without a task store. */
const POOL_SIZE = 5;

export interface PostgresRegister extends Register {
  readonly kind: 'postgres';
  /**
   * Returns the id of this node. Other nodes use the id to check whether this node is alive. The id changes if the node
   * loses its lease.
   */
  readonly node: () => string;
  /** Calls `listener` when another node is gone, or when this node has joined the cluster again. */
  onNodeGone(listener: () => void): void;
}

export interface PostgresRegisterOptions {
  /** Whether this process is a gateway. False for a command that changes keys. Default: true. */
  readonly serves?: boolean | undefined;
  /** Time between two reads of the number of changes. Default: 500 ms. */
  readonly pollMs?: number | undefined;
  /** How long the number of changes may be unknown before requests are refused. Default: 5 seconds. */
  readonly staleMs?: number | undefined;
}

export function isPostgresRegister(register: Register): register is PostgresRegister {
  return register.kind === 'postgres';
}

/**
 * Opens the register in the database of a task store, or in the database at a URL. Throws a StoreError if the database
 * cannot be opened.
 */
export async function openPostgresRegister(
  place: PostgresStore | string,
  logger: Logger,
  options: PostgresRegisterOptions = {},
): Promise<PostgresRegister> {
  const database =
    typeof place === 'string'
      ? await NodeDatabase.open(place, { logger, poolSize: POOL_SIZE })
      : place.database.share();
  try {
    await database.db.migrate([REGISTER_TABLES]);
    return await registerIn(database, logger, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function registerIn(
  database: NodeDatabase,
  logger: Logger,
  { serves = true, pollMs = POLL_MS, staleMs = STALE_MS }: PostgresRegisterOptions,
): Promise<PostgresRegister> {
  const { db, members } = database;
  const salt = await saltIn(db);
  const listeners: (() => void)[] = [];
  const tellers: ((text: string) => void)[] = [];
  const goneListeners: (() => void)[] = [];
  const stopped = new AbortController();
  const { signal } = stopped;
  let known = await numberIn(db);
  let checkedAt = performance.now();
  /** True if a notification has arrived since the last poll began. */
  let notified = false;
  let waiting: AbortController | undefined;

  /** Makes the next poll begin at once. */
  function wake(): void {
    notified = true;
    waiting?.abort();
  }

  /** Reads a text of another node. `payload` is the id of that node, followed by the text. */
  function hear(payload: string): void {
    const { id } = members;
    if (payload.startsWith(id)) return;
    for (const listener of tellers) listener(fromPostgresText(payload.slice(id.length)));
  }

  async function guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      logger.error({ err: error }, 'failed to read or write the register');
      throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
    }
  }

  async function run<Result>(work: Steps<Result>, on: Executor): Promise<Result> {
    let step = work.next();
    while (step.done !== true) {
      const { text, values, name } = postgresQuery(step.value);
      const rows = await on.query<Record<string, unknown>>(text, values, name);
      step = work.next(postgresResult(step.value, rows));
    }
    return step.value;
  }

  /**
   * Sets the known number of changes. Calls the listeners if other processes have made changes. `ownChanges` is the
   * number of changes that this process has just made.
   */
  function learn(number: number, ownChanges: 0 | 1): void {
    const hasOthers = number > known + ownChanges;
    known = Math.max(known, number);
    if (hasOthers) for (const listener of listeners) listener();
  }

  async function poll(): Promise<void> {
    const begun = performance.now();
    const number = await numberIn(db);
    checkedAt = begun;
    learn(number, 0);
  }

  async function pollRegularly(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      notified = false;
      try {
        await poll();
        failures = 0;
      } catch (error) {
        // The error is logged once per outage.
        if (failures++ === 0)
          logger.error({ err: error }, 'failed to check the register for changes');
      }
      if (notified) continue;
      waiting = new AbortController();
      const until = AbortSignal.any([signal, waiting.signal]);
      await rest(pollMs, until);
    }
  }

  if (serves) {
    members.add({
      channel: CHANNEL,
      onNotification: (payload) => (payload === '' ? wake() : hear(payload)),
      onListening: wake,
      onGone: () => goneListeners.forEach((listener) => listener()),
    });
    await members.start();
    await poll();
  }
  const background = serves ? pollRegularly() : undefined;
  return {
    kind: 'postgres',
    node: () => members.id,
    onNodeGone: (listener) => void goneListeners.push(listener),
    salt,
    transaction: (work) => guarded(() => db.transaction((on) => run(work(), on))),
    change: (work) =>
      guarded(async () => {
        const { result, number } = await db.transaction(async (on) => {
          await on.query('SELECT pg_advisory_xact_lock($1)', [REGISTER_LOCKS.change]);
          const done = await run(work(), on);
          const [row] = await on.query<{ number: number }>(
            'UPDATE parley.register_changes SET number = number + 1 RETURNING number',
          );
          // Commits with a notification wait for each other. Changes are rare, so this does not matter here.
          await on.query(`NOTIFY ${CHANNEL}`);
          return { result: done, number: row?.number ?? 0 };
        });
        learn(number, 1);
        return result;
      }),
    read: (work) => guarded(() => run(work(), db)),
    changed() {
      if (serves && performance.now() - checkedAt > staleMs) {
        throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
      }
      return known;
    },
    onChange: (listener) => void listeners.push(listener),
    tell(text) {
      const payload = members.id + toPostgresText(text);
      if (Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES) return;
      members.notify([CHANNEL], [payload]).catch(() => {
        // A text may be lost, so a failure is ignored.
      });
    },
    onTold: (listener) => void tellers.push(listener),
    async check() {
      await database.probe();
    },
    async close() {
      if (signal.aborted) return;
      stopped.abort();
      await background;
      if (serves) await members.stop();
      await database.close();
    },
  };
}

async function numberIn(db: Executor): Promise<number> {
  const [row] = await db.query<{ number: number }>(
    'SELECT number FROM parley.register_changes',
    [],
    'parley.register_number',
  );
  if (row) return row.number;
  throw new StoreError('the register has lost its number of changes: restore it from a backup');
}

/** Returns the salt. The first process creates it. */
async function saltIn(db: Executor): Promise<Uint8Array> {
  await db.query('INSERT INTO parley.key_salt VALUES (1, $1) ON CONFLICT DO NOTHING', [
    randomBytes(32),
  ]);
  const [row] = await db.query<{ salt: Uint8Array }>('SELECT salt FROM parley.key_salt');
  if (row) return row.salt;
  throw new StoreError('the register has no salt for its keys: restore it from a backup');
}
