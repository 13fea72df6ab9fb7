/** The tasks of the memory store that expire, the earliest first: a sorted array, because most are added at its end. */
export interface Expiring {
  readonly number: number;
  readonly expiresAt: number;
}

export class ExpiryIndex<Task extends Expiring> {
  readonly #tasks: Task[] = [];

  add(task: Task): void {
    this.#tasks.splice(this.#place(task), 0, task);
  }

  /** It must still have the time with which it was added. */
  remove(task: Task): void {
    const at = this.#place(task);
    if (this.#tasks[at] === task) this.#tasks.splice(at, 1);
  }

  /** Those whose time has come, at most so many. */
  due(now: number, limit: number): Task[] {
    const found: Task[] = [];
    for (const task of this.#tasks) {
      if (task.expiresAt > now || found.length >= limit) break;
      found.push(task);
    }
    return found;
  }

  clear(): void {
    this.#tasks.length = 0;
  }

  /** Where the task stands, or would. */
  #place(task: Task): number {
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
  return a.expiresAt < b.expiresAt || (a.expiresAt === b.expiresAt && a.number < b.number);
}
