/**
 * The interface of a task store. One contract suite tests every implementation.
 *
 * The log is the source of truth. In addition, a store keeps the head of each task, so that tasks can be found, listed
 * and counted without folding their logs. Methods may return a value or a promise, so that a store in memory causes no
 * delay.
 */
import type { MaybePromise } from '../../base/index.ts';
import type {
  LogEntry,
  ProtocolVersion,
  PushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../protocol/index.ts';

/** A log entry, with its JSON in the internal format if it was already serialized. */
export interface SerializedEntry extends LogEntry {
  readonly json?: string | undefined;
}

/**
 * The tenant and the owner of a task. A method with a scope finds only the tasks of this scope. The other methods do
 * not check the scope. The server checks the scope before it calls them for a client.
 */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
}

/** The data about a task that a store provides without reading the task's log. */
export interface TaskHead extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** Sequence number of the last entry. The next append must have it as `expected`. */
  readonly seq: number;
  readonly status: TaskStatus;
  /** Time of the last status change, in milliseconds. Lists are sorted by it, newest first. */
  readonly updatedAt: number;
  readonly createdAt: number;
  /**
   * Time of the last event of a working task, in milliseconds. Set only if this event is an artifact event and the
   * store is durable.
   */
  readonly artifactAt?: number | undefined;
  /** Time at which the task expires, in milliseconds. Undefined if it never expires. */
  readonly expiresAt?: number | undefined;
  /** Rough size of the log in bytes, if the store limits its memory. */
  readonly bytes?: number | undefined;
  /** The node that may append to the task, if the store has a `cluster` and a node has claimed the task. */
  readonly node?: string | undefined;
  /** The number of times that a node has claimed the task. Set only if the store has a `cluster`. */
  readonly epoch?: number | undefined;
}

/** Entries to append to one task. */
export interface Append extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /**
   * The expected sequence number of the task's last entry. If it is 0, the append creates the task, and its first entry
   * is the Task itself.
   */
  readonly expected: number;
  readonly entries: readonly LogEntry[];
  /** Ids of the user's messages in these entries. The store uses them to find the task of a repeated message. */
  readonly messageIds?: readonly string[] | undefined;
  /**
   * Time at which a new task expires, in milliseconds. `setExpiry` can change it later. A task with
   * `Number.MAX_SAFE_INTEGER` never expires, and by default `StoreRetention.finished` leaves it out.
   */
  readonly expiresAt?: number | undefined;
  /** Rough size of the entries in bytes, for stores that count sizes. */
  readonly bytes?: number;
  /**
   * The epoch in which this node has claimed the task. If the task has another epoch, the outcome is `conflict`. If the
   * append that creates a task has an epoch, the new task belongs to this node. Without an epoch, it belongs to no
   * node. Set only if the store has a `cluster`.
   */
  readonly epoch?: number | undefined;
}

/**
 * `conflict`: a message id is already used, or the last entry, the scope or the epoch of the task is not the expected
 * one. For example, another writer has appended to the task or has claimed it. `full`: there is no room for a new task.
 * In both cases, no entry of the append was written.
 */
export type AppendOutcome = 'ok' | 'conflict' | 'full';

/** Selects a page of the tasks of a scope. */
export interface ListQuery extends Scope {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Selects only tasks whose status changed at or after this time, in milliseconds. */
  readonly updatedSince?: number | undefined;
  readonly limit: number;
  /** The previous page's `next`. A store throws A2AError `invalidParams` for a cursor that it did not create. */
  readonly cursor?: string | undefined;
  /** If false, the store does not count the matching tasks, and the page has no total. */
  readonly total?: false | undefined;
}

/** One page of a list. */
export interface ListPage {
  readonly heads: readonly TaskHead[];
  /** The number of matching tasks on all pages. */
  readonly total?: number | undefined;
  /** The cursor of the next page. Undefined on the last page. */
  readonly next?: string | undefined;
}

/** The progress of the delivery of a task's events to a webhook. */
export interface PushProgress {
  /** Sequence number of the last event that was delivered, was not meant for the webhook, or became a dead letter. */
  readonly cursor: number;
  /** Number of failed attempts to deliver the next event. */
  readonly attempts: number;
  /** Time of the first failed attempt since the last delivered event, in milliseconds. */
  readonly failingSince?: number | undefined;
  /**
   * Time of the next attempt, in milliseconds. 0 means now. Undefined if no event is left and the task waits or has
   * ended.
   */
  readonly dueAt?: number | undefined;
}

/**
 * A webhook of a task. `version` is the protocol version of the request that set the webhook. Events are sent in this
 * version. If the agent has views, `view` is the name (`LogView.name`) of the request's view. Events are sent in this
 * view.
 */
export interface PushRecord {
  readonly taskId: string;
  readonly config: PushNotificationConfig & { readonly id: string };
  readonly version: ProtocolVersion;
  readonly view?: string | undefined;
  readonly progress: PushProgress;
}

/** An event that could not be delivered to a webhook. */
export interface DeadLetter {
  readonly taskId: string;
  readonly configId: string;
  /** Sequence number of the event. */
  readonly seq: number;
  /** Why the last attempt failed. */
  readonly reason: string;
  readonly attempts: number;
  /** Time at which the delivery was given up, in milliseconds. */
  readonly at: number;
}

/** New progress of a webhook. */
export interface PushChange {
  readonly taskId: string;
  readonly configId: string;
  readonly progress: PushProgress;
  /** The event whose delivery was given up. It is stored in the same transaction as the progress. */
  readonly deadLetter?: DeadLetter | undefined;
}

/** A webhook with a `dueAt`. `position` distinguishes webhooks with the same `dueAt`. */
export interface DuePush extends Scope {
  readonly taskId: string;
  readonly configId: string;
  readonly dueAt: number;
  readonly position: number;
}

/** Selects a page of the webhooks with a `dueAt`: at most `limit`, after the last webhook of the previous page. */
export interface DueQuery {
  readonly after?: Pick<DuePush, 'dueAt' | 'position'> | undefined;
  readonly limit: number;
}

/** Selects the latest dead letters of a scope, of one task, or of one webhook. */
export interface DeadLetterQuery extends Scope {
  readonly taskId?: string | undefined;
  readonly configId?: string | undefined;
  readonly limit: number;
}

/** A finished task, for `StoreRetention`. */
export interface FinishedTask extends Scope {
  readonly taskId: string;
  /** Time at which the task ended, in milliseconds. */
  readonly endedAt: number;
  /** Position of the task in the order in which all tasks ended. */
  readonly position: number;
  /** Whether a webhook has not received all events of the task. */
  readonly isDue: boolean;
  /** The context id of the task. Must be set in the result of a query with `kept`. */
  readonly contextId?: string | undefined;
}

/** Selects a page of finished tasks: at most `limit`, after the `position` of the previous page's last task. */
export interface FinishedQuery {
  /** If true, selects only the tasks whose `expiresAt` is `Number.MAX_SAFE_INTEGER`. By default, leaves them out. */
  readonly kept?: boolean | undefined;
  readonly after?: number | undefined;
  readonly limit: number;
}

/** The part of a store that removes old tasks. */
export interface StoreRetention {
  /** The maximum size of the store in bytes if the operator has set none. Default: 2 GB. */
  readonly maxBytes?: number | undefined;
  /** Returns the size of the stored data in bytes. Free space from removed tasks does not count. */
  size(): MaybePromise<number>;
  /**
   * Returns the rough size of these tasks in bytes. Without this method, the finished tasks of sessions count towards
   * the maximum size.
   */
  sizeOf?(tasks: readonly FinishedTask[]): MaybePromise<number>;
  /** Returns finished tasks of all scopes, in the order in which they ended, the oldest first. */
  finished(query: FinishedQuery): MaybePromise<readonly FinishedTask[]>;
  /**
   * Removes tasks in the given order, in one short transaction. Skips a task that has continued in the meantime.
   * Returns how many tasks at the start of the list it has removed or skipped. Call it again for the remaining tasks,
   * because a very large task needs several calls.
   */
  remove(tasks: readonly FinishedTask[]): MaybePromise<number>;
  /** Gives a small part of the free space back to the file system. Returns whether there is more. */
  reclaim(): MaybePromise<boolean>;
}

// Several processes (nodes) may share the tasks of one store. A task has at most one writer at a time. The head of the
// task contains the id of the writer's node and the current epoch. A node claims a task before it appends to the task.
// The claim raises the epoch. An append with an earlier epoch is refused, so a node that was taken for dead can no
// longer write. A node is alive while its lease is valid.

/** A task, by its scope and id. */
export interface TaskKey extends Scope {
  readonly taskId: string;
}

/** A webhook, by its task and configuration. */
export interface PushKey extends Pick<PushRecord, 'taskId'> {
  readonly configId: string;
}

/** The part of a server that reacts to other nodes. The methods must not throw. */
export interface ClusterMember {
  /** Called when other nodes may have appended to these tasks, or may have claimed them. */
  changed(taskIds: readonly string[]): void;
  /** Called when other nodes have saved or removed these webhooks, or have started to deliver their events. */
  pushChanged(keys: readonly PushKey[]): void;
  /** Returns the answer to a request of another node. */
  answer(request: string): Promise<string>;
  /** Called when tasks or webhooks of a node that is gone can be taken over. */
  orphaned(): void;
  /** Called when the lease of this node has ended. The node no longer owns its tasks, and continues as a new node. */
  expelled(): void;
}

/** How several nodes share the tasks of a store. */
export interface StoreCluster {
  /** The id of this node. It changes when the lease of this node has ended. */
  readonly node: string;
  /** Whether this node has a lease. After the end of its lease, a node joins again under a new id. */
  readonly hasLease: boolean;
  /** How long a node that does not respond keeps its tasks, in milliseconds. */
  readonly leaseMs: number;
  /** Joins the cluster. Resolves when this node has a lease. */
  join(member: ClusterMember): Promise<void>;
  /** Gives up the lease. From now on, other nodes take over the tasks of this node. Never throws. */
  leave(): Promise<void>;

  /**
   * Returns whether this node currently ends expired tasks and removes old tasks. Only one node does this: the oldest
   * node that calls this method with `removesOld` or, if there is none, the oldest node that calls this method.
   */
  sweeps(removesOld: boolean): Promise<boolean>;

  /**
   * Makes this node the owner of a task, and raises its epoch. With `waiting`, claims only a task that waits for a
   * message, has ended, or belongs to no node. No node executes such a task. With `interrupted`, claims only an
   * unfinished task whose node is gone. Returns the head, or undefined if there is no such task.
   */
  claim(task: TaskKey, which: 'waiting' | 'interrupted'): Promise<TaskHead | undefined>;
  /**
   * Claims at most `limit` unfinished tasks whose nodes are gone. For some time after a failed `takeOver` or a
   * `release`, also returns all unfinished tasks that this node owns. The node may not know some of them: if a
   * connection is lost, the database may still execute the statement that claims or creates a task. The tasks that the
   * node already owned do not count towards `limit`.
   */
  takeOver(limit: number): Promise<readonly TaskHead[]>;
  /**
   * Makes a task of this node available to all nodes, because this node no longer executes it. Does nothing if the task
   * was claimed again after `epoch`. Never throws.
   */
  release(taskId: string, epoch: number): void;

  /**
   * Calls `ClusterMember.changed` for a task when its log may have more entries than `seen` returns, until `unwatch` is
   * called. If the entries could not be read after the call, calls `changed` again.
   */
  watch(taskId: string, seen: () => number): void;
  unwatch(taskId: string): void;

  /**
   * Sends a request to another node, and returns its answer. Returns undefined if that node is gone or does not answer
   * in time. Then the request may or may not have been executed. Rejects with the signal's reason if the signal is
   * aborted.
   *
   * With `secrecy`, the request is stored encrypted. If there is no key, a request with `required` is refused with an
   * A2AError, and a request with `preferred` is stored in plain text.
   */
  ask(
    node: string,
    request: string,
    signal?: AbortSignal,
    secrecy?: 'preferred' | 'required',
  ): Promise<string | undefined>;

  /** Makes this node the only one that delivers events to a webhook. Returns false if another node does it. */
  claimPush(key: PushKey): Promise<boolean>;
  /** Lets other nodes deliver events to a webhook. Never throws. */
  releasePush(key: PushKey): void;
}

/**
 * Stores tasks. Test your own store with `parley-a2a/store/contract`.
 *
 *   serve(agent, { store: sqliteStore('tasks.db') });
 */
export interface TaskStore {
  readonly name: string;
  /** Whether tasks survive the end of the process. */
  readonly durable: boolean;

  /**
   * Writes the appends in their order. A batch may have several appends to one task. Returns one outcome for each
   * append. A store in this process writes them in one transaction, and throws only if nothing was written. If a store
   * on a database server throws, the appends may or may not have been written.
   */
  append(batch: readonly Append[]): MaybePromise<readonly AppendOutcome[]>;

  /** Returns the head of a task, or undefined if the scope has no such task. */
  head(scope: Scope, taskId: string): MaybePromise<TaskHead | undefined>;

  /** Returns at most `limit` entries after `after`, in order. Callers check with `head` first that the task exists. */
  read(taskId: string, after: number, limit: number): MaybePromise<readonly SerializedEntry[]>;

  /** Returns the id of the task that has the message with this id, or undefined if there is none. */
  findMessage(scope: Scope, messageId: string): MaybePromise<string | undefined>;

  /** Returns a page of tasks. The task whose status changed last is first. */
  list(query: ListQuery): MaybePromise<ListPage>;

  /** Returns the submitted and working tasks of all scopes, for recovery when the server starts. */
  unfinished(): MaybePromise<readonly TaskHead[]>;

  /** Returns at most `limit` tasks that have expired at `now`, from all scopes, earliest first. */
  expired(now: number, limit: number): MaybePromise<readonly TaskHead[]>;

  /**
   * Sets the time at which a task expires, or undefined if it never expires. Does nothing if the task does not exist.
   */
  setExpiry(scope: Scope, taskId: string, at: number | undefined): MaybePromise<void>;

  /**
   * Removes the task, its log, its webhooks and their dead letters. Returns whether it was removed. With `seq`, removes
   * only a finished task whose last entry has this number. So a task that another node continues at the same time is
   * kept.
   */
  delete(scope: Scope, taskId: string, seq?: number): MaybePromise<boolean>;

  /**
   * Saves a webhook. Replaces the webhook with the same id, but keeps its dead letters up to `progress.cursor`.
   *
   * If a task waits or has ended (`isSettled`), an append to it also makes its webhooks without a `dueAt` due. It sets
   * their `dueAt` to 0, in the same transaction. So the new events are delivered even if the process ends right after
   * the append.
   */
  savePush(record: PushRecord): MaybePromise<void>;
  /** Throws an A2AError if `savePush` would refuse this configuration. */
  checkPush?(config: PushNotificationConfig): void;
  /** Returns the task's webhooks in the order in which they were first saved. */
  listPush(taskId: string): MaybePromise<readonly PushRecord[]>;
  /** Removes a webhook. With `only`, removes it only if it still has this configuration. */
  deletePush(taskId: string, configId: string, only?: PushNotificationConfig): MaybePromise<void>;
  /**
   * Saves the progress of webhooks in one transaction. Ignores webhooks that do not exist. If `dueAt` is undefined
   * although the task has entries after the cursor, the task has continued in the meantime. Then 0 is stored.
   */
  savePushProgress(changes: readonly PushChange[]): MaybePromise<void>;
  /**
   * Returns the webhooks of all scopes that have a `dueAt`, earliest first. Leaves out webhooks to which another node
   * delivers events.
   */
  duePush(query: DueQuery): MaybePromise<readonly DuePush[]>;
  /** Returns dead letters, newest first. */
  deadLetters(query: DeadLetterQuery): MaybePromise<readonly DeadLetter[]>;

  /** Fails if a write would fail, for example because the disk is full. Changes no data. Used to check readiness. */
  probe?(): MaybePromise<void>;
  /** Removes old tasks. Undefined if the store does this itself. */
  readonly retention?: StoreRetention | undefined;
  /** How several processes share the store. Undefined if only one process can use it. */
  readonly cluster?: StoreCluster | undefined;

  close(): MaybePromise<void>;
}
