/**
 * One answer of a model after its first visible chunk has arrived. Counts the chunks and passes the visible ones on.
 *
 * This class is not a generator. Several generators between the provider and the client would take more time than all
 * other work for an event.
 */
import type { FinishReason, Usage } from '../../agent/index.ts';
import { cutOff } from '../../agent/internal/index.ts';
import type { RelayedChunk, SourceChunk } from './chunks.ts';
import type { Used } from './cost.ts';
import type { ProviderCall } from './provider-call.ts';

interface StartedAnswer extends Pick<ProviderCall, 'read' | 'taken' | 'tally'> {
  /** The first visible chunk. It is counted already. */
  readonly first: SourceChunk;
}

interface AnswerHooks {
  /** The caller's name for the model. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly visible: (chunk: SourceChunk) => boolean;
  /**
   * Called with the total number of counted tokens, when this number has grown. Undefined if the number is not needed.
   */
  readonly seen: ((tokens: number) => void) | undefined;
  /** Called when the answer is complete. Returns the usage to pass on. */
  readonly finished: (usage: Usage | undefined, reason: FinishReason) => Used;
  /** Called when the provider has failed. Returns the error for the caller. */
  failed(error: unknown): unknown;
  /** Called when the reader has left. `unread` is the first chunk if the reader did not read it. */
  left(unread: SourceChunk | undefined): void;
}

type Step = IteratorResult<RelayedChunk, undefined>;

const DONE: Step = { value: undefined, done: true };

export class CountedAnswer implements AsyncIterableIterator<RelayedChunk, undefined> {
  /** Whether the chunks are in the provider's own format. */
  readonly isRelayed: boolean;
  readonly #started: StartedAnswer;
  readonly #hooks: AnswerHooks;
  /** The first chunk, until it is read. */
  #first: SourceChunk | undefined;
  #waiting: { resolve(step: Step): void; reject(reason: unknown): void } | undefined;
  #over = false;
  #told = 0;

  constructor(started: StartedAnswer, hooks: AnswerHooks) {
    this.isRelayed = started.first.kind === 'raw';
    this.#first = started.first;
    this.#started = started;
    this.#hooks = hooks;
    if (hooks.seen) started.tally.countOften();
    hooks.signal.addEventListener('abort', this.#onAbort);
    if (hooks.signal.aborted) this.#leave();
  }

  next(): Promise<Step> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#hooks;
      if (this.#over) {
        if (signal.aborted) reject(signal.reason);
        else resolve(DONE);
        return;
      }
      this.#waiting = { resolve, reject };
      const first = this.#first;
      this.#first = undefined;
      if (first) this.#give(first);
      else this.#read();
    });
  }

  return(): Promise<Step> {
    this.#leave();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #read(): void {
    this.#started.read().then(this.#onStep, this.#onError);
  }

  readonly #onStep = (step: IteratorResult<SourceChunk>): void => {
    // If the reader has left, the `left` hook may read this chunk.
    if (this.#over) return;
    if (step.done === true) return this.#onError(cutOff(this.#hooks.name));
    const chunk = this.#started.taken(step);
    if (this.#hooks.visible(chunk)) this.#give(chunk);
    else this.#read();
  };

  readonly #onError = (error: unknown): void => {
    if (this.#over) return;
    const waiting = this.#end();
    waiting?.reject(this.#hooks.failed(error));
  };

  #give(chunk: SourceChunk): void {
    const { seen, finished } = this.#hooks;
    if (chunk.kind === 'finish') {
      const waiting = this.#end();
      const { reason, usage } = chunk;
      const value = { kind: 'finish', reason, used: finished(usage, reason) } as const;
      return waiting?.resolve({ value, done: false });
    }
    const { counted } = this.#started.tally;
    if (seen && counted > this.#told) seen((this.#told = counted));
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ value: chunk, done: false });
  }

  readonly #onAbort = (): void => this.#leave();

  #leave(): void {
    if (this.#over) return;
    const { signal } = this.#hooks;
    const waiting = this.#end();
    if (signal.aborted) waiting?.reject(signal.reason);
    else waiting?.resolve(DONE);
    this.#hooks.left(this.#first);
  }

  #end() {
    this.#over = true;
    this.#hooks.signal.removeEventListener('abort', this.#onAbort);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    return waiting;
  }
}
