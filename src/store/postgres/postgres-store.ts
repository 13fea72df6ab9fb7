/**
 * A task store in PostgreSQL, which several processes can use at the same time.
 *
 * A batch of appends is usually one call of a function in the database, and one transaction. An append is acknowledged
 * only when the database has committed it. If the connection is lost, the store connects again and finds out whether
 * the batch was written (see append.ts).
 *
 * Lists have the same order as in the other stores. The time of a status change comes from the database's clock. If a
 * query has a context or `updatedSince`, the tasks are counted for every page that needs a total. The totals of all
 * other queries come from counters.
 */
import { BoundedMap, StoreError } from '../../base/index.ts';
import {
  acrossLostConnections,
  fromPostgresText,
  toPostgresText,
  type PoolStats,
  type Postgres,
} from '../../base/postgres/index.ts';
import { type PushNotificationConfig, TaskState } from '../../protocol/index.ts';
import {
  checkAppend,
  consoleLogger,
  Cursors,
  scopeKey,
  type Append,
  type AppendOutcome,
  type DeadLetter,
  type DeadLetterQuery,
  type DuePush,
  type DueQuery,
  type ListPage,
  type ListQuery,
  type Logger,
  type PushChange,
  type PushRecord,
  type Scope,
  type SerializedEntry,
  type StoreRetention,
  type TaskHead,
  type TaskStore,
} from '../../tasks/index.ts';
import { SecretBox, secretKeys, type SecretKeyOptions } from '../secrets.ts';
import { END, firstChange } from '../statements.ts';
import { WebhookSecrets } from '../webhook-secrets.ts';
import { appendBatch, type Appender, type ScopedAppend } from './append.ts';
import { type ClusterOptions, NodeDatabase } from './node-database.ts';
import { PostgresCluster } from './postgres-cluster.ts';
import { PostgresPush } from './postgres-push.ts';
import { dropTask, postgresRetention } from './postgres-retention.ts';
import {
  scopeHash,
  toHead,
  toHeads,
  STATEMENTS,
  type HeadRow,
  type ScopedHeadRow,
} from './statements.ts';

/** The options of `postgresStore`. */
export interface PostgresStoreOptions extends SecretKeyOptions {
  readonly logger?: Logger | undefined;
  /**
   * If set, this store has its own pool with at most this number of connections. By default, all stores of the process
   * with the same URL share a pool. Its maximum is `pool_size` in the URL, or 10 without it.
   */
  readonly poolSize?: number | undefined;
  /** If false, missing tables are an error and are not created. Default: true. */
  readonly migrate?: boolean | undefined;
  /**
   * How long an append waits for a database that cannot be reached, in milliseconds. After this time the append fails,
   * and the executions whose events could not be stored are aborted. Default: 15 seconds.
   */
  readonly retryMs?: number | undefined;
  /** How the processes that use the database share its tasks. */
  readonly cluster?: ClusterOptions | undefined;
}

/**
 * Opens a store in the schema `parley` of a database, and creates its tables if needed. If this fails, usually rejects
 * with a StoreError that has a one-line message and a `hint` for the user.
 *
 * The secrets of webhooks are encrypted with `secretKey`, or with the key in `secretKeyFile`. All processes that use
 * the database need the same key.
 *
 *   const store = await postgresStore('postgres://parley@localhost/parley');
 */
export async function postgresStore(
  url: string,
  options: PostgresStoreOptions = {},
): Promise<PostgresStore> {
  const { logger = consoleLogger } = options;
  const database = await NodeDatabase.open(url, { ...options, logger });
  try {
    const rows = await database.db.query<{ key: string; value: Uint8Array }>(
      'SELECT * FROM parley.meta',
    );
    const meta = new Map(rows.map(({ key, value }) => [key, value]));
    return new PostgresStore(database, meta, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Maximum number of cached scope numbers. */
const MAX_SCOPES = 10_000;
const RETRY_MS = 15_000;

/** The store that `postgresStore` returns. */
export class PostgresStore implements TaskStore {
  readonly name = 'postgres';
  readonly durable = true;
  readonly #db: Postgres;
  readonly #cursors: Cursors;
  readonly #push: PostgresPush;
  readonly #appender: Appender;
  /** A cache of the ids of scopes. Its entries stay valid, because scopes are never removed from the database. */
  readonly #scopes = new BoundedMap<number>(MAX_SCOPES);
  readonly retention: StoreRetention;
  readonly cluster: PostgresCluster;
  /** @internal */
  readonly database: NodeDatabase;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(
    database: NodeDatabase,
    meta: ReadonlyMap<string, Uint8Array>,
    { logger = consoleLogger, retryMs = RETRY_MS, ...keys }: PostgresStoreOptions,
  ) {
    const value = (key: string): Uint8Array => {
      const found = meta.get(key);
      if (!found) throw new StoreError(`the task store is damaged: ${key} is missing`);
      return found;
    };
    const { db } = database;
    this.database = database;
    this.#db = db;
    this.#cursors = new Cursors(value('cursor_key'));
    const box = new SecretBox(secretKeys(keys), value('secret_salt'));
    const secrets = new WebhookSecrets(box, logger);
    this.cluster = new PostgresCluster(database, secrets, logger);
    this.#push = new PostgresPush(db, secrets, this.cluster);
    void this.#push.reseal();
    this.#appender = {
      db,
      retryMs,
      node: () => this.cluster.node,
      isClosed: () => this.#closed !== undefined,
    };
    this.retention = postgresRetention(db);
  }

  async append(batch: readonly Append[]): Promise<readonly AppendOutcome[]> {
    for (const append of batch) checkAppend(append);
    if (batch.length === 0) return [];
    // All attempts use the same node id. If this node gets a new id meanwhile, the new tasks belong to its old id. Then
    // they are taken over like the tasks of a node that is gone.
    const { node } = this.cluster;
    const scoped: ScopedAppend[] = [];
    for (const [position, append] of batch.entries()) {
      const known = this.#scopes.get(scopeKey(append));
      const scope =
        known ?? (await acrossLostConnections(() => this.#addScope(append), this.#appender));
      scoped.push({ ...append, scope, position });
    }
    const outcomes = await appendBatch({ ...this.#appender, node: () => node }, scoped);
    this.cluster.appended(batch);
    return outcomes;
  }

  async head(scope: Scope, taskId: string): Promise<TaskHead | undefined> {
    const number = await this.#scope(scope);
    if (number === undefined) return undefined;
    const [row] = await this.#db.run<HeadRow>(STATEMENTS.head, [toPostgresText(taskId), number]);
    return row && toHead(scope, row);
  }

  async read(taskId: string, after: number, limit: number): Promise<SerializedEntry[]> {
    const values = [toPostgresText(taskId), after, Math.min(limit, END)];
    const rows = await this.#db.run<[seq: number, json: string]>(STATEMENTS.read, values);
    return rows.map(([seq, json]) => ({ seq, event: JSON.parse(json), json }));
  }

  async findMessage(scope: Scope, messageId: string): Promise<string | undefined> {
    const number = await this.#scope(scope);
    if (number === undefined) return undefined;
    const values = [number, toPostgresText(messageId)];
    const [row] = await this.#db.run<[taskId: string | null]>(STATEMENTS.message, values);
    return row && row[0] !== null ? fromPostgresText(row[0]) : undefined;
  }

  async list(query: ListQuery): Promise<ListPage> {
    const { cursor, limit } = query;
    const position = cursor === undefined ? [END, END] : this.#position(query, cursor);
    const scope = await this.#scope(query);
    const counts = query.total !== false;
    if (scope === undefined) return { heads: [], total: counts ? 0 : undefined };
    const [rows, total] = await Promise.all([
      this.#page(scope, query, position),
      counts ? this.#total(scope, query) : undefined,
    ]);
    const shown = rows.slice(0, limit);
    const heads = shown.flatMap((row) => toHead(query, row) ?? []);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    if (!last) return { heads, total };
    const [, , changed] = last;
    const id = last[9];
    return { heads, total, next: this.#cursors.write(query, `${changed}.${id}`) };
  }

  async unfinished(): Promise<TaskHead[]> {
    return toHeads(await this.#db.run<ScopedHeadRow>(STATEMENTS.unfinished));
  }

  async expired(now: number, limit: number): Promise<TaskHead[]> {
    return toHeads(await this.#db.run<ScopedHeadRow>(STATEMENTS.expired, [now, limit]));
  }

  async setExpiry(scope: Scope, taskId: string, at: number | undefined): Promise<void> {
    const number = await this.#scope(scope);
    if (number === undefined) return;
    await this.#db.run(STATEMENTS.setExpiry, [toPostgresText(taskId), number, at ?? null]);
  }

  async delete(scope: Scope, taskId: string, seq?: number): Promise<boolean> {
    const number = await this.#scope(scope);
    if (number === undefined) return false;
    return dropTask(this.#db, taskId, number, seq);
  }

  checkPush(config: PushNotificationConfig): void {
    this.#push.check(config);
  }

  savePush(record: PushRecord): Promise<void> {
    return this.#push.save(record);
  }

  listPush(taskId: string): Promise<PushRecord[]> {
    return this.#push.list(taskId);
  }

  deletePush(taskId: string, configId: string, only?: PushNotificationConfig): Promise<void> {
    return this.#push.delete(taskId, configId, only);
  }

  savePushProgress(changes: readonly PushChange[]): Promise<void> {
    return this.#push.change(changes);
  }

  duePush(query: DueQuery): Promise<DuePush[]> {
    return this.#push.due(query);
  }

  async deadLetters(query: DeadLetterQuery): Promise<DeadLetter[]> {
    const scope = await this.#scope(query);
    return scope === undefined ? [] : this.#push.deadLetters(query, scope);
  }

  /**
   * Writes to the database. Throws a StoreError if the database cannot be reached, is read-only, or is full. Also
   * throws if this process has joined the cluster but has no lease, because then it accepts no messages.
   */
  async probe(): Promise<void> {
    await this.database.probe();
    if (this.cluster.member !== null && !this.cluster.hasLease) {
      throw new StoreError('the lease of this node has ended', { code: 'unavailable' });
    }
  }

  /** Returns the state of the pool of connections, for metrics. */
  poolStats(): PoolStats {
    return this.#db.stats();
  }

  close(): Promise<void> {
    return (this.#closed ??= this.database.close());
  }

  async #scope(scope: Scope): Promise<number | undefined> {
    const key = scopeKey(scope);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const [row] = await this.#db.run<[id: number]>(STATEMENTS.findScope, [scopeHash(key)]);
    if (row) this.#scopes.set(key, row[0]);
    return row?.[0];
  }

  async #addScope(scope: Scope): Promise<number> {
    const found = await this.#scope(scope);
    if (found !== undefined) return found;
    const { tenant, owner } = scope;
    const values = [scopeHash(scopeKey(scope)), toPostgresText(tenant), toPostgresText(owner)];
    await this.#db.run(STATEMENTS.addScope, values);
    const added = await this.#scope(scope);
    if (added === undefined) throw new StoreError('the task store is damaged: a scope is missing');
    return added;
  }

  #position(scope: Scope, cursor: string): number[] {
    // A cursor of a SQLite store that was imported into this database has no row id.
    const [changed = 0, id = 0] = this.#cursors.read(scope, cursor).split('.').map(Number);
    return [changed, id];
  }

  /** Returns the rows of a page, and one more if there is another page. */
  #page(scope: number, query: ListQuery, position: readonly number[]): Promise<HeadRow[]> {
    const { contextId, updatedSince, limit } = query;
    const values = [scope, statesOf(query), firstChange(updatedSince), ...position, limit + 1];
    return contextId === undefined
      ? this.#db.run<HeadRow>(STATEMENTS.pageOfState, values)
      : this.#db.run<HeadRow>(STATEMENTS.pageOfContext, [...values, toPostgresText(contextId)]);
  }

  async #total(scope: number, query: ListQuery): Promise<number> {
    const { contextId, updatedSince } = query;
    const states = statesOf(query);
    const since = firstChange(updatedSince);
    const [statement, values] =
      contextId !== undefined
        ? [STATEMENTS.countOfContext, [scope, states, since, toPostgresText(contextId)]]
        : updatedSince !== undefined
          ? [STATEMENTS.countOfState, [scope, states, since]]
          : [STATEMENTS.counters, [scope, states]];
    const [row] = await this.#db.run<[total: number]>(statement, values);
    return row?.[0] ?? 0;
  }
}

function statesOf({ state }: ListQuery): readonly TaskState[] {
  return state === undefined ? TaskState.options : [state];
}
