/**
 * Appends events to the logs of tasks, and publishes each event to the task's readers after it is stored.
 *
 * All appends in one iteration of the event loop share a transaction (group commit). If the store is not durable, each
 * append is stored and published immediately. A task is live (in memory) while it is executed or read.
 */
import type { MaybePromise } from '../../base/index.ts';
import {
  copyTask,
  refusal,
  type Task,
  type TaskEvent,
  type TaskState,
} from '../../protocol/index.ts';
import { loadTask, type Loaded } from './load.ts';
import type { Logger } from './logger.ts';
import { roughSize } from './size.ts';
import { Published } from './published.ts';
import type { SerializedEntry } from '../store/store.ts';
import { LogReader, type Readable, type Sink } from './reader.ts';
import type { Append, AppendOutcome, Scope, TaskHead, TaskStore } from '../store/store.ts';

/** Maximum number of unstored entries of a task. If there are more, the writer waits for the store. */
const MAX_UNSTORED = 512;
/** Maximum size of the unstored entries of a task. */
const MAX_UNSTORED_BYTES = 256 * 1024;

/** Maximum size of a log whose folded task is kept in memory. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Means that another process appended to the log, or that the store failed. This process can no longer write to the
 * task.
 */
export class LogLostError extends Error {
  override readonly name = 'LogLostError';
}

/** Means that the store has no room for a new task. */
export class LogFullError extends LogLostError {}

/** Entries of one task that are sent to the store together. */
interface Unsent extends Append {
  readonly live: LiveTask;
  readonly entries: SerializedEntry[];
  bytes: number;
}

/** A task in memory. A caller that gets it from `EventLog` must dispose of it (`using`). */
export class LiveTask implements Scope, Readable, Disposable {
  readonly taskId: string;
  readonly contextId: string;
  readonly tenant: string;
  readonly owner: string;
  /** Sequence number of the last appended entry, stored or not. */
  seq: number;
  /** Sequence number of the last stored entry. Readers get no later entries. */
  stored: number;
  /** The state after the last appended entry. */
  state: TaskState | undefined;
  /**
   * Rough size of the log. If the store does not count sizes, only the entries since the task became live are counted.
   */
  bytes: number;
  /** Time at which the task expires, in milliseconds. Undefined if it never expires. */
  expiresAt: number | undefined;
  /**
   * Time of the last artifact event, in milliseconds. If the task became live after this event, it is set only if the
   * event was the last one in the log.
   */
  artifactAt: number | undefined;
  lost: Error | undefined;
  /** Called when this process loses the log. */
  onLost: (() => void) | undefined;
  unsent: Unsent | undefined;
  readonly readers = new Set<LogReader>();
  /** The result of the last `load`. The next call continues from it. */
  #folded: Promise<Loaded | undefined> | undefined;
  readonly #log: EventLog;
  #running = false;
  #holds = 0;
  readonly #waiting: { seq: number; resolve: () => void; reject: (error: Error) => void }[] = [];

  constructor(log: EventLog, scope: Scope, taskId: string, contextId: string, head?: TaskHead) {
    this.#log = log;
    this.tenant = scope.tenant;
    this.owner = scope.owner;
    this.taskId = taskId;
    this.contextId = contextId;
    this.seq = this.stored = head?.seq ?? 0;
    this.state = head?.status.state;
    this.bytes = head?.bytes ?? 0;
    this.expiresAt = head?.expiresAt;
    this.artifactAt = head?.artifactAt;
  }

  /** Resolves when entry `seq` is stored. */
  whenStored(seq: number): Promise<void> {
    if (this.lost) return Promise.reject(this.lost);
    if (seq <= this.stored) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ seq, resolve, reject }));
  }

  /** Whether this process executes the task or is about to execute it. */
  get running(): boolean {
    return this.#running;
  }

  /** Marks the task as running and holds it. Called only by its execution. */
  claim(): void {
    if (this.#running) throw new Error('the task is already being executed');
    this.#running = true;
    this.hold();
  }

  unclaim(): void {
    this.#running = false;
    this[Symbol.dispose]();
  }

  /** Keeps the task in memory until the caller disposes of it. */
  hold(): this {
    this.#holds++;
    return this;
  }

  [Symbol.dispose](): void {
    this.#holds--;
    this.#log.release(this);
  }

  /** Whether the task must stay in memory, because it is held, it has a reader, or an entry is not stored yet. */
  get isUsed(): boolean {
    return this.#holds > 0 || this.readers.size > 0 || this.stored < this.seq;
  }

  /**
   * Folds the stored log into a task. The caller gets a copy and may fold further entries into it. The result is kept
   * while the task is live, so that the next call reads only newer entries.
   */
  load(): Promise<Loaded | undefined> {
    const mine = (this.#folded ?? Promise.resolve(undefined)).then((from) => loadTask(this, from));
    this.#folded = this.bytes > MAX_KEPT_BYTES ? undefined : mine.catch(() => undefined);
    return mine.then((loaded) => loaded && { ...loaded, task: copyTask(loaded.task) });
  }

  read(after: number, limit: number): MaybePromise<readonly SerializedEntry[]> {
    return this.#log.store.read(this.taskId, after, limit);
  }

  forget(reader: LogReader): void {
    this.readers.delete(reader);
    this.#log.release(this);
  }

  settle(entries: readonly SerializedEntry[]): void {
    this.stored = entries.at(-1)!.seq;
    if (this.readers.size > 0) {
      for (const entry of entries) {
        const published = new Published(entry);
        for (const reader of this.readers) reader.offer(published);
      }
    }
    while (this.#waiting.length > 0 && this.#waiting[0]!.seq <= this.stored) {
      this.#waiting.shift()!.resolve();
    }
    this.#log.release(this);
  }

  lose(error: Error): void {
    if (this.lost) return;
    this.lost = error;
    this.onLost?.();
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    for (const reader of this.readers) reader.close('lost');
  }
}

/** Called for every state that a task enters, before the state is stored. Must not throw. */
export type OnState = (task: Scope, state: TaskState) => void;

export class EventLog {
  readonly #store: TaskStore;
  readonly #logger: Logger;
  readonly #onState: OnState | undefined;
  readonly #live = new Map<string, LiveTask>();
  #pending: Unsent[] = [];
  #scheduled = false;
  #writing = false;

  constructor(store: TaskStore, logger: Logger, onState?: OnState) {
    this.#store = store;
    this.#logger = logger;
    this.#onState = onState;
  }

  get store(): TaskStore {
    return this.#store;
  }

  get liveCount(): number {
    return this.#live.size;
  }

  isLive(taskId: string): boolean {
    return this.#live.has(taskId);
  }

  /** Returns the task, or undefined if it does not belong to the scope. The caller must dispose of the task. */
  open(scope: Scope, taskId: string): MaybePromise<LiveTask | undefined> {
    const live = this.#live.get(taskId);
    if (live) return this.#hold(live, scope);
    const head = this.#store.head(scope, taskId);
    return head instanceof Promise ? head.then((found) => this.#adopt(found)) : this.#adopt(head);
  }

  #adopt(head: TaskHead | undefined): LiveTask | undefined {
    if (!head) return undefined;
    let live = this.#live.get(head.taskId);
    if (!live) {
      live = new LiveTask(this, head, head.taskId, head.contextId, head);
      this.#live.set(head.taskId, live);
    }
    return this.#hold(live, head);
  }

  #hold(live: LiveTask, scope: Scope): LiveTask | undefined {
    if (live.tenant !== scope.tenant || live.owner !== scope.owner) return undefined;
    return live.hold();
  }

  /**
   * Creates a task. The caller must dispose of it. The task exists when entry 1 is stored. If a message id is already
   * used, entry 1 cannot be stored.
   */
  create(scope: Scope, task: Task, messageIds?: readonly string[], expiresAt?: number): LiveTask {
    const live = new LiveTask(this, scope, task.id, task.contextId);
    live.expiresAt = expiresAt;
    this.#live.set(task.id, live);
    void this.append(live.hold(), task, messageIds, expiresAt);
    return live;
  }

  /**
   * Appends an event. Throws if the task's state does not allow the event. Returns a promise if the writer should wait
   * for the store before its next append.
   */
  append(
    live: LiveTask,
    event: TaskEvent,
    messageIds?: readonly string[],
    expiresAt?: number,
  ): Promise<void> | undefined {
    if (live.lost) throw live.lost;
    const refused = refusal(live.state, event);
    if (refused !== undefined) throw new Error(refused);
    const seq = live.seq + 1;
    const json = this.#store.durable ? JSON.stringify(event) : undefined;
    const entry: SerializedEntry = json === undefined ? { seq, event } : { seq, event, json };
    const bytes = json === undefined ? roughSize(event) : json.length;
    live.bytes += bytes;
    live.seq = seq;
    if (event.kind === 'artifact-update') {
      live.artifactAt = Date.now();
    } else {
      const { state } = event.status;
      if (state !== live.state) this.#onState?.(live, state);
      live.state = state;
    }

    if (live.unsent && !messageIds) {
      live.unsent.entries.push(entry);
    } else {
      const { tenant, owner, taskId, contextId } = live;
      live.unsent = {
        live,
        tenant,
        owner,
        taskId,
        contextId,
        expected: seq - 1,
        entries: [entry],
        messageIds,
        expiresAt,
        bytes: 0,
      };
      this.#pending.push(live.unsent);
    }
    live.unsent.bytes += bytes;
    if (!this.#store.durable) {
      this.#flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#flush());
    }
    if (live.unsent && live.unsent.bytes > MAX_UNSTORED_BYTES) return live.whenStored(live.seq);
    const unstored = live.seq - live.stored;
    return unstored > MAX_UNSTORED ? live.whenStored(live.seq - MAX_UNSTORED / 2) : undefined;
  }

  /** Opens a reader of the entries after `after`. The reader delivers nothing before the first call of `resume`. */
  read(live: LiveTask, after: number, sink: Sink): LogReader {
    const reader = new LogReader(live, after, sink);
    live.readers.add(reader);
    return reader;
  }

  /** Drops the task from memory unless it is used. */
  release(live: LiveTask): void {
    if (!live.isUsed && this.#live.get(live.taskId) === live) this.#live.delete(live.taskId);
  }

  /** Waits until every append has been stored or has failed. Then closes all readers. */
  async close(): Promise<void> {
    while (this.#pending.length > 0 || this.#writing) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const live of this.#live.values()) {
      for (const reader of live.readers) reader.close('shutdown');
    }
  }

  #flush(): void {
    this.#scheduled = false;
    if (this.#writing || this.#pending.length === 0) return;
    const batch = this.#pending;
    this.#pending = [];
    for (const { live } of batch) live.unsent = undefined;
    let outcome;
    try {
      outcome = this.#store.append(batch);
    } catch (error) {
      this.#failed(batch, error);
      return;
    }
    if (outcome instanceof Promise) {
      this.#writing = true;
      outcome.then(
        (outcomes) => this.#done(batch, outcomes),
        (error: unknown) => this.#failed(batch, error),
      );
    } else {
      this.#done(batch, outcome);
    }
  }

  #done(batch: readonly Unsent[], outcomes: readonly AppendOutcome[]): void {
    this.#writing = false;
    for (let at = 0; at < batch.length; at++) {
      const { live, entries } = batch[at]!;
      if (outcomes[at] === 'ok') live.settle(entries);
      else if (outcomes[at] === 'full')
        this.#lose(live, new LogFullError('the task store is full'));
      else this.#lose(live, new LogLostError('another writer appended to the task'));
    }
    if (this.#pending.length > 0) this.#flush();
  }

  #failed(batch: readonly Unsent[], error: unknown): void {
    this.#writing = false;
    this.#logger.error({ err: error, tasks: batch.length }, 'failed to append to the task store');
    for (const { live } of batch) this.#lose(live, new LogLostError('the task store failed'));
    if (this.#pending.length > 0) this.#flush();
  }

  #lose(live: LiveTask, error: Error): void {
    live.lose(error);
    if (this.#live.get(live.taskId) === live) this.#live.delete(live.taskId);
  }
}
