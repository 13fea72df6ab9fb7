/**
 * Delays the next execution of a task whose execution was lost because the task store failed. Without a pause, a task
 * whose events cannot be stored would be executed again and again, and each execution may call a paid model. The pause
 * grows with each failure of the task. If the store was full, the pause ends only when the store has room again.
 */
import { backoffMs, BoundedMap, rest, StoreError } from '../../base/index.ts';
import type { TaskStore } from '../store/store.ts';

/** Maximum length of the first pause, in milliseconds. `backoffMs` randomly reduces it by up to half. */
const FIRST_MS = 2000;
const MAX_MS = 60_000;
/** If a task has not failed for this time, in milliseconds, its next pause is as short as the first one. */
const FORGET_MS = 600_000;
/** How long the result of a probe of the store is reused, in milliseconds. */
const PROBE_MS = 1000;
/** Maximum number of tasks whose failures are counted. The tasks with the oldest failures are forgotten first. */
const MAX_TASKS = 20_000;

interface Failures {
  /** The epoch of the last failure. In a later epoch, the pause has no effect. */
  readonly epoch: number;
  count: number;
  /** The time at which the pause ended. Undefined during the pause. */
  endedAt: number | undefined;
}

/** Returns whether the store failed because it has no room. */
export function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'full';
}

export class TakeoverPauses {
  readonly #store: Pick<TaskStore, 'probe'>;
  readonly #tasks = new BoundedMap<Failures>(MAX_TASKS);
  #probing: Promise<boolean> | undefined;
  #closed = false;

  constructor(store: Pick<TaskStore, 'probe'>) {
    this.#store = store;
  }

  /** Returns whether the task is paused in this epoch. */
  has(taskId: string, epoch: number): boolean {
    const known = this.#tasks.get(taskId);
    return known?.epoch === epoch && known.endedAt === undefined;
  }

  /** Calls `resume` after a pause. Does nothing if the task is already paused in this epoch. */
  start(taskId: string, epoch: number, error: unknown, resume: () => void): void {
    if (this.#closed || this.has(taskId, epoch)) return;
    const known = this.#tasks.get(taskId);
    const now = performance.now();
    const count = known && now - (known.endedAt ?? now) < FORGET_MS ? known.count : 0;
    const failures: Failures = { epoch, count, endedAt: undefined };
    this.#tasks.set(taskId, failures);
    void this.#wait(failures, isFull(error) ? () => this.#hasRoom() : async () => true, resume);
  }

  /** Ends all pauses without calling `resume`. */
  close(): void {
    this.#closed = true;
  }

  async #wait(
    failures: Failures,
    isReady: () => Promise<boolean>,
    resume: () => void,
  ): Promise<void> {
    do {
      failures.count++;
      await rest(backoffMs(failures.count, FIRST_MS, MAX_MS));
      if (this.#closed) return;
    } while (!(await isReady()));
    failures.endedAt = performance.now();
    if (!this.#closed) resume();
  }

  /** Returns whether the store can be written. All tasks that wait share a probe and, for PROBE_MS, its result. */
  #hasRoom(): Promise<boolean> {
    return (this.#probing ??= this.#probe());
  }

  async #probe(): Promise<boolean> {
    try {
      await this.#store.probe?.();
      return true;
    } catch {
      return false;
    } finally {
      void rest(PROBE_MS).then(() => (this.#probing = undefined));
    }
  }
}
