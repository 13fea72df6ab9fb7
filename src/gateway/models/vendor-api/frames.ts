/**
 * The texts of a streamed answer, for the client. If the model fails, the last text is the failure in the vendor's
 * format. For speed, `Frames` is not a generator: its code runs for every event of a relayed answer.
 */
import { A2AError } from '../../../protocol/index.ts';

export interface FramesOptions<Item> {
  readonly source: AsyncIterator<Item>;
  /** Returns the text of an item, or an empty text if the client does not get the item. */
  textOf(item: Item): string;
  /**
   * Returns a promise that must resolve before the client gets the next text. Returns undefined if there is nothing to
   * wait for.
   */
  pending?: (() => Promise<void> | undefined) | undefined;
  readonly failure: (error: A2AError) => string;
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Called once, when the source has ended or failed, or when the reader has stopped. */
  ended(): void;
  /** Called if the reader stops early. The function must end the source. */
  left(): void;
}

type Step = IteratorResult<string, undefined>;

const DONE: Step = { value: undefined, done: true };

export class Frames<Item> implements AsyncIterableIterator<string, undefined> {
  readonly #options: FramesOptions<Item>;
  #over = false;

  constructor(options: FramesOptions<Item>) {
    this.#options = options;
  }

  next(): Promise<Step> {
    if (this.#over) return Promise.resolve(DONE);
    return this.#options.source.next().then(this.#onStep, this.#onError);
  }

  async return(): Promise<Step> {
    const isEarly = !this.#over;
    this.#end();
    if (isEarly) this.#options.left();
    await this.#options.source.return?.().catch(() => undefined);
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  readonly #onStep = (step: IteratorResult<Item>): Step | Promise<Step> => {
    const pending = this.#options.pending?.();
    return pending ? pending.then(() => this.#give(step)).catch(this.#onError) : this.#give(step);
  };

  #give(step: IteratorResult<Item>): Step | Promise<Step> {
    if (step.done === true) {
      this.#end();
      return DONE;
    }
    const value = this.#options.textOf(step.value);
    return value === '' ? this.next() : { value, done: false };
  }

  readonly #onError = (error: unknown): Step => {
    const { signal, failure } = this.#options;
    this.#end();
    if (signal.aborted) return DONE;
    if (!(error instanceof A2AError)) throw error;
    return { value: failure(error), done: false };
  };

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.ended();
  }
}
