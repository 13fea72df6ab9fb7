/** A stream that gathers its events until `flush` is called. */
export interface Paced {
  /** The time of the last write that `Pace` has scheduled. */
  wroteAt: number;
  flush(): void;
}

/** Usual minimum time between two writes of a stream. A model that sends 200 tokens per second is not delayed. */
export const WINDOW_MS = 4;
/** Streams whose windows end within this time are written together, so that the timer does not run for each of them. */
const TOGETHER_MS = 1;

/**
 * Decides when streams write. A write to a socket takes more time than all other processing of an event, so the events
 * of a burst share one write.
 *
 * An event is normally written at the next tick. If its stream has written less than WINDOW_MS ago, the event waits for
 * the rest of this window. So events at the speed of people or models are not delayed, and a burst needs only one write
 * per window. A timer runs only while a stream waits.
 */
export class Pace {
  #soon: Paced[] = [];
  #waiting: Paced[] = [];
  readonly #now: () => number;

  /** `now` is the clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Schedules one call of the stream's `flush`. */
  schedule(stream: Paced): void {
    const now = this.#now();
    if (now - stream.wroteAt >= WINDOW_MS) {
      stream.wroteAt = now;
      if (this.#soon.push(stream) === 1) process.nextTick(() => this.#flushSoon());
    } else if (this.#waiting.push(stream) === 1) {
      this.#wait(stream.wroteAt, now);
    }
  }

  #flushSoon(): void {
    const due = this.#soon;
    this.#soon = [];
    for (const stream of due) stream.flush();
  }

  /** Starts the timer for a stream that has written at `wroteAt`. */
  #wait(wroteAt: number, now: number): void {
    setTimeout(() => this.#flushDue(), wroteAt + WINDOW_MS - now);
  }

  #flushDue(): void {
    const now = this.#now();
    const waiting = this.#waiting;
    this.#waiting = [];
    let first = Infinity;
    for (const stream of waiting) {
      if (stream.wroteAt + WINDOW_MS - TOGETHER_MS > now) {
        this.#waiting.push(stream);
        first = Math.min(first, stream.wroteAt);
      } else {
        stream.wroteAt = now;
        stream.flush();
      }
    }
    if (this.#waiting.length > 0) this.#wait(first, now);
  }
}
