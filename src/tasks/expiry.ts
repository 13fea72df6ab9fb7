/**
 * What happens to tasks whose time has come. One that is not finished is ended, and kept a while longer, so that
 * clients can see how it ended; one that is finished is removed, unless somebody reads it.
 *
 * Each task that was looked at is gone afterwards or has a later expiry, so that a sweep comes to an end whatever
 * fails; what could not be done now is done by the next sweep. There is never more than a small batch in hand.
 */
import { isTerminal } from '../protocol/index.ts';
import type { LiveTask } from './log/event-log.ts';
import { expiredStatus } from './execution/execution.ts';
import type { Runtime } from './runtime.ts';
import type { TaskHead } from './store/store.ts';

/** The options of `expire`. */
export interface ExpireOptions {
  /** How long a task that was ended here is kept, in milliseconds. */
  readonly keepMs: number;
  /** The time, in milliseconds. */
  readonly now?: number | undefined;
}

/** How many tasks `expire` has ended and removed. */
export interface Expired {
  readonly ended: number;
  readonly removed: number;
}

/** Executions that ignore their signal take the grace time to end: those of a batch take it together. */
const BATCH = 64;

/** Never throws: where the store fails, that is logged, and the sweep is over. */
export async function expire(runtime: Runtime, options: ExpireOptions): Promise<Expired> {
  const { store, logger } = runtime;
  const { keepMs, now = Date.now() } = options;
  let ended = 0;
  let removed = 0;
  let failed = false;

  function fail(error: unknown, text: string, taskId?: string): void {
    // A store that is closed meanwhile is nothing to report.
    if (!runtime.closing) logger.error({ err: error, ...(taskId && { taskId }) }, text);
  }

  /** Nothing is awaited between the look and the removal, where the store answers at once. */
  async function remove(head: TaskHead): Promise<void> {
    if (runtime.log.isLive(head.taskId)) await store.setExpiry(head, head.taskId, now + 1);
    else if (await store.delete(head, head.taskId)) removed++;
  }

  /** First the expiry: a crash in between makes the end late, and not unseen. */
  async function end(head: TaskHead): Promise<void> {
    await store.setExpiry(head, head.taskId, now + keepMs);
    try {
      if (await endTask(runtime, head)) ended++;
    } catch (error) {
      fail(error, 'an expired task could not be ended', head.taskId);
      await store.setExpiry(head, head.taskId, now + 1);
    }
  }

  async function lookAfter(head: TaskHead): Promise<void> {
    try {
      await (isTerminal(head.status.state) ? remove(head) : end(head));
    } catch (error) {
      failed = true;
      fail(error, 'an expired task could not be looked after', head.taskId);
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
        batch.push(lookAfter(head));
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      failed = true;
      fail(error, 'expired tasks could not be looked up');
    }
    await Promise.all(batch);
  }
  return { ended, removed };
}

/** Whether it came to its end by this. Throws where that could not be stored. */
async function endTask(runtime: Runtime, head: TaskHead): Promise<boolean> {
  using live = await runtime.log.open(head, head.taskId);
  if (!live) return false;
  const isEarlier = isOver(live);
  const execution = runtime.executions.of(head.taskId);
  if (!isEarlier && execution) {
    await execution.expire();
  } else if (!isEarlier) {
    await runtime.end(live, expiredStatus(live));
    await runtime.tellCanceled(live);
  }
  await live.whenStored(live.seq);
  return !isEarlier && isOver(live);
}

function isOver({ state }: LiveTask): boolean {
  return state !== undefined && isTerminal(state);
}
