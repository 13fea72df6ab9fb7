/**
 * The interface of a task store. One contract suite tests every implementation.
 *
 * The log is the source of truth. Beside the entries a store keeps each task's head: enough to find, list and count
 * tasks without folding their logs. Methods may return a value or a promise, so that a store in memory causes no delay.
 */
import type { MaybePromise } from '../../base/index.ts';
import type {
  LogEntry,
  ProtocolVersion,
  PushNotificationConfig,
  TaskState,
  TaskStatus,
} from '../../protocol/index.ts';

/** A log entry, with its JSON in the inner shape if the store has serialised it already. */
export interface SerializedEntry extends LogEntry {
  readonly json?: string | undefined;
}

/** The owner of tasks. Every lookup has a scope, and finds no tasks of other scopes. */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
}

/** A task without its log. */
export interface TaskHead extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** Sequence number of the last entry. The next append must expect it. */
  readonly seq: number;
  readonly status: TaskStatus;
  /** When the status last changed, in milliseconds. Lists are ordered by it, newest first. */
  readonly updatedAt: number;
  readonly createdAt: number;
  /** When the task expires, in milliseconds. */
  readonly expiresAt?: number | undefined;
  /** Rough size of the log, if the store limits its memory. */
  readonly bytes?: number | undefined;
}

/** Entries to append to one task, whose last entry must be number `expected`. */
export interface Append extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** 0 creates the task. Its first entry is the Task itself. */
  readonly expected: number;
  readonly entries: readonly LogEntry[];
  /** Ids of the user's messages in these entries, so that a repeated message finds its task. */
  readonly messageIds?: readonly string[] | undefined;
  /** When a new task expires, in milliseconds. `setExpiry` changes it later. */
  readonly expiresAt?: number | undefined;
  /** Rough size of the entries, for stores that limit their memory. */
  readonly bytes?: number;
}

/**
 * `conflict`: the task's last entry is not `expected` because of another writer, or a message id is taken. `full`: there
 * is no room for a new task. In both cases nothing was written.
 */
export type AppendOutcome = 'ok' | 'conflict' | 'full';

/** Selects a page of the tasks of a scope. */
export interface ListQuery extends Scope {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Only tasks whose status changed at or after this time (milliseconds). */
  readonly updatedSince?: number | undefined;
  readonly limit: number;
  /** The previous page's `next`. A store throws A2AError `invalidParams` for a cursor that it did not create. */
  readonly cursor?: string | undefined;
  /** False: do not count. The page then has no total. */
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

/** A webhook of a task. It receives events in `version`, the protocol version in which it was set. */
export interface PushRecord {
  readonly taskId: string;
  readonly config: PushNotificationConfig & { readonly id: string };
  readonly version: ProtocolVersion;
}

/**
 * Keeps tasks. Test a store of your own with `parley-a2a/store/contract`.
 *
 *   serve(agent, { store: sqliteStore('tasks.db') });
 */
export interface TaskStore {
  readonly name: string;
  /** Whether tasks survive the process. */
  readonly durable: boolean;

  /**
   * Writes the appends in one transaction and in order, so that one may follow another. Returns an outcome for each.
   * Throws only if nothing was written.
   */
  append(batch: readonly Append[]): MaybePromise<readonly AppendOutcome[]>;

  /** Returns the head of a task, if the task belongs to the scope. */
  head(scope: Scope, taskId: string): MaybePromise<TaskHead | undefined>;

  /** Returns at most `limit` entries after `after`, in order. The caller has checked with `head` that the task exists. */
  read(taskId: string, after: number, limit: number): MaybePromise<readonly SerializedEntry[]>;

  /** Returns the id of the task that has the message with this id. */
  findMessage(scope: Scope, messageId: string): MaybePromise<string | undefined>;

  /** Newest status first. */
  list(query: ListQuery): MaybePromise<ListPage>;

  /** Returns the submitted and working tasks of every scope, for recovery at the start. */
  unfinished(): MaybePromise<readonly TaskHead[]>;

  /** Returns at most `limit` tasks of every scope that have expired at `now`, the earliest first. */
  expired(now: number, limit: number): MaybePromise<readonly TaskHead[]>;

  /** Changes when a task expires. Undefined: never. Does nothing if there is no such task. */
  setExpiry(scope: Scope, taskId: string, at: number | undefined): MaybePromise<void>;

  /** Removes the task, its log and its webhooks. Returns whether the task existed. */
  delete(scope: Scope, taskId: string): MaybePromise<boolean>;

  savePush(record: PushRecord): MaybePromise<void>;
  /** In the order in which they were first saved. */
  listPush(taskId: string): MaybePromise<readonly PushRecord[]>;
  deletePush(taskId: string, configId: string): MaybePromise<void>;

  close(): MaybePromise<void>;
}
