/**
 * Handles expired tasks. An unfinished task is ended, but kept for a while, so that clients can see how it ended. A
 * finished task is removed, unless it is being read.
 *
 * Each processed task is removed or gets a later expiry time. So a sweep always ends, and the next sweep tries a failed
 * task again. Tasks are processed in small batches.
 */
import { isTerminal } from '../protocol/index.ts';
import type { Runtime } from './runtime.ts';
import type { TaskHead } from './store/store.ts';

/** The options of `expire`. */
export interface ExpireOptions {
  /** How long a task is kept after it was ended, in milliseconds. */
  readonly keepMs: number;
  /** The current time, in milliseconds. Default: `Date.now()`. */
  readonly now?: number | undefined;
}

/** The numbers of tasks that `expire` has ended and removed. */
export interface Expired {
  readonly ended: number;
  readonly removed: number;
}

/**
 * Number of tasks that are processed at the same time. An execution that ignores its signal takes the whole grace time
 * to end.
 */
const BATCH = 64;

/** Runs one sweep. Never throws: an error of the store is logged and ends the sweep. */
export async function expire(runtime: Runtime, options: ExpireOptions): Promise<Expired> {
  const { store, logger } = runtime;
  const { keepMs, now = Date.now() } = options;
  let ended = 0;
  let removed = 0;
  let failed = false;

  function fail(error: unknown, text: string, taskId?: string): void {
    // At shutdown the store is closed, so its errors are expected.
    if (!runtime.closing) logger.error({ err: error, ...(taskId && { taskId }) }, text);
  }

  async function remove(head: TaskHead): Promise<void> {
    if (runtime.log.isLive(head.taskId)) await store.setExpiry(head, head.taskId, now + 1);
    else if (await store.delete(head, head.taskId)) removed++;
  }

  /**
   * Ends a task. Sets its new expiry time first, so that a later sweep ends the task if the process crashes before
   * that.
   */
  async function end(head: TaskHead): Promise<void> {
    await store.setExpiry(head, head.taskId, now + keepMs);
    try {
      if (await endTask(runtime, head)) ended++;
    } catch (error) {
      fail(error, 'failed to end an expired task', head.taskId);
      await store.setExpiry(head, head.taskId, now + 1);
    }
  }

  async function process(head: TaskHead): Promise<void> {
    try {
      await (isTerminal(head.status.state) ? remove(head) : end(head));
    } catch (error) {
      failed = true;
      fail(error, 'failed to process an expired task', head.taskId);
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
      fail(error, 'failed to list expired tasks');
    }
    await Promise.all(batch);
  }
  return { ended, removed };
}

/** Ends a task. Returns whether the task was unfinished. Throws if the end could not be stored. */
async function endTask(runtime: Runtime, head: TaskHead): Promise<boolean> {
  using live = await runtime.log.open(head, head.taskId);
  if (!live) return false;
  const stopped = await runtime.stop(live, 'expire');
  await live.whenStored(live.seq);
  return stopped && live.state !== undefined && isTerminal(live.state);
}
