/**
 * When streams write. A write to a socket costs more than all the rest of an event, so those of a burst share one.
 *
 * An event goes out at the end of the turn of the event loop in which it was published, unless its stream has written
 * within the last millisecond or so: then it waits until that is over. So what comes at the speed of people or models
 * is never held up, and a burst costs a write per millisecond, not one per event. There is a timer only while somebody
 * waits: one that wakes an idle process costs as much as a write.
 */
export interface Paced {
  /** When it wrote last. */
  wroteAt: number;
  flush(): void;
}

const WINDOW_MS = 1;

export class Pace {
  #soon: Paced[] = [];
  #waiting: Paced[] = [];

  /** The stream has something to send. Its `flush` is called once for this. */
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
