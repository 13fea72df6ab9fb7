/**
 * Counts the tasks of a context by state. A context may have a million tasks, so its tasks are not counted for every
 * list. They are counted when the context is listed and its counts are not in the cache. After that, each change
 * updates the cached counts.
 */
import { BoundedMap } from '../base/index.ts';
import type { TaskState } from '../protocol/index.ts';

/** Maximum number of contexts whose counts are cached. */
const MAX_CONTEXTS = 1000;

export class ContextCounts {
  readonly #contexts = new BoundedMap<Map<TaskState, number>>(MAX_CONTEXTS);

  /**
   * Returns the number of tasks in `state`, or in all states if `state` is undefined. If the context is not cached,
   * `count` is called and must return the number of tasks in each state.
   */
  total(
    scope: number,
    contextId: string,
    state: TaskState | undefined,
    count: () => Iterable<[TaskState, number]>,
  ): number {
    const key = keyOf(scope, contextId);
    let counts = this.#contexts.get(key);
    if (!counts) this.#contexts.set(key, (counts = new Map(count())));
    if (state !== undefined) return counts.get(state) ?? 0;
    let total = 0;
    for (const n of counts.values()) total += n;
    return total;
  }

  /**
   * Counts the change of one task from the state `from` to the state `to`. `from` is undefined for a new task. `to` is
   * undefined for a deleted task.
   */
  change(
    scope: number,
    contextId: string,
    from: TaskState | undefined,
    to: TaskState | undefined,
  ): void {
    if (this.#contexts.size === 0) return;
    const counts = this.#contexts.get(keyOf(scope, contextId));
    if (!counts) return;
    if (from !== undefined) counts.set(from, (counts.get(from) ?? 0) - 1);
    if (to !== undefined) counts.set(to, (counts.get(to) ?? 0) + 1);
  }

  clear(): void {
    this.#contexts.clear();
  }
}

function keyOf(scope: number, contextId: string): string {
  return `${scope} ${contextId}`;
}
