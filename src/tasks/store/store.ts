/**
 * What a store has to do. Memory and SQLite do it alike: one contract suite runs over both.
 *
 * The log is the only truth: a store keeps entries, and beside them just enough of each task (its head) to find, list
 * and count tasks without folding logs. Methods may answer at once or with a promise, so that a store in this process
 * costs no detour.
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

/** Whose tasks: every look-up carries it, and what belongs to another scope does not exist. */
export interface Scope {
  readonly tenant: string;
  readonly owner: string;
}

/** What is known of a task without its log. */
export interface TaskHead extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** Sequence number of the last entry: the version that the next append must expect. */
  readonly seq: number;
  readonly status: TaskStatus;
  /** When the status last changed, in milliseconds; lists are ordered by it, newest first. */
  readonly updatedAt: number;
  readonly createdAt: number;
  /** In milliseconds: when the task expires. */
  readonly expiresAt?: number | undefined;
  /** Rough size of the log, from stores that have to look after their memory. */
  readonly bytes?: number | undefined;
}

/** One write: entries for one task, which must follow its entry number `expected`. */
export interface Append extends Scope {
  readonly taskId: string;
  readonly contextId: string;
  /** 0 creates the task; its first entry is the Task itself. */
  readonly expected: number;
  readonly entries: readonly LogEntry[];
  /** Ids of the user's messages that these entries accept, so that a repeated one finds its task. */
  readonly messageIds?: readonly string[] | undefined;
  /** When the task expires, in milliseconds. Only where it is created; later `setExpiry` moves it. */
  readonly expiresAt?: number | undefined;
  /** Rough size of the entries, for stores that have to look after their memory. */
  readonly bytes?: number;
}

/**
 * `conflict`: the task is not at `expected` (another writer was there), or a message id is taken. `full`: there is no
 * room for a new task. Either way nothing was written.
 */
export type AppendOutcome = 'ok' | 'conflict' | 'full';

/** Selects a page of the tasks of a scope. */
export interface ListQuery extends Scope {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Only tasks whose status changed at or after this time (milliseconds). */
  readonly updatedSince?: number | undefined;
  readonly limit: number;
  /** From the previous page's `next`. A store throws A2AError `invalidParams` on one that it did not make. */
  readonly cursor?: string | undefined;
  /** False: nothing is counted, and the page has no total. */
  readonly total?: false | undefined;
}

/** One page of a list. */
export interface ListPage {
  readonly heads: readonly TaskHead[];
  /** How many tasks match, on all pages; undefined where the query wants none. */
  readonly total?: number | undefined;
  /** Where the next page starts; undefined at the end. */
  readonly next?: string | undefined;
}

/** A webhook of a task. `version` is the wire on which it was set, and so the one that it is sent. */
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
  /** Survives the process. A task found `working` at the start was interrupted. */
  readonly durable: boolean;

  /**
   * Writes all of the appends in one transaction, and says for each whether it was taken. Appends of one batch are
   * applied in order, so that one may build on another. Throws only when nothing at all could be written.
   */
  append(batch: readonly Append[]): MaybePromise<readonly AppendOutcome[]>;

  /** The head of a task, if it belongs to the scope. */
  head(scope: Scope, taskId: string): MaybePromise<TaskHead | undefined>;

  /** Entries after `after`, in order, at most `limit`. The task's existence was checked by `head`. */
  read(taskId: string, after: number, limit: number): MaybePromise<readonly SerializedEntry[]>;

  /** The task that accepted the message with this id. */
  findMessage(scope: Scope, messageId: string): MaybePromise<string | undefined>;

  /** Newest status first. */
  list(query: ListQuery): MaybePromise<ListPage>;

  /** Tasks that somebody was executing (submitted or working), of every scope. For recovery at the start. */
  unfinished(): MaybePromise<readonly TaskHead[]>;

  /** Tasks of every scope whose time has come at `now`, the earliest first, at most `limit`. */
  expired(now: number, limit: number): MaybePromise<readonly TaskHead[]>;

  /** Moves a task's expiry; undefined: it never expires. Does nothing where there is no such task. */
  setExpiry(scope: Scope, taskId: string, at: number | undefined): MaybePromise<void>;

  /** Removes the task, its log and its webhooks. */
  delete(scope: Scope, taskId: string): MaybePromise<boolean>;

  savePush(record: PushRecord): MaybePromise<void>;
  /** In the order in which they were first saved. */
  listPush(taskId: string): MaybePromise<readonly PushRecord[]>;
  deletePush(taskId: string, configId: string): MaybePromise<void>;

  close(): MaybePromise<void>;
}
