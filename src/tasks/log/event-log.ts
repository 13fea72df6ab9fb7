/**
 * Appends events to the logs of tasks, and publishes each event to the task's readers after it is stored.
 *
 * The appends in one iteration of the event loop share a transaction (group commit), and so do the appends of a burst
 * (commit-timer.ts). The size of a transaction is limited (batch.ts). If the store is not durable, each append is
 * stored and published immediately. A task is live (in memory) while it is executed or read.
 *
 * Several nodes may share the store (`cluster`). Then a task that is not executed here follows the store: its readers
 * get the entries that other nodes append.
 */
import { ChurnMap, type MaybePromise } from '../../base/index.ts';
import {
  refusal,
  type Task,
  type TaskEvent,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import { cutBatch, entryToWaitFor, withoutMessage } from './batch.ts';
import { CommitTimer } from './commit-timer.ts';
import { LiveTask, LogFullError, LogLostError, LogMovedError } from './live-task.ts';
import type { OnState, Unsent } from './live-task.ts';
import type { Logger } from './logger.ts';
import { LogReader, type Sink } from './reader.ts';
import { roughSize } from './size.ts';
import { isFull, TakeoverPauses } from './takeover-pauses.ts';
import { isUnfinished } from '../store/store-rules.ts';
import type {
  AppendOutcome,
  Scope,
  SerializedEntry,
  StoreCluster,
  TaskHead,
  TaskKey,
  TaskStore,
} from '../store/store.ts';

/** Maximum number of another node's entries that are read at a time. */
const PIECE = 64;

export class EventLog {
  readonly #store: TaskStore;
  readonly #logger: Logger;
  readonly #onState: OnState | undefined;
  readonly #live = new ChurnMap<string, LiveTask>();
  /** The cluster of the nodes that share the store. Undefined if there is none, or until this process has joined it. */
  cluster: StoreCluster | undefined;
  /** The unfinished tasks that this node has given up, by id. Undefined if `ClusterNode` does not need them. */
  released: Map<string, TaskKey> | undefined;
  /** The claims in progress, by task id. */
  readonly #claims = new Map<string, Promise<boolean>>();
  /** The tasks whose new entries are being read, and whether they have changed again in the meantime. */
  readonly #reading = new Map<LiveTask, boolean>();
  #pending: Unsent[] = [];
  #writing = false;
  readonly #pauses: TakeoverPauses;
  readonly #commits: CommitTimer;

  constructor(store: TaskStore, logger: Logger, onState?: OnState, now?: () => number) {
    this.#store = store;
    this.#logger = logger;
    this.#onState = onState;
    this.#pauses = new TakeoverPauses(store);
    this.#commits = new CommitTimer(() => this.#flush(), now);
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

  /** Returns the task, or undefined if the scope has no such task. The caller must dispose of the task. */
  open(scope: Scope, taskId: string): MaybePromise<LiveTask | undefined> {
    const live = this.#live.get(taskId);
    if (live && (!this.cluster || live.isWriting)) return this.#hold(live, scope);
    const head = this.#store.head(scope, taskId);
    return head instanceof Promise ? head.then((found) => this.#adopt(found)) : this.#adopt(head);
  }

  #adopt(head: TaskHead | undefined): MaybePromise<LiveTask | undefined> {
    if (!head) return undefined;
    const known = this.#live.get(head.taskId);
    if (known) {
      const live = this.#hold(known, head);
      return live && this.cluster && !live.isWriting ? this.#update(live, head) : live;
    }
    const live = new LiveTask(this, head, head.taskId, head.contextId, head);
    this.#live.set(head.taskId, live);
    return live.hold();
  }

  async #update(live: LiveTask, head: TaskHead): Promise<LiveTask> {
    try {
      if (!live.hasReaders) live.skipTo(head);
      else await this.#readUntil(live, head.seq);
      if (!live.isWriting) live.setOwner(head);
      return live;
    } catch (error) {
      live[Symbol.dispose]();
      throw error;
    }
  }

  /** Reads the entries of other nodes, at least up to entry `until`. By default, reads to the end of the log. */
  async #readUntil(live: LiveTask, until = Infinity): Promise<void> {
    while (live.stored < until && !live.isWriting && !live.lost) {
      const found = await this.#store.read(live.taskId, live.stored, PIECE);
      live.follow(found);
      if (found.length < PIECE) return;
    }
  }

  /** Called when other nodes may have appended to these tasks. */
  changed(taskIds: readonly string[]): void {
    for (const taskId of taskIds) {
      const live = this.#live.get(taskId);
      if (!live || live.isWriting) continue;
      if (this.#reading.has(live)) this.#reading.set(live, true);
      else void this.#readNew(live);
    }
  }

  /** Reads the new entries of a task until it has none. Never throws. */
  async #readNew(live: LiveTask): Promise<void> {
    try {
      do {
        this.#reading.set(live, false);
        await this.#readUntil(live);
      } while (this.#reading.get(live));
    } catch {
      // The store is unavailable. As long as the task is watched, the cluster calls `changed` again.
    } finally {
      this.#reading.delete(live);
    }
  }

  /** Reads the task's owner and the entries of other nodes again. */
  async refresh(live: LiveTask): Promise<void> {
    (await this.open(live, live.taskId))?.[Symbol.dispose]();
  }

  /**
   * Makes this node the task's owner, if the task waits for a message, has ended, or belongs to no node. Returns
   * whether this node is the owner now. If it has just become the owner, the task may now contain entries of other
   * nodes that the caller has not seen.
   */
  async own(live: LiveTask): Promise<boolean> {
    if (live.owned) return true;
    const { taskId } = live;
    let claim = this.#claims.get(taskId);
    if (!claim) {
      claim = this.#claim(live).finally(() => this.#claims.delete(taskId));
      this.#claims.set(taskId, claim);
    }
    return claim;
  }

  async #claim(live: LiveTask, which: 'waiting' | 'interrupted' = 'waiting'): Promise<boolean> {
    const head = await this.cluster?.claim(live, which);
    if (head) await this.#update(live.hold(), head).then((held) => held[Symbol.dispose]());
    else await this.refresh(live);
    if (live.lost) throw live.lost;
    return live.owned;
  }

  /**
   * Makes this node the owner of an unfinished task whose node is gone. Returns whether this node has just become the
   * owner.
   */
  async ownInterrupted(live: LiveTask): Promise<boolean> {
    return live.runsElsewhere && (await this.#claim(live, 'interrupted'));
  }

  /** Lets any node continue a task that is unfinished, but no longer executed here. */
  releaseUnfinished(live: LiveTask): void {
    if (!this.cluster || live.lost || !isUnfinished(live.state)) return;
    const release = () => {
      if (live.lost || live.running || !isUnfinished(live.state)) return;
      if (this.isPaused(live)) return;
      this.#release(live);
      live.disown();
    };
    // If the last entries cannot be stored, `#failed` releases the task.
    live.whenStored(live.seq).then(release, () => undefined);
  }

  /** Lets any node continue a task that could not be executed here because of `error`, but only after a pause. */
  releaseLater(task: TaskKey & Pick<TaskHead, 'epoch'>, error: unknown): void {
    const { tenant, owner, taskId, epoch } = task;
    if (!this.cluster || epoch === undefined) return;
    this.#pauses.start(taskId, epoch, error, () => {
      const live = this.#live.get(taskId);
      // A message may have started an execution, or the task may have been claimed again.
      if (live?.isWriting || (live?.epoch ?? epoch) !== epoch) return;
      live?.disown();
      this.#release({ tenant, owner, taskId, epoch });
    });
  }

  /** Lets any node continue a task, if this process is still the owner. */
  #release({ tenant, owner, taskId, epoch }: TaskKey & Pick<TaskHead, 'epoch'>): void {
    if (epoch === undefined) return;
    this.released?.set(taskId, { tenant, owner, taskId });
    this.cluster?.release(taskId, epoch);
  }

  /** Returns whether the task is still in a pause of `releaseLater`. */
  isPaused({ taskId, epoch }: Pick<TaskHead, 'taskId' | 'epoch'>): boolean {
    return epoch !== undefined && this.#pauses.has(taskId, epoch);
  }

  /** Gives up all tasks of this node, because its lease has ended. */
  expel(): void {
    for (const live of this.#live.values()) {
      const { tenant, owner, taskId, epoch } = live;
      if (epoch === undefined) continue;
      if (isUnfinished(live.state)) this.released?.set(taskId, { tenant, owner, taskId });
      this.#lose(live, new LogMovedError('the lease of this node has ended'));
    }
    this.#pending = this.#pending.filter(({ live }) => !live.lost);
  }

  #hold(live: LiveTask, scope: Scope): LiveTask | undefined {
    if (live.tenant !== scope.tenant || live.owner !== scope.owner) return undefined;
    return live.hold();
  }

  /**
   * Creates a task. The caller must dispose of it. The task exists when entry 1 is stored. If a message id is already
   * used, entry 1 cannot be stored. A task that waits for its first message (`isReserved`) belongs to no node.
   */
  create(
    scope: Scope,
    task: Task,
    messageIds?: readonly string[],
    expiresAt?: number,
    isReserved = false,
  ): LiveTask {
    const live = new LiveTask(this, scope, task.id, task.contextId);
    live.expiresAt = expiresAt;
    if (this.cluster) live.setOwner({ node: this.cluster.node, epoch: isReserved ? 0 : 1 });
    this.#live.set(task.id, live);
    void this.append(live.hold(), task, messageIds, expiresAt);
    if (this.cluster && isReserved) live.setOwner({});
    return live;
  }

  /**
   * Appends an event. Throws if the task's state does not allow the event, or if this process may not write to the log.
   * Returns a promise if the writer should wait for the store before its next append.
   */
  append(
    live: LiveTask,
    event: TaskEvent,
    messageIds?: readonly string[],
    expiresAt?: number,
  ): Promise<void> | undefined {
    this.#add(live, event, messageIds, expiresAt);
    const needed = this.#write(live, event);
    if (needed === undefined) return undefined;
    const stored = live.whenStored(needed);
    // Some callers ignore this promise, so its rejection is handled here.
    stored.catch(() => undefined);
    return stored;
  }

  /**
   * Appends a message to a task that is being executed. Resolves when the message is stored. If the message id turns
   * out to be used already, rejects with a LogMovedError, but the execution continues.
   */
  async deliver(
    live: LiveTask,
    event: TaskStatusUpdateEvent,
    messageIds: readonly string[] | undefined,
  ): Promise<void> {
    const unsent = this.#add(live, event, messageIds);
    unsent.isDelivery = true;
    const { seq } = live;
    this.#write(live, event);
    await live.whenStored(seq);
    if (unsent.isRepeated) throw new LogMovedError('the message id is already used');
  }

  /**
   * Schedules the write of the appended entries, or writes them now if the store is not durable. Returns the entry that
   * must be stored before the task's next append, if there is one.
   */
  #write(live: LiveTask, event: TaskEvent): number | undefined {
    if (!this.#store.durable) this.#flush();
    const needed = entryToWaitFor(live);
    if (this.#store.durable) {
      this.#commits.schedule(needed !== undefined || event.kind !== 'artifact-update');
    }
    return needed;
  }

  /** Appends an event that is stored together with the next event. The caller must call `append` right after this. */
  appendBefore(live: LiveTask, event: TaskEvent): void {
    this.#add(live, event);
  }

  #add(
    live: LiveTask,
    event: TaskEvent,
    messageIds?: readonly string[],
    expiresAt?: number,
  ): Unsent {
    if (live.lost) throw live.lost;
    if (!live.owned) throw new LogMovedError('another node owns the task');
    const refused = refusal(live.state, event);
    if (refused !== undefined) throw new Error(refused);
    const seq = live.seq + 1;
    const entry = this.#entry(seq, event);
    const bytes = entry.json === undefined ? roughSize(event) : entry.json.length;
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
      const { tenant, owner, taskId, contextId, epoch } = live;
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
        epoch: epoch === 0 ? undefined : epoch,
        bytes: 0,
      };
      this.#pending.push(live.unsent);
    }
    live.unsent.bytes += bytes;
    return live.unsent;
  }

  #entry(seq: number, event: TaskEvent): SerializedEntry {
    return this.#store.durable ? { seq, event, json: JSON.stringify(event) } : { seq, event };
  }

  /** Opens a reader of the entries after `after`. The reader delivers nothing before the first call of `resume`. */
  read(live: LiveTask, after: number, sink: Sink): LogReader {
    const reader = new LogReader(live, after, sink);
    live.addReader(reader);
    return reader;
  }

  /** Drops the task from memory unless it is used. */
  release(live: LiveTask): void {
    if (!live.isUsed && this.#live.get(live.taskId) === live) this.#live.delete(live.taskId);
  }

  /**
   * Waits until every append has been stored or has failed. Then closes all readers, except those with an endless sink.
   */
  async close(): Promise<void> {
    while (this.#pending.length > 0 || this.#writing) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#pauses.close();
    for (const live of this.#live.values()) {
      for (const reader of live.readers()) reader.close('shutdown');
    }
  }

  #flush(): void {
    if (this.#writing || this.#pending.length === 0) return;
    const batch = this.#pending;
    this.#pending = cutBatch(batch);
    for (const append of batch) {
      if (append.live.unsent === append) append.live.unsent = undefined;
    }
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
    if (!outcomes.includes('conflict')) return this.#settle(batch, outcomes);
    const refused = batch.filter((append, at) => append.isDelivery && outcomes[at] === 'conflict');
    if (refused.length === 0) return this.#settle(batch, outcomes);
    this.#writing = true;
    void Promise.all(refused.map((append) => this.#leaveOutRepeated(append))).then((leftOut) => {
      this.#settle(batch, outcomes, new Set(refused.filter((_, at) => leftOut[at])));
    });
  }

  /**
   * If the message id of an append is already used, removes the message from the append, because a repeated message
   * must not end the execution. The entry itself stays, because later entries have the next numbers. Returns whether
   * the message was removed. Never rejects.
   */
  async #leaveOutRepeated(append: Unsent): Promise<boolean> {
    const { live, messageIds = [], entries } = append;
    const find = async (id: string) => this.#store.findMessage(live, id);
    // After an error, the append is treated like any other conflict.
    const found = await Promise.all(messageIds.map(find)).catch(() => []);
    if (found.every((taskId) => taskId === undefined)) return false;
    const { seq, event } = entries[0]!;
    entries[0] = this.#entry(seq, withoutMessage(event));
    append.messageIds = undefined;
    append.isRepeated = true;
    return true;
  }

  /** Handles the outcomes of a batch. Writes the appends in `leftOut` again: their repeated messages were removed. */
  #settle(
    batch: readonly Unsent[],
    outcomes: readonly AppendOutcome[],
    leftOut?: ReadonlySet<Unsent>,
  ): void {
    this.#ended(batch);
    let again: Unsent[] | undefined;
    for (let at = 0; at < batch.length; at++) {
      const append = batch[at]!;
      const { live, entries } = append;
      if (outcomes[at] === 'ok') live.settle(entries);
      else if (outcomes[at] === 'full')
        this.#lose(live, new LogFullError('the task store is full'));
      // Later appends to the task were refused only because the append with the repeated message was not written.
      else if (leftOut?.has(append) || again?.some((each) => each.live === live)) {
        (again ??= []).push(append);
      } else {
        if (live.stored > 0 && !live.lost) this.#release(live);
        this.#lose(live, new LogMovedError('another writer appended to the task'));
      }
    }
    if (again) this.#pending.unshift(...again.filter(({ live }) => !live.lost));
    if (this.#pending.length > 0) this.#flush();
  }

  #ended(batch: readonly Unsent[]): void {
    this.#writing = false;
    if (this.#store.durable) this.#commits.ended(batch.length);
  }

  #failed(batch: readonly Unsent[], error: unknown): void {
    this.#ended(batch);
    this.#logger.error({ err: error, tasks: batch.length }, 'failed to append to the task store');
    for (const { live } of batch) {
      // If the store is full, it has not created the new tasks, so no node can execute them.
      if (!live.lost && !(isFull(error) && live.stored === 0)) this.releaseLater(live, error);
      this.#lose(live, new LogLostError('the task store failed'));
    }
    if (this.#pending.length > 0) this.#flush();
  }

  #lose(live: LiveTask, error: Error): void {
    const movable = this.cluster && error instanceof LogMovedError && live.stored > 0;
    const readers = movable ? live.readers().filter(({ isMovable }) => isMovable) : [];
    for (const reader of readers) live.removeReader(reader);
    live.lose(error);
    if (this.#live.get(live.taskId) === live) this.#live.delete(live.taskId);
    if (readers.length > 0) void this.#move(live, readers);
  }

  /** Lets the readers of a lost task continue with the entries of the node that owns the task now. Never throws. */
  async #move(task: TaskKey, readers: readonly LogReader[]): Promise<void> {
    try {
      using live = await this.open(task, task.taskId);
      for (const reader of readers) {
        if (live) reader.moveTo(live);
        else reader.close('lost');
      }
    } catch {
      for (const reader of readers) reader.close('lost');
    }
  }
}
