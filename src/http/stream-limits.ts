/** Limits the number of open streams, in total and per client. */
import { A2AError } from '../protocol/index.ts';

export interface StreamLimits {
  readonly maxStreams: number;
  readonly maxStreamsPerClient: number;
}

export class StreamCounter {
  readonly #limits: StreamLimits;
  readonly #byClient = new Map<string, number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Counts a new stream, or throws `rateLimited` if there are too many. */
  take(client: string): void {
    const count = this.#byClient.get(client) ?? 0;
    const { maxStreams, maxStreamsPerClient } = this.#limits;
    if (this.#total >= maxStreams || count >= maxStreamsPerClient) {
      throw new A2AError('rateLimited', 'Too many streams are open', { retryAfterSeconds: 5 });
    }
    this.#total++;
    this.#byClient.set(client, count + 1);
  }

  /** Stops counting a stream that `take` has counted. */
  give(client: string): void {
    this.#total--;
    const left = (this.#byClient.get(client) ?? 1) - 1;
    if (left === 0) this.#byClient.delete(client);
    else this.#byClient.set(client, left);
  }

  /**
   * Counts a new stream like `take`. Returns a function that the caller must call when the stream has ended. Calling it
   * again does nothing.
   */
  acquire(client: string): () => void {
    this.take(client);
    let taken = true;
    return () => {
      if (taken) this.give(client);
      taken = false;
    };
  }
}
