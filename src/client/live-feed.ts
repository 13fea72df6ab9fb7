/** Items of a live session on their way to the one who iterates over them. */
import type { LiveItem } from './live.ts';

/** From here on the one who iterates is too slow, and the connection is given up until it has caught up. */
const MAX_WAITING = 4096;

export class LiveFeed implements AsyncIterableIterator<LiveItem, undefined> {
  readonly #onEmpty: () => void;
  readonly #queue: LiveItem[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<LiveItem, undefined>> | undefined;
  #over = false;
  #error: Error | undefined;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** False: no more, until `onEmpty`. */
  give(item: LiveItem): boolean {
    if (this.#over) return true;
    if (this.#waiting) {
      this.#waiting.resolve({ done: false, value: item });
      this.#waiting = undefined;
      return true;
    }
    // Of comings and goings only the latest counts.
    if (item.kind === 'presence' && this.#queue.at(-1)?.kind === 'presence') this.#queue.pop();
    return this.#queue.push(item) < MAX_WAITING;
  }

  /** What is there is still given; then it is over, or throws. */
  end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(error);
  }

  async next(): Promise<IteratorResult<LiveItem, undefined>> {
    const item = this.#queue.shift();
    if (item && this.#queue.length === 0) this.#onEmpty();
    if (item) return { done: false, value: item };
    if (!this.#over) return (this.#waiting = Promise.withResolvers()).promise;
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<LiveItem, undefined>> {
    this.#queue.length = 0;
    this.#error = undefined;
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
