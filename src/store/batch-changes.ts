import type { TaskState } from '../protocol/index.ts';

/** The data about a task that the store caches for appends. */
export interface Version {
  /** The row id of the task. */
  readonly id: number;
  /** The row id of the task's scope. */
  readonly scope: number;
  seq: number;
  state: TaskState;
  /** Number of the entry with the status. */
  statusSeq: number;
  /** Number of the last status change (`ChangeClock`), or 0 if there was none since the task was cached. */
  changed: number;
}

/** The changes of statuses and counters in a batch. They are written at the end of the batch. */
export class BatchChanges {
  readonly statuses = new Set<Version>();
  readonly counts = new Map<string, { scope: number; state: TaskState; n: number }>();

  /** Counts the change of one task from the state `from` to the state `to`. */
  count(scope: number, from: TaskState | undefined, to: TaskState): void {
    if (from === to) return;
    if (from) this.#add(scope, from, -1);
    this.#add(scope, to, 1);
  }

  #add(scope: number, state: TaskState, n: number): void {
    const key = `${scope} ${state}`;
    const count = this.counts.get(key);
    if (count) count.n += n;
    else this.counts.set(key, { scope, state, n });
  }
}
