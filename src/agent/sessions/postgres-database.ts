/** The tables for sessions and artifacts in PostgreSQL. Several stores and processes may use them. */
import { createHash } from 'node:crypto';
import {
  acrossLostConnections,
  openPostgres,
  type Postgres,
  type PostgresSchema,
} from '../../base/postgres/index.ts';
import { StorageError, toStorageError } from '../storage-error.ts';

/** The options of the PostgreSQL stores. */
export interface PostgresAgentOptions {
  /**
   * If set, this store has its own pool with at most this number of connections. By default, all stores of the process
   * with the same URL share a pool. The maximum size of a shared pool is `pool_size` in the URL, or 10.
   */
  readonly poolSize?: number;
  /** If false, missing tables are an error and are not created. Default: true. */
  readonly migrate?: boolean;
  /** How long a write waits for a database that cannot be reached, in milliseconds. Default: 15 seconds. */
  readonly retryMs?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

const RETRY_MS = 15_000;

const STEPS: readonly string[] = [
  `
  -- Orders the sessions by their last change. The order does not depend on clocks.
  CREATE SEQUENCE parley.session_changes;

  -- Names and ids may be too long for an index, so hashes of them are used. key is the hash of the app, the user and
  -- the session id. owner is the hash of the app and the user.
  CREATE TABLE parley.sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL UNIQUE,
    owner bytea NOT NULL,
    app text NOT NULL,
    session_id text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    changed bigint NOT NULL,
    -- seq is the number of the session's events. size is their total length in characters.
    seq integer NOT NULL,
    size bigint NOT NULL
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
  CREATE INDEX sessions_by_change ON parley.sessions (owner, changed);
  CREATE INDEX sessions_by_age ON parley.sessions (updated_at);

  -- batch identifies the append that has stored the event.
  CREATE TABLE parley.session_events (
    session bigint NOT NULL,
    seq integer NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    batch uuid NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (session, seq),
    UNIQUE (session, event_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);

  -- One row per value of the state. place is the hash of the session, the user or the app that the value belongs to.
  -- hash is the hash of the value's name. key is the name as JSON, because a text column cannot store every string.
  CREATE TABLE parley.session_state (
    place bytea NOT NULL,
    hash bytea NOT NULL,
    key text NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (place, hash)
  ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

  CREATE TABLE parley.artifacts (
    place bytea NOT NULL,
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (place, name, version)
  );
  `,
];

/** The tables for sessions and artifacts. */
export const SESSIONS: PostgresSchema = { name: 'sessions', steps: STEPS };

/** Returns the key of a row with these names. Different names have different keys. */
export function keyOf(kind: 'app' | 'user' | 'session' | 'state', ...names: string[]): Uint8Array {
  return createHash('sha256')
    .update(JSON.stringify([kind, ...names]))
    .digest();
}

/** An open database. `open`, `read` and `write` convert errors of the database to StorageErrors. */
export class PostgresDatabase {
  readonly #db: Postgres;
  readonly #retryMs: number;
  #closed = false;

  constructor(db: Postgres, { retryMs = RETRY_MS }: PostgresAgentOptions) {
    this.#db = db;
    this.#retryMs = retryMs;
  }

  static async open(url: string, options: PostgresAgentOptions): Promise<PostgresDatabase> {
    const { poolSize, migrate } = options;
    try {
      const db = await openPostgres(url, { schemas: [SESSIONS], poolSize, migrate });
      return new PostgresDatabase(db, options);
    } catch (error) {
      throw toStorageError(error);
    }
  }

  read<Result>(work: (db: Postgres) => Promise<Result>): Promise<Result> {
    return this.#checked(() => work(this.#db));
  }

  /** Runs `work`, and runs it again while the database cannot be reached (see `acrossLostConnections`). */
  write<Result>(work: (db: Postgres, isRetry: boolean) => Promise<Result>): Promise<Result> {
    const options = { retryMs: this.#retryMs, isClosed: () => this.#closed };
    return this.#checked(() =>
      acrossLostConnections((isRetry) => work(this.#db, isRetry), options),
    );
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.#db.close();
  }

  async #checked<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new StorageError('closed', `the store ${this.#db.name} is closed`);
    try {
      return await work();
    } catch (error) {
      throw toStorageError(error);
    }
  }
}
