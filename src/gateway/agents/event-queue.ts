/**
 * An async iterator over the events that `run` pushes. A generator would need several promises for each event, which
 * takes more time than all other work for a proxied event.
 */
type Step<Event> = IteratorResult<Event, undefined>;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

export class EventQueue<Event> implements AsyncIterableIterator<Event, undefined> {
  readonly #run: (events: EventQueue<Event>) => Promise<void>;
  /** Resolves when `run` has ended. Undefined before the first read starts `run`. */
  #running: Promise<void> | undefined;
  #events: Event[] = [];
  #waiting: PromiseWithResolvers<Step<Event>> | undefined;
  #over = false;
  #error: unknown;
  /** Called when the reader waits for another event while `run` is in progress, and when the reader leaves. */
  onWanted: (() => void) | undefined;
  /** Called when the reader leaves. */
  onLeft: (() => void) | undefined;

  constructor(run: (events: EventQueue<Event>) => Promise<void>) {
    this.#run = run;
  }

  /**
   * Whether the reader waits for an event. Also true after the end, so that the writer does not wait. `push` then drops
   * the event.
   */
  get wanted(): boolean {
    return this.#waiting !== undefined || this.#over;
  }

  /** Whether the reader has left, or `run` has ended. */
  get isOver(): boolean {
    return this.#over;
  }

  /** Adds an event. It is dropped if the iteration has ended. */
  push(event: Event): void {
    const waiting = this.#waiting;
    if (!waiting) {
      if (!this.#over) this.#events.push(event);
      return;
    }
    this.#waiting = undefined;
    waiting.resolve({ value: event, done: false });
  }

  next(): Promise<Step<Event>> {
    const event = this.#events.shift();
    if (event !== undefined) return Promise.resolve({ value: event, done: false });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#over) return Promise.resolve(DONE);
    const waiting = (this.#waiting = Promise.withResolvers<Step<Event>>());
    if (this.#running) this.onWanted?.();
    else {
      this.#running = this.#run(this).then(
        () => this.#end(undefined),
        (error: unknown) => this.#end(error),
      );
    }
    return waiting.promise;
  }

  /** Ends the iteration. Resolves when `run` has ended. */
  async return(): Promise<Step<Event>> {
    this.#over = true;
    this.#events = [];
    this.onLeft?.();
    this.onWanted?.();
    await this.#running;
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#over = true;
    if (!waiting) this.#error = error;
    else if (error === undefined) waiting.resolve(DONE);
    else waiting.reject(error);
  }
}
