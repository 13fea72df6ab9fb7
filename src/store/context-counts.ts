/**
 * How many tasks of a context are in each state, for the contexts that somebody lists. A context may have a million
 * tasks: they are counted once, and afterwards with every change. Contexts that nobody lists cost nothing.
 */
import type { TaskState } from '../protocol/index.ts';

/** Contexts whose counts are remembered. */
const MAX_CONTEXTS = 1000;

type Counts = Map<TaskState, number>;

export class ContextCounts {
  readonly #contexts = new Map<string, Counts>();

  /** Those in one state, or in all. `count` is asked where the context is not known yet. */
  total(
    scope: number,
    contextId: string,
    state: TaskState | undefined,
    count: () => Iterable<[TaskState, number]>,
  ): number {
    const key = keyOf(scope, contextId);
    const counts = this.#contexts.get(key) ?? new Map(count());
    // What was asked for last is forgotten last.
    this.#contexts.delete(key);
    this.#contexts.set(key, counts);
    const [oldest] = this.#contexts.keys();
    if (oldest !== undefined && this.#contexts.size > MAX_CONTEXTS) this.#contexts.delete(oldest);
    if (state !== undefined) return counts.get(state) ?? 0;
    let total = 0;
    for (const n of counts.values()) total += n;
    return total;
  }

  /** One task leaves the state `from` (undefined: it is new) and enters `to` (undefined: it is gone). */
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
