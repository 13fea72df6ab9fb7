/**
 * A queue between a live session and one iterator. It is not a generator, because `return` must take effect
 * immediately, even while `next` waits.
 */
import type { LiveItem } from './session.ts';

export interface LiveFeedOptions {
  /** If at least this number of items is queued, `give` returns false. */
  readonly limit: number;
  /** Called when the last queued item is taken. */
  readonly onEmpty: () => void;
  /** Called when the reader stops the iteration (`return`). */
  readonly onLeave?: () => void;
}

export class LiveFeed implements AsyncIterableIterator<LiveItem, undefined> {
  readonly #options: LiveFeedOptions;
  readonly #queue: LiveItem[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<LiveItem, undefined>> | undefined;
  #over = false;
  #error: Error | undefined;
  /** Removes the listener of `closeOn`. */
  #unlisten: (() => void) | undefined;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  /** Stops the iteration when the signal is aborted. */
  closeOn(signal: AbortSignal | undefined): void {
    const close = () => void this.return();
    if (signal?.aborted) return close();
    signal?.addEventListener('abort', close, { once: true });
    this.#unlisten = () => signal?.removeEventListener('abort', close);
  }

  /** Adds an item. Returns false if the queue is now full. The caller should then wait for `onEmpty`. */
  give(item: LiveItem): boolean {
    if (this.#over) return true;
    if (this.#waiting) {
      this.#waiting.resolve({ done: false, value: item });
      this.#waiting = undefined;
      return true;
    }
    // A new presence replaces the last queued item if that is a presence too.
    if (item.kind === 'presence' && this.#queue.at(-1)?.kind === 'presence') this.#queue.pop();
    return this.#queue.push(item) < this.#options.limit;
  }

  /** Ends the iteration after the queued items. If an error is given, the iteration then throws this error. */
  end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    if (this.#queue.length === 0) this.#unlisten?.();
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
    this.#unlisten?.();
    const error = this.#error;
    this.#error = undefined;
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<LiveItem, undefined>> {
    this.#queue.length = 0;
    this.#error = undefined;
    this.#unlisten?.();
    this.end();
    this.#options.onLeave?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
