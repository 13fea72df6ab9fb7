/** A task that expires. */
export interface Expiring {
  readonly number: number;
  /** Defined while the task is in the index. */
  readonly expiresAt: number | undefined;
}

/**
 * The tasks of the memory store by expiry time, earliest first. The index is a sorted array, because most tasks are
 * added at the end.
 */
export class ExpiryIndex<Entry extends Expiring> {
  readonly #tasks: Entry[] = [];

  add(task: Entry): void {
    this.#tasks.splice(this.#place(task), 0, task);
  }

  /** Removes a task. Its expiry must be the same as when it was added. */
  remove(task: Entry): void {
    const at = this.#place(task);
    if (this.#tasks[at] === task) this.#tasks.splice(at, 1);
  }

  /** Returns at most `limit` tasks that have expired at `now`. */
  due(now: number, limit: number): Entry[] {
    const found: Entry[] = [];
    for (const task of this.#tasks) {
      if (timeOf(task) > now || found.length >= limit) break;
      found.push(task);
    }
    return found;
  }

  clear(): void {
    this.#tasks.length = 0;
  }

  /** Returns the position of the task, or the position at which it would be inserted. */
  #place(task: Entry): number {
    let low = 0;
    let high = this.#tasks.length;
    const last = this.#tasks.at(-1);
    if (last && isBefore(last, task)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBefore(this.#tasks[middle]!, task)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function isBefore(a: Expiring, b: Expiring): boolean {
  return timeOf(a) < timeOf(b) || (timeOf(a) === timeOf(b) && a.number < b.number);
}

function timeOf({ expiresAt = Infinity }: Expiring): number {
  return expiresAt;
}
