/**
 * A task store in memory. Its tasks are lost when the process ends.
 *
 * Each task is in several linked lists, called chains. There is one for its scope, one for its state, and one for its
 * context. In each chain, the task whose status changed last is first. So the time for a page depends on the page size,
 * not on the number of tasks, and the total is the length of a chain. In these cases, however, the tasks of one chain
 * are checked and counted one by one:
 *
 * - A list selects a context and a state. If the state is interrupted, the chain is short, because it has only the
 *   tasks of this context in this state. Such lists are frequent.
 * - A list has `updatedSince`.
 *
 * Each page has the order at the time of its request. If the status of a task changes between the requests for two
 * pages, the task moves to the front. So a task is never listed twice, but may be missing from the later page.
 */
import { randomBytes } from 'node:crypto';
import {
  isInterrupted,
  isSettled,
  taskNotFound,
  type LogEntry,
  type PushNotificationConfig,
  type TaskStatus,
} from '../../protocol/index.ts';
import { Chain, ChainLinks } from './chains.ts';
import { ExpiryIndex } from './expiry-index.ts';
import { MemoryPush } from './memory-push.ts';
import { type Found, ScopeIndex, StoredTask, type StoreLinks } from './memory-tasks.ts';
import {
  ChangeClock,
  checkAppend,
  Cursors,
  KEPT,
  scopeKey,
  setsStatus,
  foldedStatus,
  UNFINISHED,
} from './store-rules.ts';
import type {
  Append,
  AppendOutcome,
  DeadLetter,
  DeadLetterQuery,
  DuePush,
  DueQuery,
  FinishedQuery,
  FinishedTask,
  ListPage,
  ListQuery,
  PushChange,
  PushRecord,
  Scope,
  StoreRetention,
  TaskHead,
  TaskStore,
} from './store.ts';

/** The limits of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * Maximum number of tasks. Default: 100,000. If it is reached, a new task replaces the task that finished first. If
   * all tasks are unfinished, new tasks are refused.
   */
  readonly maxTasks?: number | undefined;
  /**
   * Maximum total size of all tasks in bytes. Sizes are estimated. If it is reached, finished tasks are removed and new
   * tasks are refused as for `maxTasks`. Default: 1 GiB.
   */
  readonly maxBytes?: number | undefined;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Makes a task store in memory. Its tasks are lost when the process ends. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options);
}

/** The store that `memoryStore` returns. Its methods return values, not promises. */
export class MemoryStore implements TaskStore {
  readonly name = 'memory';
  readonly durable = false;
  readonly #tasks = new Map<string, StoredTask>();
  /** The tasks by number, for the chains. The numbers of removed tasks are reused. */
  readonly #numbered: (StoredTask | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #scopes = new Map<string, ScopeIndex>();
  /** Terminal tasks of all scopes, in the order in which they ended. */
  readonly #finished = new Chain();
  readonly #expiring = new ExpiryIndex<StoredTask>();
  readonly #push = new MemoryPush();
  readonly #links: StoreLinks = {
    all: new ChainLinks(),
    state: new ChainLinks(),
    context: new ChainLinks(),
    waiting: new ChainLinks(),
    finished: new ChainLinks(),
  };
  readonly #maxTasks: number;
  readonly #maxBytes: number;
  #bytes = 0;
  /** Size of the finished tasks in bytes. Only finished tasks are removed to make room. */
  #finishedBytes = 0;
  readonly #clock: ChangeClock;
  readonly #cursors = new Cursors(randomBytes(32));

  constructor({ maxTasks = 100_000, maxBytes = 2 ** 30, now }: MemoryStoreOptions) {
    this.#maxTasks = maxTasks;
    this.#maxBytes = maxBytes;
    this.#clock = new ChangeClock(now);
  }

  append(batch: readonly Append[]): AppendOutcome[] {
    for (const append of batch) checkAppend(append);
    const outcomes = batch.map((append) => this.#take(append));
    if (this.#isFull()) this.#makeRoom(batch);
    return outcomes;
  }

  /** Removes the oldest finished tasks. Keeps the tasks in the batch, because clients wait for them. */
  #makeRoom(batch: readonly Append[]): void {
    const written = new Set(batch.map(({ taskId }) => taskId));
    while (this.#isFull()) {
      const task = this.#at(this.#finished.oldest);
      if (!task || written.has(task.taskId)) return;
      this.#remove(task);
    }
  }

  /** Returns whether a new task would fit if all finished tasks were removed. */
  #hasRoom({ bytes = 0 }: Append): boolean {
    const kept = this.#tasks.size - this.#finished.size;
    return kept < this.#maxTasks && this.#bytes - this.#finishedBytes + bytes <= this.#maxBytes;
  }

  #isFull(): boolean {
    return this.#tasks.size > this.#maxTasks || this.#bytes > this.#maxBytes;
  }

  head(scope: Scope, taskId: string): TaskHead | undefined {
    return this.#find(scope, taskId)?.head();
  }

  read(taskId: string, after: number, limit: number): LogEntry[] {
    const events = this.#tasks.get(taskId)?.events.slice(after, after + limit) ?? [];
    return events.map((event, at) => ({ seq: after + at + 1, event }));
  }

  findMessage(scope: Scope, messageId: string): string | undefined {
    return this.#scopes.get(scopeKey(scope))?.messages.get(messageId)?.taskId;
  }

  list(query: ListQuery): ListPage {
    const position = query.cursor === undefined ? undefined : this.#position(query, query.cursor);
    const found = this.#scopes.get(scopeKey(query))?.chain(query, this.#links);
    const heads: TaskHead[] = [];
    const total = query.total === false ? undefined : this.#count(found, query);
    if (!found) return { heads, total };
    let last: StoredTask | undefined;
    for (const task of this.#walk(found.links, this.#start(found, query, position))) {
      if (tooOld(task, query)) break;
      if (!hasState(task, query)) continue;
      if (last && heads.length >= query.limit) {
        const next = this.#cursors.write(query, `${last.changed}.${last.taskId}`);
        return { heads, total, next };
      }
      heads.push(task.head());
      last = task;
    }
    return { heads, total };
  }

  unfinished(): TaskHead[] {
    const heads: TaskHead[] = [];
    for (const scope of this.#scopes.values()) {
      for (const state of UNFINISHED) {
        const newest = scope.states.get(state)?.newest;
        for (const task of this.#walk(this.#links.state, newest)) heads.push(task.head());
      }
    }
    return heads;
  }

  expired(now: number, limit: number): TaskHead[] {
    return this.#expiring.due(now, limit).map((task) => task.head());
  }

  setExpiry(scope: Scope, taskId: string, at?: number): void {
    const task = this.#find(scope, taskId);
    if (task) this.#expire(task, at);
  }

  #expire(task: StoredTask, at: number | undefined): void {
    if (task.expiresAt !== undefined) this.#expiring.remove(task);
    task.expiresAt = at;
    if (at !== undefined) this.#expiring.add(task);
  }

  delete(scope: Scope, taskId: string, seq?: number): boolean {
    const task = this.#find(scope, taskId);
    if (!task || (seq !== undefined && !(task.isFinished && task.events.length === seq))) {
      return false;
    }
    this.#remove(task);
    return true;
  }

  savePush(record: PushRecord): void {
    const task = this.#tasks.get(record.taskId);
    if (!task) throw taskNotFound(record.taskId);
    this.#push.save(record, task);
  }

  listPush(taskId: string): PushRecord[] {
    return this.#push.list(taskId);
  }

  deletePush(taskId: string, configId: string, only?: PushNotificationConfig): void {
    this.#push.delete(taskId, configId, only);
  }

  savePushProgress(changes: readonly PushChange[]): void {
    for (const change of changes) {
      this.#push.change(change, this.#tasks.get(change.taskId)?.events.length ?? 0);
    }
  }

  duePush(query: DueQuery): DuePush[] {
    return this.#push.due(query);
  }

  deadLetters(query: DeadLetterQuery): DeadLetter[] {
    return this.#push.deadLetters(query);
  }

  /** Removes old tasks. In addition, `append` removes finished tasks when the limits of the store are reached. */
  readonly retention: StoreRetention = {
    size: () => this.#bytes,
    sizeOf: (tasks) =>
      tasks.reduce((sum, { taskId }) => sum + (this.#tasks.get(taskId)?.bytes ?? 0), 0),
    finished: (query) => this.#finishedTasks(query),
    remove: (tasks) => {
      for (const { taskId } of tasks) {
        const task = this.#tasks.get(taskId);
        if (task?.isFinished) this.#remove(task);
      }
      return tasks.length;
    },
    reclaim: () => false,
  };

  #finishedTasks({ after = 0, limit, kept = false }: FinishedQuery): FinishedTask[] {
    const found: FinishedTask[] = [];
    const links = this.#links.finished;
    let next = this.#finished.oldest;
    for (; next !== undefined && found.length < limit; next = Chain.newer(links, next)) {
      const { tenant, owner, taskId, contextId, changed, expiresAt } = this.#numbered[next]!;
      if (changed <= after || (expiresAt === KEPT) !== kept) continue;
      const isDue = this.#push.list(taskId).some(({ progress }) => progress.dueAt !== undefined);
      const endedAt = ChangeClock.time(changed);
      found.push({ tenant, owner, taskId, contextId, endedAt, position: changed, isDue });
    }
    return found;
  }

  close(): void {
    this.#tasks.clear();
    this.#numbered.length = 0;
    this.#scopes.clear();
    this.#expiring.clear();
    this.#push.clear();
  }

  #find(scope: Scope, taskId: string): StoredTask | undefined {
    const task = this.#tasks.get(taskId);
    return task && task.tenant === scope.tenant && task.owner === scope.owner ? task : undefined;
  }

  #take(append: Append): AppendOutcome {
    const { taskId, expected, entries, messageIds = [] } = append;
    const known = this.#tasks.get(taskId);
    if (expected === 0 ? known : this.#find(append, taskId)?.events.length !== expected) {
      return 'conflict';
    }
    let scope = known ? known.scope : this.#scopes.get(scopeKey(append));
    for (const id of messageIds) if (scope?.messages.has(id)) return 'conflict';
    if (!known && !this.#hasRoom(append)) return 'full';
    if (!scope) this.#scopes.set(scopeKey(append), (scope = new ScopeIndex(append)));

    if (known && isSettled(known.status.state)) this.#push.resume(taskId);
    let state = known?.status.state;
    let status: TaskStatus | undefined;
    for (const { event } of entries) {
      if (!setsStatus(taskId, state, event)) continue;
      status = foldedStatus(event);
      state = status.state;
    }
    let task = known;
    if (!task) {
      // This cannot happen, because checkAppend has checked that the first entry is the task.
      if (!status) throw new Error(`task ${taskId} has no status`);
      task = new StoredTask(this.#free.pop() ?? this.#numbered.length, append, scope, status);
      this.#tasks.set(taskId, task);
      this.#numbered[task.number] = task;
      if (append.expiresAt !== undefined) this.#expire(task, append.expiresAt);
    }
    for (const { event } of entries) task.add(event);
    const { bytes = 0 } = append;
    if (task.isFinished) this.#finishedBytes += bytes;
    task.bytes += bytes;
    this.#bytes += bytes;
    for (const id of messageIds) {
      scope.messages.set(id, task);
      task.addMessageId(id);
    }
    if (status) this.#changed(task, status);
    return 'ok';
  }

  #changed(task: StoredTask, status: TaskStatus): void {
    if (task.isListed) this.#unlist(task);
    task.changed = this.#clock.next();
    if (task.createdAt === 0) task.createdAt = ChangeClock.time(task.changed);
    task.status = status;
    task.scope.add(task, this.#links);
    if (!task.isFinished) return;
    this.#finished.add(this.#links.finished, task.number);
    this.#finishedBytes += task.bytes;
  }

  /** Removes the task from all its chains. */
  #unlist(task: StoredTask): void {
    task.scope.remove(task, this.#links);
    if (!task.isFinished) return;
    this.#finished.remove(this.#links.finished, task.number);
    this.#finishedBytes -= task.bytes;
  }

  #remove(task: StoredTask): void {
    this.#unlist(task);
    this.#expire(task, undefined);
    this.#bytes -= task.bytes;
    this.#tasks.delete(task.taskId);
    this.#numbered[task.number] = undefined;
    this.#free.push(task.number);
    task.scope.forget(task);
    this.#push.forget(task.taskId);
    if (task.scope.all.size === 0) this.#scopes.delete(scopeKey(task));
  }

  #at(number: number | undefined): StoredTask | undefined {
    return number === undefined ? undefined : this.#numbered[number];
  }

  /** Yields the tasks of a chain from `from` on, newest first. */
  *#walk(links: ChainLinks, from: number | undefined): Generator<StoredTask> {
    for (let number = from; number !== undefined; number = Chain.older(links, number)) {
      yield this.#numbered[number]!;
    }
  }

  /**
   * Returns the number of the task at which the search for a page begins, or undefined if no task is left. Searches the
   * chain only if the last task of the previous page has changed or is gone.
   */
  #start(
    { chain, links }: Found,
    query: ListQuery,
    position: Position | undefined,
  ): number | undefined {
    if (!position) return chain.newest;
    const { changed, task } = position;
    if (task && isIn(task, query)) return Chain.older(links, task.number);
    for (const each of this.#walk(links, chain.newest)) {
      if (each.changed < changed) return each.number;
    }
    return undefined;
  }

  #count(found: Found | undefined, query: ListQuery): number {
    if (!found) return 0;
    const { chain, links } = found;
    const { contextId, state, updatedSince } = query;
    const whole = updatedSince === undefined && (contextId === undefined || state === undefined);
    if (whole) return chain.size;
    let count = 0;
    for (const task of this.#walk(links, chain.newest)) {
      if (tooOld(task, query)) break;
      if (hasState(task, query)) count++;
    }
    return count;
  }

  /**
   * Decodes a cursor. Returns the change number of the previous page's last task, and the task itself if its status has
   * not changed since then.
   */
  #position(scope: Scope, cursor: string): Position {
    const text = this.#cursors.read(scope, cursor);
    const dot = text.indexOf('.');
    const changed = Number(text.slice(0, dot));
    const task = this.#find(scope, text.slice(dot + 1));
    return { changed, task: task?.changed === changed ? task : undefined };
  }
}

interface Position {
  readonly changed: number;
  readonly task: StoredTask | undefined;
}

/** Returns whether the task is in the chain that `ScopeIndex.chain` returns for the query. */
function isIn(task: StoredTask, { contextId, state }: ListQuery): boolean {
  if (contextId !== undefined && task.contextId !== contextId) return false;
  if (contextId !== undefined && !(state !== undefined && isInterrupted(state))) return true;
  return state === undefined || task.status.state === state;
}

function hasState(task: StoredTask, { state }: ListQuery): boolean {
  return state === undefined || task.status.state === state;
}

function tooOld(task: StoredTask, { updatedSince }: ListQuery): boolean {
  return updatedSince !== undefined && task.changed < ChangeClock.first(updatedSince);
}
