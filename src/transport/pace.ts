/**
 * When streams write. A write to a socket costs more than all the rest of an event, so those of a burst share one.
 *
 * An event goes out at the end of the turn of the event loop in which it was published, unless its stream has written
 * within the current window of about a millisecond: then it waits for the window's end. So what comes at the speed of
 * people or models is never held up, and a burst costs a write per window, not one per event.
 */
export interface Paced {
  /** The window in which it wrote last. */
  window: number;
  flush(): void;
}

const WINDOW_MS = 1;

export class Pace {
  #window = 1;
  #open = false;
  #waiting: Paced[] = [];

  /** The stream has something to send. Its `flush` is called once for this. */
  schedule(stream: Paced): void {
    if (stream.window === this.#window) {
      this.#waiting.push(stream);
    } else {
      this.#joined(stream);
      process.nextTick(flush, stream);
    }
  }

  #joined(stream: Paced): void {
    stream.window = this.#window;
    if (this.#open) return;
    this.#open = true;
    setTimeout(() => this.#close(), WINDOW_MS);
  }

  #close(): void {
    this.#open = false;
    this.#window++;
    const due = this.#waiting;
    if (due.length === 0) return;
    this.#waiting = [];
    for (const stream of due) {
      this.#joined(stream);
      stream.flush();
    }
  }
}

function flush(stream: Paced): void {
  stream.flush();
}
