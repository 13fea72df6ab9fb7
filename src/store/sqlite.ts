/**
 * A task store in one SQLite file, for one process.
 *
 * A batch of appends is one transaction (group commit). With durability `normal`, a written batch survives a crash of
 * the process. With `full`, it also survives a crash of the machine. If a batch cannot be written, for example because
 * the disk is full, no part of it is written. The next batch may succeed.
 *
 * Memory use is bounded, because logs are not cached, and caches have a maximum size.
 *
 * Lists have the same order as in the memory store. If the status of a task changes between the requests for two pages,
 * the task moves to the front. So a task is never listed twice, but may be missing from the later page. Totals come
 * from counters. The tasks of a context are counted when the context is listed and its counts are not cached. With
 * `updatedSince`, the matching index entries are counted for every page that needs a total.
 */
import { StoreError, toStoreError } from '../base/sqlite/index.ts';
import { reasonOf } from '../base/index.ts';
import type { DatabaseSync } from 'node:sqlite';
import {
  isSettled,
  isTerminal,
  type PushNotificationConfig,
  type Task,
  type TaskStatusUpdateEvent,
} from '../protocol/index.ts';
import {
  consoleLogger,
  type Logger,
  type SerializedEntry,
  ChangeClock,
  checkAppend,
  Cursors,
  scopeKey,
  setsStatus,
  foldedStatus,
  UNFINISHED,
  type Append,
  type AppendOutcome,
  type DeadLetter,
  type DeadLetterQuery,
  type DuePush,
  type DueQuery,
  type ListPage,
  type ListQuery,
  type PushChange,
  type PushRecord,
  type Scope,
  type StoreRetention,
  type TaskHead,
  type TaskStore,
} from '../tasks/index.ts';
import { BatchChanges, type Version } from './batch-changes.ts';
import { ContextCounts } from './context-counts.ts';
import { openStoreFile, PROBE, type OpenStore } from './open-store.ts';
import { SecretBox, secretKeys, type SecretKeyOptions } from './secrets.ts';
import { SharedReads } from './shared-reads.ts';
import { SqlitePush } from './sqlite-push.ts';
import { sqliteRetention } from './sqlite-retention.ts';
import {
  END,
  firstChange,
  lastChangeOf,
  prepareStatements,
  type HeadRow,
  type StateCount,
  type Statements,
} from './statements.ts';
import { WebhookSecrets } from './webhook-secrets.ts';

/** The options of `sqliteStore`. */
export interface SqliteStoreOptions extends SecretKeyOptions {
  /**
   * With `normal` (the default), stored appends survive a crash of the process. With `full`, they also survive a crash
   * of the machine.
   */
  readonly durability?: 'normal' | 'full' | undefined;
  readonly logger?: Logger | undefined;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Maximum size of the file, in pages of 4 KiB. */
  readonly maxPages?: number | undefined;
}

/**
 * Opens a store, and creates its file and folder if needed. If this fails, throws a StoreError with a one-line message
 * and a `hint` for the user.
 *
 * The secrets of webhooks are encrypted with `secretKey`. Without it, they are encrypted with the key in
 * `secretKeyFile`, which is created when it is first needed. By default, this is the file PATH.key.
 *
 *   const store = sqliteStore('/var/lib/parley/tasks.db');
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): SqliteStore {
  const opened = openStoreFile(path, {
    synchronous: options.durability === 'full' ? 'FULL' : 'NORMAL',
    maxPages: options.maxPages,
  });
  try {
    return new SqliteStore(opened, {
      ...options,
      secretKeyFile: options.secretKeyFile ?? `${path}.key`,
    });
  } catch (error) {
    opened.close();
    throw toStoreError(error, path);
  }
}

/** Maximum number of cached task versions, and of cached scope ids. */
const MAX_KNOWN = 10_000;

/** The store that `sqliteStore` returns. Its methods return values, not promises. */
export class SqliteStore implements TaskStore {
  readonly name = 'sqlite';
  readonly durable = true;
  readonly #db: DatabaseSync;
  readonly #opened: OpenStore;
  readonly #sql: Statements;
  readonly #clock: ChangeClock;
  readonly #cursors: Cursors;
  readonly #push: SqlitePush;
  readonly #reads: SharedReads;
  /** Versions of tasks, by task id. This cache and the next two are cleared when a transaction is rolled back. */
  readonly #versions = new Map<string, Version>();
  readonly #scopes = new Map<string, number>();
  readonly #contexts = new ContextCounts();
  readonly retention: StoreRetention;

  /** @internal */
  constructor(opened: OpenStore, options: SqliteStoreOptions) {
    const { logger = consoleLogger, now } = options;
    const { db } = opened;
    this.#db = db;
    this.#opened = opened;
    this.#sql = prepareStatements(db);
    this.#reads = new SharedReads(db);
    this.#clock = new ChangeClock(now, this.#sql.lastChange.get()?.[0] ?? 0);
    this.#cursors = new Cursors(this.#meta('cursor_key'));
    const secrets = new SecretBox(secretKeys(options), this.#meta('secret_salt'));
    const webhooks = new WebhookSecrets(secrets, logger);
    this.#push = new SqlitePush(db, webhooks, (work) => this.#transaction(work));
    this.#push.reseal();
    this.retention = sqliteRetention(db, {
      endReads: () => this.#reads.end(),
      transaction: (work) => this.#transaction(work),
      version: (taskId) => this.#version(taskId),
      drop: (taskId, version) => this.#drop(taskId, version),
      dropEvents: (taskId, version, after) => this.#dropEvents(taskId, version, after),
    });
  }

  append(batch: readonly Append[]): AppendOutcome[] {
    for (const append of batch) checkAppend(append);
    return this.#transaction(() => {
      const changes = new BatchChanges();
      const outcomes = batch.map((append) => this.#take(append, changes));
      for (const { state, statusSeq, changed, id } of changes.statuses) {
        this.#sql.setStatus.run(state, statusSeq, changed, id);
      }
      for (const { scope, state, n } of changes.counts.values()) {
        if (n !== 0) this.#sql.count.run(scope, state, n);
      }
      // The cache is cleaned only now, because a status must stay in the cache until it is written.
      for (const { taskId } of batch) {
        const version = this.#versions.get(taskId);
        if (version && isTerminal(version.state)) this.#versions.delete(taskId);
      }
      dropOldest(this.#versions);
      return outcomes;
    });
  }

  head(scope: Scope, taskId: string): TaskHead | undefined {
    this.#reads.begin();
    const number = this.#scope(scope);
    const row = number === undefined ? undefined : this.#sql.head.get(taskId, number);
    return row && this.#withArtifactTime(headOf(scope, row));
  }

  read(taskId: string, after: number, limit: number): SerializedEntry[] {
    const rows = this.#sql.read.all(taskId, after, Math.min(limit, END));
    return rows.map(([seq, json]) => ({ seq, event: JSON.parse(json), json }));
  }

  findMessage(scope: Scope, messageId: string): string | undefined {
    this.#reads.begin();
    const number = this.#scope(scope);
    return number === undefined ? undefined : this.#messageTask(number, messageId);
  }

  list(query: ListQuery): ListPage {
    const { cursor, limit } = query;
    const before = cursor === undefined ? END : Number(this.#cursors.read(query, cursor));
    const scope = this.#scope(query);
    if (scope === undefined) return { heads: [], total: query.total === false ? undefined : 0 };
    const states = this.#states(scope, query);
    const rows = this.#rows(scope, states, query, before);
    const total = query.total === false ? undefined : this.#total(scope, states, query);
    const shown = rows.slice(0, limit);
    const heads = shown.map((row) => headOf(query, row));
    const last = rows.length > limit ? shown.at(-1) : undefined;
    return last
      ? { heads, total, next: this.#cursors.write(query, String(lastChangeOf(last))) }
      : { heads, total };
  }

  unfinished(): TaskHead[] {
    const rows = UNFINISHED.flatMap((state) => this.#sql.inState.all(state));
    return rows.map(([tenant, owner, ...row]) =>
      this.#withArtifactTime(headOf({ tenant, owner }, row)),
    );
  }

  expired(now: number, limit: number): TaskHead[] {
    const rows = this.#sql.expired.all(now, limit);
    return rows.map(([tenant, owner, ...row]) => headOf({ tenant, owner }, row));
  }

  setExpiry(scope: Scope, taskId: string, at: number | undefined): void {
    this.#transaction(() => {
      const number = this.#scope(scope);
      if (number !== undefined) this.#sql.setExpiry.run(at ?? null, taskId, number);
    });
  }

  delete(scope: Scope, taskId: string, seq?: number): boolean {
    return this.#transaction(() => {
      const version = this.#version(taskId);
      if (!version || version.scope !== this.#scope(scope)) return false;
      if (seq !== undefined && !(version.seq === seq && isTerminal(version.state))) return false;
      this.#drop(taskId, version);
      return true;
    });
  }

  /** Removes a task. Call this in a transaction. */
  #drop(taskId: string, version: Version): void {
    const { id, scope, state } = version;
    this.#dropEvents(taskId, version, 0);
    this.#push.drop(id);
    const [contextId] = this.#sql.dropTask.get(id) ?? [];
    this.#sql.count.run(scope, state, -1);
    if (contextId !== undefined) this.#contexts.change(scope, contextId, state, undefined);
  }

  /**
   * Removes the entries after `after`, and the message ids of the task. If the entry with the status is removed, the
   * task is no longer found. Call this in a transaction.
   */
  #dropEvents(taskId: string, { id, scope }: Version, after: number): void {
    for (const [accepts] of this.#sql.accepted.all(id)) {
      const messageIds: string[] = JSON.parse(accepts);
      for (const messageId of messageIds) this.#sql.dropMessage.run(scope, messageId);
    }
    this.#sql.dropEvents.run(id, after);
    this.#versions.delete(taskId);
  }

  checkPush(config: PushNotificationConfig): void {
    this.#push.check(config);
  }

  savePush(record: PushRecord): void {
    this.#push.save(record);
  }

  listPush(taskId: string): PushRecord[] {
    return this.#push.list(taskId);
  }

  deletePush(taskId: string, configId: string, only?: PushNotificationConfig): void {
    this.#push.delete(taskId, configId, only);
  }

  savePushProgress(changes: readonly PushChange[]): void {
    this.#push.change(changes);
  }

  duePush(query: DueQuery): DuePush[] {
    return this.#push.due(query);
  }

  deadLetters(query: DeadLetterQuery): DeadLetter[] {
    return this.#push.deadLetters(query);
  }

  /** Reads from the file and writes to it. Throws a StoreError if the file is deleted, replaced, damaged or full. */
  probe(): void {
    this.#opened.checkReadable();
    this.#transaction(() => this.#db.exec(PROBE));
  }

  close(): void {
    this.#reads.end();
    this.#opened.close();
  }

  /** Runs `work` in a transaction. If this fails, rolls back, clears the caches, and throws a StoreError. */
  #transaction<Result>(work: () => Result): Result {
    try {
      this.#opened.checkPresent();
      this.#reads.end();
      this.#sql.begin.run();
      const result = work();
      this.#sql.commit.run();
      return result;
    } catch (error) {
      this.#versions.clear();
      this.#scopes.clear();
      this.#contexts.clear();
      // After some errors, such as a full disk, SQLite has already rolled the transaction back.
      if (this.#db.isOpen && this.#db.isTransaction) this.#sql.rollback.run();
      const known = toStoreError(error, 'the task store', 'write to');
      throw new StoreError(`cannot write to the task store: ${reasonOf(error)}`, {
        ...(known instanceof StoreError && { code: known.code }),
        cause: error,
      });
    }
  }

  #take(append: Append, changes: BatchChanges): AppendOutcome {
    const { taskId, contextId, expected, entries, messageIds } = append;
    // A new task is not looked up, because `#create` finds out whether its id is in use.
    const known = expected === 0 ? this.#versions.get(taskId) : this.#version(taskId);
    if ((known?.seq ?? 0) !== expected) return 'conflict';
    const scope = this.#scope(append) ?? this.#addScope(append);
    if (known && known.scope !== scope) return 'conflict';
    if (messageIds?.some((id) => this.#messageTask(scope, id) !== undefined)) return 'conflict';

    if (known && isSettled(known.state)) this.#push.resume(known.id);
    let state = known?.state;
    let statusSeq = 0;
    for (const { seq, event } of entries) {
      if (!setsStatus(taskId, state, event)) continue;
      state = event.status.state;
      statusSeq = seq;
    }
    // `state` is always set, because checkAppend has checked that a log starts with its task.
    if (statusSeq > 0 && state) {
      const status = { state, statusSeq, changed: this.#clock.next() };
      if (!known && !this.#create(append, { scope, seq: 0, ...status })) return 'conflict';
      changes.count(scope, known?.state, state);
      this.#contexts.change(scope, contextId, known?.state, state);
      if (known) changes.statuses.add(Object.assign(known, status));
    }
    const version = this.#version(taskId);
    if (!version) throw new Error(`task ${taskId} was not created`);
    let accepts: string | null = null;
    if (messageIds && messageIds.length > 0) {
      accepts = JSON.stringify(messageIds);
      for (const id of messageIds) this.#sql.addMessage.run(scope, id, version.id);
    }
    const last = entries.at(-1);
    for (const entry of entries as readonly SerializedEntry[]) {
      const json = entry.json ?? JSON.stringify(entry.event);
      const isTimed = entry === last && entry.event.kind === 'artifact-update';
      const at = isTimed ? this.#clock.now() : null;
      this.#sql.addEvent.run(version.id, entry.seq, accepts, json, at);
      accepts = null;
    }
    version.seq = expected + entries.length;
    return 'ok';
  }

  /** Adds the time of a working task's last event, if this event is an artifact event. */
  #withArtifactTime(head: TaskHead): TaskHead {
    if (head.status.state !== 'working') return head;
    const [at] = this.#sql.eventTime.get(head.taskId, head.seq) ?? [];
    return { ...head, artifactAt: at ?? undefined };
  }

  /** Adds a task. Returns false if its id is in use. */
  #create({ taskId, contextId, expiresAt }: Append, version: Omit<Version, 'id'>): boolean {
    const { scope, state, statusSeq, changed } = version;
    const createdAt = ChangeClock.time(changed);
    const { lastInsertRowid, changes } = this.#sql.addTask.run(
      taskId,
      scope,
      contextId,
      state,
      statusSeq,
      changed,
      createdAt,
      expiresAt ?? null,
    );
    if (Number(changes) === 0) return false;
    this.#remember(taskId, { ...version, id: Number(lastInsertRowid) });
    return true;
  }

  /** Returns the version of a task, from the cache if possible, and caches it. */
  #version(taskId: string): Version | undefined {
    const known = this.#versions.get(taskId);
    if (known) return known;
    const row = this.#sql.version.get(taskId);
    if (!row) return undefined;
    const [id, scope, state, statusSeq, seq] = row;
    return this.#remember(taskId, { id, scope, state, seq, statusSeq, changed: 0 });
  }

  #remember(taskId: string, version: Version): Version {
    this.#versions.set(taskId, version);
    return version;
  }

  #scope(scope: Scope): number | undefined {
    const key = scopeKey(scope);
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const row = this.#sql.findScope.get(scope.tenant, scope.owner);
    return row && this.#rememberScope(key, row[0]);
  }

  #addScope(scope: Scope): number {
    const id = Number(this.#sql.addScope.run(scope.tenant, scope.owner).lastInsertRowid);
    return this.#rememberScope(scopeKey(scope), id);
  }

  #rememberScope(key: string, id: number): number {
    this.#scopes.set(key, id);
    dropOldest(this.#scopes);
    return id;
  }

  #messageTask(scope: number, messageId: string): string | undefined {
    return this.#sql.messageTask.get(scope, messageId)?.[0];
  }

  /** Returns the states that match the query, with their numbers of tasks in all contexts, the largest number first. */
  #states(scope: number, { state }: ListQuery): StateCount[] {
    const counts = this.#sql.counters.all(scope);
    return state === undefined ? counts : counts.filter(([each]) => each === state);
  }

  /** Returns the rows of a page, merged from the newest tasks of each state. Adds a row if there is another page. */
  #rows(
    scope: number,
    states: readonly StateCount[],
    { contextId, updatedSince, limit }: ListQuery,
    before: number,
  ): HeadRow[] {
    const { pageOfState, pageOfContext } = this.#sql;
    let from = firstChange(updatedSince);
    let rows: HeadRow[] = [];
    for (const [state] of states) {
      const newest =
        contextId === undefined
          ? pageOfState.all(scope, state, from, before, limit + 1)
          : pageOfContext.all(scope, state, from, before, limit + 1, contextId);
      rows.push(...newest);
      rows = rows.toSorted((a, b) => lastChangeOf(b) - lastChangeOf(a)).slice(0, limit + 1);
      // When the page is full, only tasks that are newer than its last row are needed.
      const last = rows[limit];
      if (last) from = lastChangeOf(last);
    }
    return rows;
  }

  #total(
    scope: number,
    states: readonly StateCount[],
    { contextId, state, updatedSince }: ListQuery,
  ): number {
    const { countOfState, countOfContext, countsOfContext } = this.#sql;
    if (updatedSince === undefined && contextId !== undefined) {
      const count = () => countsOfContext.all(scope, contextId);
      return this.#contexts.total(scope, contextId, state, count);
    }
    const since = firstChange(updatedSince);
    let total = 0;
    for (const [each, n] of states) {
      if (updatedSince === undefined) total += n;
      else if (contextId === undefined)
        total += countOfState.get(scope, each, since, END)?.[0] ?? 0;
      else total += countOfContext.get(scope, each, since, END, contextId)?.[0] ?? 0;
    }
    return total;
  }

  #meta(key: string): Uint8Array {
    const row = this.#sql.meta.get(key);
    if (!row) throw new StoreError(`the task store is damaged: ${key} is missing`);
    return row[0];
  }
}

function headOf({ tenant, owner }: Scope, row: HeadRow): TaskHead {
  const [taskId, contextId, changed, createdAt, expires, seq, json] = row;
  const event: Task | TaskStatusUpdateEvent = JSON.parse(json);
  const updatedAt = ChangeClock.time(changed);
  const status = foldedStatus(event);
  const expiresAt = expires ?? undefined;
  return { tenant, owner, taskId, contextId, seq, status, updatedAt, createdAt, expiresAt };
}

function dropOldest(cache: Map<string, unknown>): void {
  for (const key of cache.keys()) {
    if (cache.size <= MAX_KNOWN) return;
    cache.delete(key);
  }
}
