/**
 * Runs work in turn: each work starts when all earlier work with one of its keys has ended, even if that work failed.
 * Work with other keys does not wait.
 *
 *     await turns.run(file, async () => write(file, changed(await read(file))));
 */
export class Turns {
  readonly #queues = new Map<string, { last: Promise<void> | undefined; length: number }>();

  async run<Result>(
    keys: string | readonly string[],
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const names = typeof keys === 'string' ? [keys] : new Set(keys);
    const earlier: (Promise<void> | undefined)[] = [];
    // The work enters the queues of all keys at once, so a deadlock is impossible.
    for (const name of names) {
      const queue = this.#queues.get(name) ?? { last: undefined, length: 0 };
      this.#queues.set(name, queue);
      earlier.push(queue.last);
      queue.last = promise;
      queue.length++;
    }
    try {
      for (const each of earlier) await each;
      return await work();
    } finally {
      resolve();
      for (const name of names) {
        const queue = this.#queues.get(name);
        if (queue && --queue.length === 0) this.#queues.delete(name);
      }
    }
  }

  /** Returns how many works with this key are running or waiting. */
  length(key: string): number {
    return this.#queues.get(key)?.length ?? 0;
  }
}
