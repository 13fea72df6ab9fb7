/**
 * One timer for all streams: it keeps idle ones alive, and drops those whose reader has not read for too long. What
 * such a reader has seen it knows by its last event id, and resumes behind it.
 */
export interface Beating {
  /** Since when the reader has not read (performance.now()); undefined: it keeps up. */
  stalledAt: number | undefined;
  /** Sends a comment, which clients ignore. */
  beat(): void;
  /** Drops the reader. */
  drop(): void;
}

export interface HeartbeatOptions {
  readonly heartbeatMs: number;
  /** A reader that does not read for so long is dropped. */
  readonly stallMs: number;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #streams = new Set<Beating>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  add(stream: Beating): void {
    this.#streams.add(stream);
    const { heartbeatMs, stallMs } = this.#options;
    this.#timer ??= setInterval(() => this.#tick(), Math.min(heartbeatMs, stallMs)).unref();
  }

  remove(stream: Beating): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const late = performance.now() - this.#options.stallMs;
    for (const stream of this.#streams) {
      if (stream.stalledAt === undefined) stream.beat();
      else if (stream.stalledAt <= late) stream.drop();
    }
  }
}
