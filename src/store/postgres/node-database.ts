/**
 * The access of one process (a node) to a database that several nodes share: one pool of connections, one lease, and
 * one connection for notifications (LISTEN). The task store and the register of a gateway use the same `NodeDatabase`.
 */
import { randomBytes } from 'node:crypto';
import {
  openPostgres,
  type Postgres,
  type PostgresOptions,
  StoreError,
} from '../../base/postgres/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { CLUSTER } from './cluster-schema.ts';
import { Membership } from './membership.ts';
import { TASKS } from './migrations.ts';

/** The options of a cluster. */
export interface ClusterOptions {
  /** Maximum time for which a node that does not respond keeps its tasks, in milliseconds. Default: 10 seconds. */
  readonly leaseMs?: number | undefined;
  /**
   * If false, the node does not try to receive hints, and only polls the database. If true, the node checks whether
   * hints arrive. Behind a pooler that does not support LISTEN they do not arrive, and the node polls. Default: true.
   */
  readonly listen?: boolean | undefined;
}

/** Number of rows that `probe` inserts. Each row fills a page of 8 KB. */
const PROBE_ROWS = 8;
const PROBE_ROW_BYTES = 8000;

const LEASE_MS = 10_000;
/** The limits of `leaseMs`. A shorter lease would end whenever the database is slow. */
const MIN_LEASE_MS = 100;
const MAX_LEASE_MS = 3_600_000;

export interface NodeDatabaseOptions extends Pick<PostgresOptions, 'poolSize' | 'migrate'> {
  readonly logger: Logger;
  readonly cluster?: ClusterOptions | undefined;
}

export class NodeDatabase {
  readonly db: Postgres;
  readonly members: Membership;
  readonly leaseMs: number;
  #users = 1;
  #probing: Promise<void> | undefined;

  /** @internal */
  constructor(db: Postgres, { logger, cluster = {} }: NodeDatabaseOptions) {
    const { leaseMs = LEASE_MS, listen = true } = cluster;
    this.db = db;
    this.leaseMs = leaseMs;
    this.members = new Membership({ db, leaseMs, listen, logger });
  }

  /** Opens a database. Creates the tables of tasks and nodes if needed, unless `migrate` is false. */
  static async open(url: string, options: NodeDatabaseOptions): Promise<NodeDatabase> {
    const { leaseMs = LEASE_MS } = options.cluster ?? {};
    if (!(leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS)) {
      throw new StoreError(`leaseMs is ${leaseMs}`, {
        hint: `use ${MIN_LEASE_MS} to ${MAX_LEASE_MS} milliseconds`,
      });
    }
    const { poolSize, migrate } = options;
    const db = await openPostgres(url, { schemas: [TASKS, CLUSTER], poolSize, migrate });
    return new NodeDatabase(db, options);
  }

  /**
   * Fails if a write would fail, because the database cannot be reached, is read-only, or is full. Changes no data.
   * Calls at the same time share one check.
   */
  probe(): Promise<void> {
    return (this.#probing ??= this.#probe().finally(() => (this.#probing = undefined)));
  }

  /**
   * The inserted rows are rolled back and not deleted, so that they can be vacuumed at once. Deleted rows could not be
   * vacuumed during a long transaction of another client, such as a backup. The update finds out whether a transaction
   * can be committed.
   */
  #probe(): Promise<void> {
    const data = randomBytes(PROBE_ROWS * PROBE_ROW_BYTES);
    return this.db.transaction(async (tx) => {
      await tx.query('SAVEPOINT probe');
      await tx.query(
        `INSERT INTO parley.probe
         SELECT substring($1::bytea FROM n * $2::integer + 1 FOR $2) FROM generate_series(0, $3::integer - 1) AS n`,
        [data, PROBE_ROW_BYTES, PROBE_ROWS],
      );
      await tx.query('ROLLBACK TO SAVEPOINT probe');
      await tx.query(`UPDATE parley.meta SET value = value WHERE key = 'cursor_key'`);
    });
  }

  /** Returns this object for another part of the process, which must also call `close`. */
  share(): this {
    this.#users++;
    return this;
  }

  /** Closes the connections, if no other part of the process needs them. Each part calls this once. */
  async close(): Promise<void> {
    this.#users--;
    if (this.#users === 0) await this.db.close();
  }
}
