/**
 * The store that keeps everything in this process, and nothing beyond it.
 *
 * Each task stands in a few chains (of its owner, of its state, of its context), newest status first. A change of
 * status moves it to their front, so that a page costs what it holds, however many tasks there are, and a total is
 * the length of a chain. Two filters together, and `updatedSince`, count along the narrower chain.
 *
 * Pages follow the order at the time of each call: a task whose status changes between two pages moves to the front,
 * so it is never shown twice, and may be missing from the pages behind.
 */
import { randomBytes } from 'node:crypto';
import {
  isTerminal,
  taskNotFound,
  type LogEntry,
  type TaskEvent,
  type TaskState,
  type TaskStatus,
} from '../protocol/index.ts';
import {
  ChangeClock,
  checkAppend,
  Cursors,
  scopeKey,
  setsStatus,
  statusOf,
  UNFINISHED,
} from './store-rules.ts';
import type {
  Append,
  AppendOutcome,
  ListPage,
  ListQuery,
  PushRecord,
  Scope,
  TaskHead,
  TaskStore,
} from './store.ts';

export interface MemoryStoreOptions {
  /**
   * Beyond this many tasks, a new one takes the place of the one that finished first (100,000 unless told). Tasks that
   * are not finished stay; when there are so many of them alone, new ones are refused.
   */
  readonly maxTasks?: number | undefined;
  /** Likewise beyond this many bytes, roughly counted (1 GiB unless told). */
  readonly maxBytes?: number | undefined;
  /** The clock, in milliseconds. */
  readonly now?: (() => number) | undefined;
}

/** A store for one process: fast, and gone when it ends. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options);
}

class MemoryStore implements TaskStore {
  readonly name = 'memory';
  readonly durable = false;
  readonly #tasks = new Map<string, StoredTask>();
  readonly #scopes = new Map<string, ScopeIndex>();
  /** Terminal tasks of every scope, in the order in which they ended. */
  readonly #finished = new Chain();
  readonly #maxTasks: number;
  readonly #maxBytes: number;
  #bytes = 0;
  /** Of these, what could be forgotten. */
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

  /** Forgets finished tasks, but none whose end was written just now: somebody waits for it. */
  #makeRoom(batch: readonly Append[]): void {
    const written = new Set(batch.map(({ taskId }) => taskId));
    while (this.#isFull()) {
      const task = this.#finished.oldest?.task;
      if (!task || written.has(task.taskId)) return;
      this.#remove(task);
    }
  }

  /** Whether the tasks that cannot be forgotten leave room for one more. */
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
    const chain = this.#scopes.get(scopeKey(query))?.chain(query);
    const heads: TaskHead[] = [];
    if (!chain) return { heads, total: 0 };
    const total = countMatches(chain, query);
    let last: StoredTask | undefined;
    for (let link = start(chain, position); link; link = link.older) {
      const { task } = link;
      if (tooOld(task, query)) break;
      if (!hasState(task, query)) continue;
      if (last && heads.length >= query.limit) {
        return { heads, total, next: this.#cursors.write(query, `${last.changed}.${last.taskId}`) };
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
        for (let link = scope.states.get(state)?.newest; link; link = link.older) {
          heads.push(link.task.head());
        }
      }
    }
    return heads;
  }

  delete(scope: Scope, taskId: string): boolean {
    const task = this.#find(scope, taskId);
    if (task) this.#remove(task);
    return task !== undefined;
  }

  savePush(record: PushRecord): void {
    const task = this.#tasks.get(record.taskId);
    if (!task) throw taskNotFound(record.taskId);
    (task.push ??= new Map()).set(record.config.id, record);
  }

  listPush(taskId: string): PushRecord[] {
    return [...(this.#tasks.get(taskId)?.push?.values() ?? [])];
  }

  deletePush(taskId: string, configId: string): void {
    this.#tasks.get(taskId)?.push?.delete(configId);
  }

  close(): void {
    this.#tasks.clear();
    this.#scopes.clear();
    this.#finished.clear();
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
    const key = scopeKey(append);
    let scope = this.#scopes.get(key);
    if (scope && messageIds.some((id) => scope?.messages.has(id))) return 'conflict';
    if (!known && !this.#hasRoom(append)) return 'full';
    if (!scope) this.#scopes.set(key, (scope = new ScopeIndex()));

    let state = known?.status.state;
    let status: TaskStatus | undefined;
    for (const { event } of entries) {
      if (!setsStatus(taskId, state, event)) continue;
      status = statusOf(event);
      state = status.state;
    }
    let task = known;
    if (!task) {
      // Unreachable: checkAppend has seen that the first entry is the task.
      if (!status) throw new Error(`task ${taskId} has no status`);
      task = new StoredTask(append, scope, status);
      this.#tasks.set(taskId, task);
    }
    for (const { event } of entries) task.events.push(event);
    const { bytes = 0 } = append;
    if (task.isFinished) this.#finishedBytes += bytes;
    task.bytes += bytes;
    this.#bytes += bytes;
    for (const id of messageIds) {
      scope.messages.set(id, task);
      task.messageIds.push(id);
    }
    if (status) this.#changed(task, status);
    return 'ok';
  }

  #changed(task: StoredTask, status: TaskStatus): void {
    task.changed = this.#clock.next();
    if (task.createdAt === 0) task.createdAt = ChangeClock.time(task.changed);
    task.status = status;
    task.scope.add(task);
    if (task.isFinished) this.#finishedBytes -= task.bytes;
    if (isTerminal(status.state)) {
      this.#finished.add(task.links.finished);
      this.#finishedBytes += task.bytes;
    } else {
      task.links.finished.detach();
    }
  }

  #remove(task: StoredTask): void {
    this.#bytes -= task.bytes;
    if (task.isFinished) this.#finishedBytes -= task.bytes;
    this.#tasks.delete(task.taskId);
    task.links.finished.detach();
    task.scope.remove(task);
    if (task.scope.all.size === 0) this.#scopes.delete(scopeKey(task));
  }

  /** Behind which task a page begins: the task itself if it still stands there, else its place. */
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

class StoredTask implements Scope {
  readonly taskId: string;
  readonly contextId: string;
  readonly tenant: string;
  readonly owner: string;
  readonly scope: ScopeIndex;
  readonly events: TaskEvent[] = [];
  readonly messageIds: string[] = [];
  push: Map<string, PushRecord> | undefined;
  status: TaskStatus;
  changed = 0;
  bytes = 0;
  createdAt = 0;
  readonly links = {
    all: new Link(this),
    state: new Link(this),
    context: new Link(this),
    finished: new Link(this),
  };

  constructor({ taskId, contextId, tenant, owner }: Append, scope: ScopeIndex, status: TaskStatus) {
    this.taskId = taskId;
    this.contextId = contextId;
    this.tenant = tenant;
    this.owner = owner;
    this.scope = scope;
    this.status = status;
  }

  get isFinished(): boolean {
    return this.links.finished.chain !== undefined;
  }

  head(): TaskHead {
    return {
      tenant: this.tenant,
      owner: this.owner,
      taskId: this.taskId,
      contextId: this.contextId,
      seq: this.events.length,
      status: this.status,
      updatedAt: ChangeClock.time(this.changed),
      createdAt: this.createdAt,
      bytes: this.bytes,
    };
  }
}

/** The tasks of one scope. */
class ScopeIndex {
  readonly all = new Chain();
  readonly states = new Map<TaskState, Chain>();
  readonly contexts = new Map<string, Chain>();
  readonly messages = new Map<string, StoredTask>();

  /** The narrowest chain that has every match of the query. */
  chain({ contextId, state }: ListQuery): Chain | undefined {
    if (contextId !== undefined) return this.contexts.get(contextId);
    return state === undefined ? this.all : this.states.get(state);
  }

  /** Puts the task in front of its chains, by its present status. */
  add(task: StoredTask): void {
    this.all.add(task.links.all);
    chainOf(this.states, task.status.state).add(task.links.state);
    chainOf(this.contexts, task.contextId).add(task.links.context);
  }

  remove(task: StoredTask): void {
    task.links.all.detach();
    task.links.state.detach();
    task.links.context.detach();
    if (this.contexts.get(task.contextId)?.size === 0) this.contexts.delete(task.contextId);
    for (const id of task.messageIds) this.messages.delete(id);
  }
}

function chainOf<Key>(chains: Map<Key, Chain>, key: Key): Chain {
  let chain = chains.get(key);
  if (!chain) chains.set(key, (chain = new Chain()));
  return chain;
}

/** A task's place in a chain. */
class Link {
  readonly task: StoredTask;
  chain: Chain | undefined;
  newer: Link | undefined;
  older: Link | undefined;

  constructor(task: StoredTask) {
    this.task = task;
  }

  detach(): void {
    this.chain?.remove(this);
  }
}

/** Tasks, newest change first. */
class Chain {
  newest: Link | undefined;
  oldest: Link | undefined;
  size = 0;

  /** Puts the link in front, wherever it was before. */
  add(link: Link): void {
    link.detach();
    link.chain = this;
    link.older = this.newest;
    if (this.newest) this.newest.newer = link;
    else this.oldest = link;
    this.newest = link;
    this.size++;
  }

  remove(link: Link): void {
    if (link.newer) link.newer.older = link.older;
    else this.newest = link.older;
    if (link.older) link.older.newer = link.newer;
    else this.oldest = link.newer;
    link.chain = link.newer = link.older = undefined;
    this.size--;
  }

  clear(): void {
    this.newest = this.oldest = undefined;
    this.size = 0;
  }
}

/** Where a page begins in the chain. Only a cursor whose task has moved since has to be searched for. */
function start(chain: Chain, position: Position | undefined): Link | undefined {
  if (!position) return chain.newest;
  const links = position.task?.links;
  for (const link of links ? [links.all, links.state, links.context] : []) {
    if (link.chain === chain) return link.older;
  }
  let link = chain.newest;
  while (link && link.task.changed >= position.changed) link = link.older;
  return link;
}

function hasState(task: StoredTask, { state }: ListQuery): boolean {
  return state === undefined || task.status.state === state;
}

function tooOld(task: StoredTask, { updatedSince }: ListQuery): boolean {
  return updatedSince !== undefined && task.changed < ChangeClock.first(updatedSince);
}

function countMatches(chain: Chain, query: ListQuery): number {
  const { contextId, state, updatedSince } = query;
  const whole = updatedSince === undefined && (contextId === undefined || state === undefined);
  if (whole) return chain.size;
  let count = 0;
  for (let link = chain.newest; link && !tooOld(link.task, query); link = link.older) {
    if (hasState(link.task, query)) count++;
  }
  return count;
}
