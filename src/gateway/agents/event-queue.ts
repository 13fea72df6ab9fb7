/**
 * The events of one execution, as an async iterator over what `run` pushes. A generator would need several promises for
 * each event, which takes more time than the rest of the proxied event.
 */
import type { ExecutorEvent } from '../../tasks/index.ts';

type Step = IteratorResult<ExecutorEvent, undefined>;

const DONE: Step = { value: undefined, done: true };

export class EventQueue implements AsyncIterableIterator<ExecutorEvent, undefined> {
  readonly #run: (events: EventQueue) => Promise<void>;
  /** The end of `run`, once it has started. */
  #running: Promise<void> | undefined;
  #events: ExecutorEvent[] = [];
  #waiting: PromiseWithResolvers<Step> | undefined;
  #over = false;
  #error: unknown;
  /** Called when the reader waits for the next event. */
  onWanted: (() => void) | undefined;
  /** Called when the reader wants no more events. */
  onLeft: (() => void) | undefined;

  constructor(run: (events: EventQueue) => Promise<void>) {
    this.#run = run;
  }

  /** Whether the reader waits for an event. */
  get wanted(): boolean {
    return this.#waiting !== undefined;
  }

  /** Whether the reader wants no more events, or `run` has ended. */
  get isOver(): boolean {
    return this.#over;
  }

  push(event: ExecutorEvent): void {
    const waiting = this.#waiting;
    if (!waiting) {
      if (!this.#over) this.#events.push(event);
      return;
    }
    this.#waiting = undefined;
    waiting.resolve({ value: event, done: false });
  }

  next(): Promise<Step> {
    const event = this.#events.shift();
    if (event) return Promise.resolve({ value: event, done: false });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#over) return Promise.resolve(DONE);
    const waiting = (this.#waiting = Promise.withResolvers<Step>());
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
  async return(): Promise<Step> {
    this.#over = true;
    this.#events = [];
    this.onLeft?.();
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
