/**
 * Removes finished tasks that ended too long ago. If the store is too large, also removes the finished tasks that ended
 * earliest. Three kinds of tasks are not removed: unfinished tasks, tasks that are being read in this process, and
 * tasks whose session decides how long they are kept (`keepTasks`). The size of the tasks of sessions does not count.
 * Otherwise, large sessions could cause the removal of all other tasks. A task with events that a webhook has not
 * received is kept for a day after its end.
 *
 * The work is done in small parts between other events, so that requests do not wait for it.
 */
import type { EventLog } from './log/event-log.ts';
import type { Logger } from './log/logger.ts';
import { KEPT } from './store/store-rules.ts';
import type { FinishedTask, Scope, StoreRetention, TaskStore } from './store/store.ts';

/** How long finished tasks are kept. */
export interface Retention {
  /** Maximum time since the end of a task, in milliseconds. Default: 30 days. */
  readonly maxAgeMs?: number | undefined;
  /** Maximum size of the store in bytes. Default: 2 GB, and unlimited for a store in PostgreSQL. */
  readonly maxBytes?: number | undefined;
}

export const DEFAULT_RETENTION = {
  maxAgeMs: 30 * 86_400_000,
  maxBytes: 2_000_000_000,
} as const satisfies Retention;

/** The part of the runtime that the removal needs. */
interface RetentionRuntime {
  readonly store: TaskStore;
  readonly log: Pick<EventLog, 'isLive'>;
  readonly logger: Logger;
  readonly closing: boolean;
  /** The result of the clock check at the last sweep. */
  clock: ClockCheck | undefined;
}

/** The state of the check for a clock that was set forward. */
export interface ClockCheck {
  /** The difference between the system clock and a monotonic clock, in milliseconds. */
  readonly offset: number;
  /** The time on the monotonic clock after which ages are trusted. */
  readonly trustedAfter: number;
}

/** Number of tasks that `keepTasks` lists with one query. */
const PAGE = 100;
/** Maximum number of tasks that are removed before the size of the store is checked again. */
const GROUP = 16;
/** How long the removal may run before it yields to the event loop, in milliseconds. */
const TURN_MS = 10;
/**
 * How long a task with undelivered events is kept after its end. By default, an event becomes a dead letter after the
 * same time (`pushGiveUpMs`).
 */
const KEEP_UNDELIVERED_MS = 86_400_000;
/**
 * If the clock jumps forward by more than this time (in milliseconds), ages are not trusted. They are trusted again
 * after the same time has passed.
 */
const CLOCK_JUMP_MS = 3_600_000;

/**
 * Excludes the stored tasks of a session from retention, and also all tasks that this process creates from now on. All
 * servers that use the store respect this, now and later. A task with an expiry time of its own is not excluded.
 */
export async function keepTasks(
  store: TaskStore,
  session: Scope & { readonly contextId: string },
): Promise<void> {
  const append = store.append.bind(store);
  const appendKept: TaskStore['append'] = (batch) =>
    append(batch.map((each) => ({ ...each, expiresAt: each.expiresAt ?? KEPT })));
  store.append = appendKept;
  let cursor: string | undefined;
  do {
    // Tasks of earlier versions of Parley are not marked yet.
    const page = await store.list({ ...session, cursor, limit: PAGE, total: false });
    for (const { taskId, expiresAt } of page.heads) {
      if (expiresAt === undefined) await store.setExpiry(session, taskId, KEPT);
    }
    cursor = page.next;
  } while (cursor !== undefined);
}

/** Removes old tasks. Returns their number. Rejects if the store fails. */
export async function removeOldTasks(
  runtime: RetentionRuntime,
  retention: Retention,
  now: number,
): Promise<number> {
  const { store, log } = runtime;
  const old = store.retention;
  if (!old) return 0;
  const { maxAgeMs = DEFAULT_RETENTION.maxAgeMs } = retention;
  const maxBytes = retention.maxBytes ?? old.maxBytes ?? DEFAULT_RETENTION.maxBytes;
  const oldest = trustsClock(runtime, now) ? now - maxAgeMs : -Infinity;
  const turns = new Turns();
  let removed = 0;
  let keptBytes: number | undefined;

  /** Returns whether the store is larger than `maxBytes` even without the finished tasks of sessions. */
  const isFull = async (): Promise<boolean> => {
    const size = await old.size();
    if (size <= maxBytes) return false;
    keptBytes ??= await sizeOfKept(old, turns);
    return size - keptBytes > maxBytes;
  };
  const mayGo = ({ taskId, isDue, endedAt }: FinishedTask): boolean =>
    !log.isLive(taskId) && !(isDue && endedAt > now - KEEP_UNDELIVERED_MS);

  let after: number | undefined;
  while (!runtime.closing) {
    const found = await old.finished({ after, limit: GROUP });
    const isOld = ({ endedAt }: FinishedTask) => endedAt <= oldest;
    const gone = found.length > 0 && (await isFull()) ? found : found.filter(isOld);
    // A request may open a task between two calls of `remove`, so the remaining tasks are checked again.
    for (let rest = gone.filter(mayGo); rest.length > 0 && !runtime.closing;) {
      const done = await old.remove(rest);
      removed += done;
      await turns.pause();
      rest = rest.slice(done).filter(mayGo);
    }
    await turns.pause();
    if (gone.length < GROUP) break;
    after = found.at(-1)?.position;
  }
  while (!runtime.closing && (await old.reclaim())) await turns.pause();
  return removed;
}

/** Returns the size of the finished tasks of sessions (`keepTasks`). */
async function sizeOfKept(old: StoreRetention, turns: Turns): Promise<number> {
  let bytes = 0;
  let after: number | undefined;
  while (old.sizeOf) {
    const page = await old.finished({ kept: true, after, limit: GROUP });
    bytes += page.length > 0 ? await old.sizeOf(page) : 0;
    if (page.length < GROUP) break;
    after = page.at(-1)?.position;
    await turns.pause();
  }
  return bytes;
}

/**
 * Returns whether ages are trusted. If the clock was set forward by mistake, all tasks would look old. So after a jump,
 * ages are not trusted for a while, and the operator has time to correct the clock.
 */
function trustsClock(runtime: RetentionRuntime, now: number): boolean {
  const elapsed = performance.now();
  const offset = now - elapsed;
  const { clock } = runtime;
  const jumped = clock !== undefined && offset - clock.offset > CLOCK_JUMP_MS;
  if (jumped) {
    runtime.logger.warn({}, 'the clock was set forward: tasks are not removed by age for an hour');
  }
  const trustedAfter = jumped ? elapsed + CLOCK_JUMP_MS : (clock?.trustedAfter ?? 0);
  runtime.clock = { offset, trustedAfter };
  return elapsed >= trustedAfter;
}

/** Yields to the event loop when the work has taken some time. */
class Turns {
  #since = performance.now();

  async pause(): Promise<void> {
    if (performance.now() - this.#since < TURN_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
