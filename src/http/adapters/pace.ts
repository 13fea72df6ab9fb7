/**
 * Decides when streams write. A write to a socket takes more time than all other processing of an event, so the events
 * of a burst share one write.
 *
 * An event is normally written at the next tick. If its stream has written within the last millisecond, the event waits
 * for up to a millisecond. So events at the speed of people or models are not delayed, and a burst needs only one write
 * per millisecond. A timer runs only while a stream waits.
 */
export interface Paced {
  /** The time of the last write. */
  wroteAt: number;
  flush(): void;
}

const WINDOW_MS = 1;

export class Pace {
  #soon: Paced[] = [];
  #waiting: Paced[] = [];

  /** Schedules one call of the stream's `flush`. */
  schedule(stream: Paced): void {
    const now = performance.now();
    if (now - stream.wroteAt >= WINDOW_MS) {
      stream.wroteAt = now;
      if (this.#soon.push(stream) === 1) process.nextTick(() => this.#flushSoon());
    } else if (this.#waiting.push(stream) === 1) {
      setTimeout(() => this.#flushAll(), WINDOW_MS);
    }
  }

  #flushSoon(): void {
    const due = this.#soon;
    this.#soon = [];
    for (const stream of due) stream.flush();
  }

  #flushAll(): void {
    const due = this.#waiting;
    this.#waiting = [];
    const now = performance.now();
    for (const stream of due) {
      stream.wroteAt = now;
      stream.flush();
    }
  }
}
