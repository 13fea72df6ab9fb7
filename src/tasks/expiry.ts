/**
 * Handles expired tasks. A sweep ends an unfinished task, but keeps it for a while, so that clients can see how it
 * ended. A sweep removes a finished task, unless the task is being read. A request that finds an expired task also ends
 * it, or treats it as removed. So the answer to the request does not depend on the time of the last sweep.
 *
 * A sweep also removes old tasks (`removeOldTasks`).
 *
 * Each processed task is removed or gets a later expiry time, so a sweep always ends. If a task cannot be ended, the
 * next sweep tries again. Tasks are processed in small batches.
 */
import { A2AError, isTerminal, type TaskState } from '../protocol/index.ts';
import type { MaybePromise } from '../base/index.ts';
import type { EventLog } from './log/event-log.ts';
import type { LiveTask } from './log/live-task.ts';
import type { Logger } from './log/logger.ts';
import { type ClockCheck, removeOldTasks, type Retention } from './retention.ts';
import type { ListPage, Scope, TaskHead, TaskKey, TaskStore } from './store/store.ts';

/** The part of the runtime that a sweep needs. */
interface ExpiryRuntime {
  readonly store: TaskStore;
  readonly log: EventLog;
  readonly logger: Logger;
  keepExpiredMs: number;
  readonly now: () => number;
  readonly closing: boolean;
  clock: ClockCheck | undefined;
  stop(live: LiveTask, how: 'expire'): Promise<boolean>;
}

/** The options of `expire`. */
export interface ExpireOptions {
  /**
   * How long a task is kept after it was ended, in milliseconds. Later requests that find an expired task use this
   * value too. Default: the value of the previous sweep or, for the first sweep, the limit `keepExpiredMs`.
   */
  readonly keepMs?: number | undefined;
  /** How long finished tasks are kept, if they do not expire earlier. Default: forever. */
  readonly retention?: Retention | undefined;
  /** The current time, in milliseconds. Default: `Date.now()`. */
  readonly now?: number | undefined;
}

/** The numbers of tasks that `expire` has ended and removed. */
export interface Expired {
  readonly ended: number;
  readonly removed: number;
  /** The number of tasks that were removed because of `retention`. */
  readonly old?: number;
}

/**
 * Maximum number of tasks that are processed at the same time. They are not processed one after the other, because an
 * execution that ignores its signal takes the whole grace time to end.
 */
const BATCH = 64;

/**
 * Runs one sweep. If several nodes share the store, only one of them sweeps, and the others do nothing. A node without
 * `retention`, such as a terminal, sweeps only if no node with `retention` is alive. Never throws. An error of the
 * store is logged and ends the sweep.
 */
export async function expire(runtime: ExpiryRuntime, options: ExpireOptions): Promise<Expired> {
  const { store } = runtime;
  const { keepMs = runtime.keepExpiredMs, now = Date.now() } = options;
  runtime.keepExpiredMs = keepMs;
  try {
    const sweeps = await runtime.log.cluster?.sweeps(options.retention !== undefined);
    if (sweeps === false) return { ended: 0, removed: 0 };
  } catch (error) {
    fail(runtime, error, 'failed to find out which node removes expired tasks');
    return { ended: 0, removed: 0 };
  }
  let ended = 0;
  let removed = 0;
  let failed = false;

  async function process(head: TaskHead): Promise<void> {
    try {
      const outcome = await expireTask(runtime, head, head.status.state, now);
      if (outcome === 'ended') ended++;
      if (outcome === 'removed') removed++;
    } catch (error) {
      failed = true;
      fail(runtime, error, 'failed to process an expired task', head.taskId);
    }
  }

  const goesOn = () => !failed && !runtime.closing;
  let found = BATCH;
  while (found === BATCH && goesOn()) {
    const batch: Promise<void>[] = [];
    try {
      const heads = await store.expired(now, BATCH);
      found = heads.length;
      for (const head of heads) {
        if (!goesOn()) break;
        batch.push(process(head));
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      failed = true;
      fail(runtime, error, 'failed to list expired tasks');
    }
    await Promise.all(batch);
  }
  if (!options.retention || !goesOn()) return { ended, removed };
  try {
    return { ended, removed, old: await removeOldTasks(runtime, options.retention, now) };
  } catch (error) {
    fail(runtime, error, 'failed to remove old tasks');
    return { ended, removed };
  }
}

/** Returns whether the task's time of expiry has passed. */
export function hasExpired(
  { now }: Pick<ExpiryRuntime, 'now'>,
  { expiresAt }: { readonly expiresAt?: number | undefined },
): boolean {
  return expiresAt !== undefined && expiresAt <= now();
}

/**
 * Ends or removes one expired task. `state` and `seq` are the values that the caller has read. If a finished task has
 * continued since then, it is not removed. Returns `ended` or `removed`. Returns undefined if it did neither, because
 * the task is being read, has continued, could not be ended, has already ended, or no longer exists.
 */
export async function expireTask(
  runtime: ExpiryRuntime,
  task: TaskKey & Pick<TaskHead, 'seq'>,
  state: TaskState,
  now = runtime.now(),
): Promise<'ended' | 'removed' | undefined> {
  const { store, keepExpiredMs } = runtime;
  if (isTerminal(state)) {
    if (!runtime.log.isLive(task.taskId)) {
      return (await store.delete(task, task.taskId, task.seq)) ? 'removed' : undefined;
    }
    await store.setExpiry(task, task.taskId, now + 1);
    return undefined;
  }
  // The new expiry time is set first. If the process crashes before the task has ended, a later sweep ends it.
  await store.setExpiry(task, task.taskId, now + keepExpiredMs);
  try {
    return (await endTask(runtime, task, now + keepExpiredMs)) ? 'ended' : undefined;
  } catch (error) {
    fail(runtime, error, 'failed to end an expired task', task.taskId);
    await store.setExpiry(task, task.taskId, now + 1);
    return undefined;
  }
}

/** Maximum number of attempts to delete a task that other nodes continue at the same time. */
const MAX_DELETIONS = 3;

/** Deletes a finished task. Throws if the task is not finished, or does not exist. */
export async function deleteTask(
  runtime: ExpiryRuntime & { open(scope: Scope, taskId: string): Promise<LiveTask> },
  scope: Scope,
  taskId: string,
): Promise<void> {
  // If another node has continued and ended the task in the meantime, the task is opened again.
  for (let attempts = 0; attempts < MAX_DELETIONS; attempts++) {
    const live = await runtime.open(scope, taskId);
    const { tenant, owner, state, seq } = live;
    live[Symbol.dispose]();
    if (state === undefined || !isTerminal(state)) {
      throw new A2AError('unsupportedOperation', 'Only a finished task can be deleted');
    }
    const isLive = runtime.log.isLive(taskId);
    const outcome = await expireTask(runtime, { tenant, owner, taskId, seq }, state);
    // A task that is being read stays in memory. With this expiry time, requests no longer find it. A sweep deletes it
    // later.
    if (isLive) live.expiresAt = runtime.now();
    if (isLive || outcome === 'removed') return;
  }
  throw new A2AError('unavailable', 'Another client continues the task');
}

function fail(runtime: ExpiryRuntime, error: unknown, text: string, taskId?: string): void {
  // At shutdown the store is closed, so its errors are expected.
  if (runtime.closing) return;
  runtime.logger.error({ err: error, ...(taskId && { taskId }) }, text);
}

/**
 * Maximum number of times that a page is read. A page is read again if expired tasks on it were ended or removed. The
 * next tasks then move up to this page, and may have expired too.
 */
const MAX_READS = 8;

/** Reads a page of tasks without expired tasks. Ends or removes the expired tasks that it finds. */
export async function unexpired(
  runtime: ExpiryRuntime,
  list: () => MaybePromise<ListPage>,
): Promise<ListPage> {
  for (let reads = 1; ; reads++) {
    const page = await list();
    const expired = page.heads.filter((head) => hasExpired(runtime, head));
    if (expired.length === 0) return page;
    const outcomes = await Promise.all(
      expired.map((head) => expireTask(runtime, head, head.status.state)),
    );
    if (reads < MAX_READS && outcomes.some((outcome) => outcome !== undefined)) continue;
    // The remaining expired tasks are omitted. Most of them are being read, so they cannot be removed yet.
    const heads = page.heads.filter((head) => !hasExpired(runtime, head));
    return { ...page, heads, total: page.total && page.total - expired.length };
  }
}

/**
 * Ends a task. Returns false if the task does not exist or had already ended. Throws if the end could not be stored.
 */
async function endTask(runtime: ExpiryRuntime, task: TaskKey, keptUntil: number): Promise<boolean> {
  using live = await runtime.log.open(task, task.taskId);
  if (!live) return false;
  live.expiresAt = keptUntil;
  const stopped = await runtime.stop(live, 'expire');
  await live.whenStored(live.seq);
  return stopped && live.state !== undefined && isTerminal(live.state);
}
