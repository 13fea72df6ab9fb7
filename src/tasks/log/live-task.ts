/**
 * A task in memory, and the errors of a process that can no longer write to a task.
 */
import type { MaybePromise } from '../../base/index.ts';
import { copyTask, type TaskState } from '../../protocol/index.ts';
import { isUnfinished } from '../store/store-rules.ts';
import type {
  Append,
  Scope,
  SerializedEntry,
  StoreCluster,
  TaskHead,
  TaskStore,
} from '../store/store.ts';
import { loadTask, type Loaded } from './load.ts';
import { Published } from './published.ts';
import type { LogReader, Readable } from './reader.ts';

/** Maximum size of a log whose folded task is kept in memory. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Called when this process appends an event that changes the state of a task, before the event is stored. Must not
 * throw.
 */
export type OnState = (task: Scope, state: TaskState) => void;

/** Means that this process can no longer write to the task, for example because the store failed. */
export class LogLostError extends Error {
  override readonly name = 'LogLostError';
}

/**
 * Means that another writer has appended to the task, or may do so now. It can also mean that a message id is already
 * used. In a cluster, readers that are movable (`isMovable`) continue with the entries of the node that owns the task
 * now.
 */
export class LogMovedError extends LogLostError {}

/** Means that the store has no room for a new task. */
export class LogFullError extends LogLostError {}

/** Entries of one task that are sent to the store together. */
export interface Unsent extends Append {
  readonly live: LiveTask;
  readonly entries: SerializedEntry[];
  messageIds: readonly string[] | undefined;
  bytes: number;
  /** Whether the first entry is a message to a task that is being executed. */
  isDelivery?: boolean;
  /** Whether the message was left out, because its id was already used. */
  isRepeated?: boolean;
}

/** The execution of a task. While it runs, nothing else is appended to the log, except clients' messages. */
export interface TaskWriter {
  /** Called when this process loses the log. */
  onLost(): void;
}

/** The methods of `EventLog` that a task needs. */
interface TaskLog {
  readonly store: TaskStore;
  readonly cluster: StoreCluster | undefined;
  release(live: LiveTask): void;
  releaseUnfinished(live: LiveTask): void;
}

/** The data about a task that a node of a cluster has. */
interface SharedTask {
  /** The node that may append, if a node has claimed the task. */
  node: string | undefined;
  /**
   * The epoch (`TaskHead.epoch`) in which this process may append. Undefined if the process must claim the task first.
   */
  epoch: number | undefined;
  /** The highest epoch that is known. A head with a lower epoch is outdated. */
  lastEpoch: number;
  isWatched: boolean;
}

function unclaimed(): SharedTask {
  return { node: undefined, epoch: undefined, lastEpoch: 0, isWatched: false };
}

/** A promise of `whenStored`. */
interface Waiting {
  readonly seq: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
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
   * Rough size of the log in bytes. If heads have no size (`TaskHead.bytes`), only the entries since the task became
   * live are counted. Entries that `skipTo` skips are not counted.
   */
  bytes: number;
  /** Time at which the task expires, in milliseconds. Undefined if it never expires. */
  expiresAt: number | undefined;
  /**
   * Rough time of the last artifact event, in milliseconds. If this process did not see the event while the task was
   * live, the time comes from the head (`TaskHead.artifactAt`), and may be undefined.
   */
  artifactAt: number | undefined;
  lost: Error | undefined;
  unsent: Unsent | undefined;
  // A single reader is kept without a Set, because a Set needs 150 bytes, and most tasks have at most one reader.
  #readers: LogReader | Set<LogReader> | undefined;
  /** The result of the last `load`. The next call continues from it. */
  #folded: Promise<Loaded | undefined> | undefined;
  readonly #log: TaskLog;
  #writer: TaskWriter | undefined;
  #holds = 0;
  /** Set only if the store has a cluster, to save memory. A server may have thousands of tasks in memory. */
  #shared: SharedTask | undefined;
  #waiting: Waiting[] | undefined;

  constructor(log: TaskLog, scope: Scope, taskId: string, contextId: string, head?: TaskHead) {
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
    if (head) this.setOwner(head);
  }

  /** Whether this process may append. If not, `EventLog.own` must claim the task first. */
  get owned(): boolean {
    return !this.#log.cluster || this.epoch !== undefined;
  }

  /** Whether another node executes the task, or takes it over soon. */
  get runsElsewhere(): boolean {
    return !this.owned && !this.running && this.node !== undefined && isUnfinished(this.state);
  }

  /** The node that may append, if the store has a cluster and a node has claimed the task. */
  get node(): string | undefined {
    return this.#shared?.node;
  }

  /**
   * The epoch in which this process may append. Undefined if it must claim the task first, or if there is no cluster.
   */
  get epoch(): number | undefined {
    return this.#shared?.epoch;
  }

  /** Stops this node from appending until it claims the task again. */
  disown(): void {
    if (this.#shared) this.#shared.epoch = undefined;
  }

  /**
   * Whether this process executes the task, or has appended entries that are not stored yet. Otherwise, the task
   * follows the store.
   */
  get isWriting(): boolean {
    return this.running || this.seq > this.stored;
  }

  setOwner({ node, epoch = 0 }: Pick<TaskHead, 'node' | 'epoch'>): void {
    const { cluster } = this.#log;
    if (!cluster) return;
    const shared = (this.#shared ??= unclaimed());
    if (epoch < shared.lastEpoch) return;
    shared.lastEpoch = epoch;
    shared.node = node;
    shared.epoch = node === cluster.node ? epoch : undefined;
  }

  /** Resolves when entry `seq` is stored. Rejects if this process has lost the log, or loses it before that. */
  whenStored(seq: number): Promise<void> {
    if (this.lost) return Promise.reject(this.lost);
    if (seq <= this.stored) return Promise.resolve();
    return new Promise((resolve, reject) => {
      (this.#waiting ??= []).push({ seq, resolve, reject });
    });
  }

  /** Whether this process executes the task or is about to execute it. */
  get running(): boolean {
    return this.#writer !== undefined;
  }

  /** Marks the task as running and holds it. Called only by its execution. */
  claim(writer: TaskWriter): void {
    if (this.#writer) throw new Error('the task is already being executed');
    this.#writer = writer;
    this.watch();
    this.hold();
  }

  unclaim(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    // The last entries are not stored yet. If they cannot be stored, the execution is notified.
    if (writer && !this.lost && this.stored < this.seq) {
      this.whenStored(this.seq).catch(() => writer.onLost());
    }
    this.watch();
    this.#log.releaseUnfinished(this);
    this[Symbol.dispose]();
  }

  /**
   * Starts or stops watching for the entries of other nodes. The task is watched while it has readers and is not
   * executed here. Called when one of these conditions may have changed.
   */
  watch(): void {
    const { cluster } = this.#log;
    if (!cluster) return;
    const isWatched = !this.running && !this.lost && this.hasReaders;
    const shared = (this.#shared ??= unclaimed());
    if (isWatched === shared.isWatched) return;
    shared.isWatched = isWatched;
    if (isWatched) cluster.watch(this.taskId, () => this.stored);
    else cluster.unwatch(this.taskId);
  }

  /** Keeps the task in memory until the caller disposes of it. Each call needs one disposal. */
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
    return this.#holds > 0 || this.hasReaders || this.stored < this.seq;
  }

  /**
   * Folds the stored log into a task. The caller gets a copy and may fold further entries into it. The result is kept
   * while the task is live, so that the next call reads only newer entries. The result of a large log is not kept.
   * Returns undefined if the log is empty.
   */
  load(): Promise<Loaded | undefined> {
    const mine = (this.#folded ?? Promise.resolve(undefined)).then((from) => loadTask(this, from));
    this.#folded = this.bytes > MAX_KEPT_BYTES ? undefined : mine.catch(() => undefined);
    return mine.then((loaded) => loaded && { ...loaded, task: copyTask(loaded.task) });
  }

  /** Reads entries up to `stored`. The store may already have later entries of another node. */
  read(after: number, limit: number): MaybePromise<readonly SerializedEntry[]> {
    if (after >= this.stored) return [];
    return this.#log.store.read(this.taskId, after, Math.min(limit, this.stored - after));
  }

  get hasReaders(): boolean {
    return this.#readers instanceof Set ? this.#readers.size > 0 : this.#readers !== undefined;
  }

  /** Returns the current readers. */
  readers(): LogReader[] {
    if (this.#readers instanceof Set) return [...this.#readers];
    return this.#readers ? [this.#readers] : [];
  }

  addReader(reader: LogReader): void {
    if (this.#readers instanceof Set) this.#readers.add(reader);
    else this.#readers = this.#readers ? new Set([this.#readers, reader]) : reader;
    this.watch();
  }

  removeReader(reader: LogReader): void {
    if (this.#readers instanceof Set) this.#readers.delete(reader);
    else if (this.#readers === reader) this.#readers = undefined;
  }

  forget(reader: LogReader): void {
    this.removeReader(reader);
    this.watch();
    this.#log.release(this);
  }

  /** Publishes entries that another node has appended. */
  follow(found: readonly SerializedEntry[]): void {
    const entries = found.filter(({ seq }) => seq > this.stored);
    const last = entries.at(-1);
    if (!last || this.isWriting) return;
    this.seq = last.seq;
    for (const { event, json = '' } of entries) {
      this.bytes += json.length;
      if (event.kind === 'artifact-update') this.artifactAt = Date.now();
      else this.state = event.status.state;
    }
    this.settle(entries);
  }

  /** Skips the entries that other nodes have appended. The task must have no readers. */
  skipTo({ seq, status, artifactAt, expiresAt }: TaskHead): void {
    if (seq <= this.stored || this.isWriting) return;
    this.seq = this.stored = seq;
    this.state = status.state;
    this.artifactAt = artifactAt;
    this.expiresAt = expiresAt;
  }

  /** Publishes entries that are now stored. `entries` must not be empty. */
  settle(entries: readonly SerializedEntry[]): void {
    this.stored = entries.at(-1)!.seq;
    for (let at = 0; at < entries.length && this.hasReaders; at++) {
      const published = new Published(entries[at]!);
      if (!(this.#readers instanceof Set)) this.#readers?.offer(published);
      else for (const reader of this.#readers) reader.offer(published);
    }
    while (this.#waiting?.[0] && this.#waiting[0].seq <= this.stored) {
      this.#waiting.shift()!.resolve();
    }
    this.#log.release(this);
  }

  /** Called when this process loses the log. Tells the execution, and closes the readers. */
  lose(error: Error): void {
    if (this.lost) return;
    this.lost = error;
    this.#writer?.onLost();
    for (const { reject } of this.#waiting?.splice(0) ?? []) reject(error);
    for (const reader of this.readers()) reader.close('lost');
    this.watch();
  }
}
