/**
 * Runs functions in turn. A function starts after all earlier functions that share a key with it have ended or failed.
 * Functions without a common key do not wait for each other.
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
    // A call enters the queues of all its keys at once, so a deadlock is impossible.
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

  /** Returns the number of functions with this key that are running or waiting. */
  length(key: string): number {
    return this.#queues.get(key)?.length ?? 0;
  }
}
