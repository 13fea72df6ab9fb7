/**
 * Items of a live session on their way to the one who iterates over them. By hand and not as a generator: whoever leaves
 * while nothing happens is to be gone at once.
 */
import type { LiveItem } from './session.ts';

export interface LiveFeedOptions {
  /** From so many items on that wait, the one who iterates is too slow. */
  readonly limit: number;
  /** All that waited is taken. */
  readonly onEmpty: () => void;
  /** The one who iterated has left. */
  readonly onLeave?: () => void;
}

export class LiveFeed implements AsyncIterableIterator<LiveItem, undefined> {
  readonly #options: LiveFeedOptions;
  readonly #queue: LiveItem[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<LiveItem, undefined>> | undefined;
  #over = false;
  #error: Error | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
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
    return this.#queue.push(item) < this.#options.limit;
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
    if (item && this.#queue.length === 0) this.#options.onEmpty();
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
    this.#options.onLeave?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
