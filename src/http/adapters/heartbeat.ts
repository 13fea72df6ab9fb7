/** A response that the heartbeat watches: an SSE stream or a response over gRPC. */
export interface Beating {
  /** The time at which the client stopped reading (performance.now()), or undefined if it is reading. */
  stalledAt: number | undefined;
  /** Sends an SSE comment, which clients ignore. Does nothing for gRPC, which has no such message. */
  beat(): void;
  /** Disconnects the client. */
  drop(): void;
}

export interface HeartbeatOptions {
  readonly heartbeatMs: number;
  /** How long a client may read nothing before it is disconnected. */
  readonly stallMs: number;
}

/**
 * One timer for all responses. It keeps SSE streams alive, and disconnects clients that have stopped reading. A
 * disconnected client can resume its stream after its last event id.
 */
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
