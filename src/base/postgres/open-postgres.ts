/**
 * Opens a PostgreSQL database: a pool of connections, prepared statements, transactions, and separate connections.
 *
 * The driver is loaded only when a database is opened. A lost connection is replaced when the next statement needs one.
 */
import type { Client, ClientConfig, Pool, PoolClient } from 'pg';
import { optionalPackage } from '../optional-package.ts';
import { backoffMs, pause } from '../wait.ts';
import { StoreError } from '../store-error.ts';
import { isConnectionLost, isRolledBack, lacksPrepared, toStoreError } from './postgres-error.ts';
import {
  areCurrent,
  checkVersions,
  migrate,
  schemaVersions,
  type Executor,
  type PostgresSchema,
  type SchemaVersion,
} from './schema.ts';

/** A statement that each connection parses and plans once. `name` must be unique in the program. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Returns statements by key. The name of a statement consists of `parley.`, the prefix and the key. */
export function statements<Key extends string>(
  prefix: string,
  texts: Readonly<Record<Key, string>>,
): Readonly<Record<Key, Statement>> {
  const named = Object.entries<string>(texts).map(([key, text]) => {
    return [key, { name: `parley.${prefix}${key}`, text }];
  });
  // The type checker cannot infer the names of the fields.
  return Object.fromEntries(named) as Record<Key, Statement>;
}

export interface PostgresOptions {
  /** The tables that are needed. Missing tables are created, unless `migrate` is false. */
  readonly schemas: readonly PostgresSchema[];
  /** If false, nothing is created, and missing tables are an error. Default: true. */
  readonly migrate?: boolean | undefined;
  /**
   * If set, the opened database has its own pool with at most this number of connections. If not set, all parts of the
   * process that open the same URL with the same `timeoutMs` share a pool. The maximum size of a shared pool is
   * `pool_size` in the URL. Default of `pool_size`: 10.
   */
  readonly poolSize?: number | undefined;
  /**
   * Maximum time of a statement on a connection of the pool, in milliseconds. After this time, the connection is
   * closed. Default: 15 seconds.
   */
  readonly timeoutMs?: number | undefined;
}

/** The connections of the pool. */
export interface PoolStats {
  readonly open: number;
  readonly idle: number;
  /** Number of statements and transactions that wait for a connection. */
  readonly waiting: number;
  readonly max: number;
}

/** A separate connection, for LISTEN and for locks that last as long as the connection. */
export interface PostgresSession extends Executor, AsyncDisposable {
  /** Calls `listener` for each notification of the channels that the session listens to. */
  onNotification(listener: (channel: string, payload: string) => void): void;
  /** Resolves when the connection has ended, with the error if it was lost. */
  readonly ended: Promise<Error | undefined>;
  end(): Promise<void>;
}

const POOL_SIZE = 10;
const TIMEOUT_MS = 15_000;
const CONNECT_MS = 5000;
/** Maximum number of attempts for a statement or transaction that is rolled back because of other transactions. */
const MAX_TRIES = 10;
const INT8 = 20;
/**
 * Our statements find rows by index. The first two settings make PostgreSQL prefer plain index scans. Without them, a
 * connection could plan a statement while a table is almost empty, and keep this plan while the table grows. Such a
 * plan may read the whole table until PostgreSQL analyzes the table again. Without the third setting, PostgreSQL may
 * plan a statement again for each call. For a page of a list in a large table, this takes longer than reading the page.
 */
const LOOKUPS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
};
/**
 * Changes settings of a connection. Does nothing behind a pooler, because other clients may get the same server
 * connection there. A pooler is recognized by the process id that the driver received, because it differs from
 * `pg_backend_pid()`.
 */
const SET = `SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s (name, value)
  WHERE pg_backend_pid() = $3`;

/**
 * Opens a database and creates missing tables, unless `migrate` is false. If the database cannot be used, rejects with
 * a StoreError. Rejects with another error if, for example, the package `pg` is not installed.
 *
 *     await using db = await openPostgres('postgres://localhost/parley', { schemas: [TASKS] });
 */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Postgres> {
  const { schemas, poolSize, timeoutMs = TIMEOUT_MS } = options;
  const { config, database, size } = readUrl(url);
  const { default: pg } = await optionalPackage('pg', 'PostgreSQL', () => import('pg'));
  const key = JSON.stringify([url, timeoutMs]);
  const known = poolSize === undefined ? shared.get(key) : undefined;
  const connections = known ?? newConnections(pg, config, poolSize ?? size ?? POOL_SIZE, timeoutMs);
  if (poolSize === undefined) shared.set(key, connections);
  connections.users++;
  const db = new Postgres(connections, database, async () => {
    if (--connections.users > 0) return;
    if (shared.get(key) === connections) shared.delete(key);
    await connections.pool.end();
  });
  try {
    if (options.migrate === false) {
      const versions = await schemaVersions(db, schemas);
      checkVersions(versions, database);
      if (!areCurrent(versions)) {
        throw new StoreError(`the tables in ${database} are missing or of an older version`, {
          hint: 'run: parley db migrate URL',
        });
      }
    } else {
      await db.migrate(schemas);
    }
    return db;
  } catch (error) {
    await db.close();
    throw toStoreError(error, database);
  }
}

interface Connections {
  readonly pool: Pool;
  /** Returns a connection that is not part of the pool, and that is not open yet. */
  readonly single: () => Client;
  users: number;
}

/** The connections that parts of this process share, by URL and settings. */
const shared = new Map<string, Connections>();

function newConnections(
  pg: Pick<typeof import('pg'), 'Client' | 'Pool' | 'TypeOverrides'>,
  config: ClientConfig,
  max: number,
  timeoutMs: number,
): Connections {
  const types = new pg.TypeOverrides();
  // The driver returns 64-bit integers as strings, but all our numbers are below 2 ** 53.
  types.setTypeParser(INT8, Number);
  const client = { ...config, types };
  const pool = new pg.Pool({
    ...client,
    max,
    query_timeout: timeoutMs,
    idleTimeoutMillis: 60_000,
    onConnect: (connection) => {
      // The pool handles the errors of idle connections only. Without a handler, an error of a connection in use would
      // end the process. The error can be ignored here, because the statements on this connection fail too.
      connection.on('error', () => {});
      // An error is ignored: if the connection is lost, the next statement on it fails and reports the error.
      const settings = [Object.keys(LOOKUPS), Object.values(LOOKUPS)];
      void connection.query(SET, [...settings, processIdOf(connection)]).catch(() => {});
    },
  });
  // The pool has already removed the connection. Without a handler, the error would end the process.
  pool.on('error', () => {});
  return { pool, single: () => new pg.Client(client), users: 0 };
}

/** Returns whether the text is the URL of a PostgreSQL database. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** An open database. */
export class Postgres implements Executor, AsyncDisposable {
  /** The host and the database, without the password, for messages. */
  readonly name: string;
  readonly #pool: Pool;
  readonly #single: () => Client;
  readonly #release: () => Promise<void>;
  /** Becomes false behind a pooler that shares server connections and does not support prepared statements. */
  #prepares = true;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor({ pool, single }: Connections, name: string, release: () => Promise<void>) {
    this.#pool = pool;
    this.#single = single;
    this.name = name;
    this.#release = release;
  }

  /** Runs a statement and returns its rows as objects. Throws a StoreError if this fails. */
  query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    name?: string,
  ): Promise<Row[]> {
    return this.#retried((prepares) =>
      executor(this.#pool, prepares).query<Row>(text, values, name),
    );
  }

  /**
   * Runs a statement, prepared unless a pooler prevents this, and returns its rows as arrays. Throws a StoreError if
   * the statement fails.
   */
  run<Row extends unknown[]>(
    { name, text }: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    const query = { text, values: [...values], rowMode: 'array' as const };
    return this.#retried(
      async (prepares) => (await this.#pool.query<Row>(prepares ? { ...query, name } : query)).rows,
    );
  }

  /**
   * Runs `work` in a transaction. Runs it again if the transaction was rolled back because of other transactions. If
   * the connection is lost, throws a StoreError with the code `unavailable`, and the transaction may or may not have
   * been committed.
   */
  transaction<Result>(work: (db: Executor) => Promise<Result>): Promise<Result> {
    return this.#retried((prepares) => this.#transact(work, prepares));
  }

  /**
   * Runs `work`. Runs it again if it was rolled back because of other transactions (deadlock, serialization failure),
   * or if a prepared statement failed because of a pooler (`lacksPrepared`). After such a failure, this and all later
   * statements are sent unprepared.
   */
  async #retried<Result>(work: (prepares: boolean) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closed) throw new StoreError(`the database ${this.name} was closed`);
      const prepares = this.#prepares;
      try {
        return await work(prepares);
      } catch (error) {
        if (prepares && lacksPrepared(error)) {
          this.#prepares = false;
          continue;
        }
        if (!isRolledBack(error) || attempt >= MAX_TRIES) throw toStoreError(error, this.name);
        await pause(backoffMs(attempt, 5, 200));
      }
    }
  }

  async #transact<Result>(
    work: (db: Executor) => Promise<Result>,
    prepares: boolean,
  ): Promise<Result> {
    const client = await this.#pool.connect();
    let isLost = false;
    try {
      await client.query('BEGIN');
      const result = await work(executor(client, prepares));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      // A connection that was lost, or that did not answer in time, is closed, which also rolls back the transaction.
      // ROLLBACK is not sent on it, because it would wait for the statement that is still running.
      isLost = isConnectionLost(error);
      if (!isLost) await client.query('ROLLBACK').catch(() => (isLost = true));
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  /** Opens a connection that is not part of the pool. The caller must end it. */
  async session(): Promise<PostgresSession> {
    const client = this.#single();
    try {
      const ended = new Promise<Error | undefined>((resolve) => {
        let lost: Error | undefined;
        client.on('error', (error) => (lost = error));
        client.once('end', () => resolve(lost));
      });
      await client.connect();
      const end = () => client.end();
      return {
        ...executor(client),
        ended,
        onNotification: (listener) =>
          client.on('notification', ({ channel, payload }) => listener(channel, payload ?? '')),
        end,
        [Symbol.asyncDispose]: end,
      };
    } catch (error) {
      throw toStoreError(error, this.name);
    }
  }

  /**
   * Creates missing tables, and updates tables of older versions. Only one process at a time does this. Returns the
   * versions before the migration.
   */
  async migrate(schemas: readonly PostgresSchema[]): Promise<SchemaVersion[]> {
    const before = await schemaVersions(this, schemas);
    checkVersions(before, this.name);
    if (areCurrent(before)) return before;
    // The migration of a large table may take longer than the timeout of the pool's connections.
    const client = this.#single();
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('BEGIN');
      const versions = await migrate(executor(client), schemas, this.name);
      await client.query('COMMIT');
      return versions;
    } catch (error) {
      throw toStoreError(error, this.name);
    } finally {
      // Ending the connection rolls back a transaction that has failed.
      await client.end().catch(() => {});
    }
  }

  stats(): PoolStats {
    const { totalCount: open, idleCount: idle, waitingCount: waiting, options } = this.#pool;
    return { open, idle, waiting, max: options.max };
  }

  /**
   * Waits for running statements and closes the connections, unless other parts of the process still use them. May be
   * called twice.
   */
  close(): Promise<void> {
    return (this.#closed ??= this.#release());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Returns the process id that the server, or the pooler, has sent when the connection was made. */
function processIdOf(client: object): number | undefined {
  return 'processID' in client && typeof client.processID === 'number'
    ? client.processID
    : undefined;
}

function executor(client: Pool | PoolClient | Client, prepares = false): Executor {
  return {
    query: async <Row extends object>(
      text: string,
      values: readonly unknown[] = [],
      name?: string,
    ) => {
      const query = { text, values: [...values] };
      return (await client.query<Row>(prepares && name !== undefined ? { ...query, name } : query))
        .rows;
    },
  };
}

/** The values of `sslmode` for which the certificate of the server is checked. */
const VERIFYING = new Set(['require', 'verify-ca', 'verify-full']);

/**
 * Reads the URL of a database. Throws a StoreError if the URL is invalid. `sslmode` can be `disable`, `no-verify` (TLS
 * without a check of the certificate), or `verify-full`. The default is the variable PGSSLMODE, which the driver reads,
 * or `disable` if it is not set. `require` and `verify-ca` mean the same as `verify-full`, because without a check of
 * the host name, an attacker in the network could read the password.
 */
function readUrl(text: string): {
  config: ClientConfig;
  database: string;
  size: number | undefined;
} {
  const invalid = (reason: string) =>
    new StoreError(`the URL of the database is invalid: ${reason}`, {
      hint: 'use postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full',
    });
  if (!isPostgresUrl(text)) throw invalid('it must start with postgres://');
  const [base = '', query] = text.split('?', 2);
  const parameters = new URLSearchParams(query);
  // If the password has a ? that is not encoded, the rest of the password and the host are in the name of a parameter.
  const isSplit = [...parameters.keys()].some((name) => name.includes('@'));
  // For a Unix socket, the driver accepts a URL without a host, such as postgres://user@/database, but `URL` does not.
  if (isSplit || !URL.canParse(base.replace('@/', '@socket/'))) {
    throw invalid(
      'check the host and the port, and write @ / : ? # % in the user and the password as %40 %2F %3A %3F %23 %25',
    );
  }
  const mode = parameters.get('sslmode');
  if (mode !== null && VERIFYING.has(mode)) parameters.set('sslmode', 'verify-full');
  else if (mode !== null && mode !== 'disable' && mode !== 'no-verify') {
    throw invalid(`sslmode is ${mode}; use disable, no-verify or verify-full`);
  }
  const size = parameters.get('pool_size');
  if (size !== null && !/^[1-9]\d{0,2}$/.test(size)) throw invalid('pool_size must be 1 to 999');
  parameters.delete('pool_size');
  const host = parameters.get('host') ?? '';
  return {
    config: {
      connectionString: `${base}?${parameters.toString()}`,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      // The name of this process in `pg_stat_activity`.
      application_name: 'parley',
    },
    // The user and the password are removed, even if the password has a slash that is not encoded.
    database: host + base.replace(/^\w+:\/\/(?:.*@)?/, ''),
    size: size === null ? undefined : Number(size),
  };
}
