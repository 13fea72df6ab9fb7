/**
 * One call to a provider, and its answer. The provider gets either the client's own request (`relay`) or a converted
 * request.
 */
import type { FinishReason, ModelRequest, Usage } from '../../agent/index.ts';
import { cutOff } from '../../agent/internal/index.ts';
import type { Candidate } from './catalogue.ts';
import type { RelayedChunk, SourceChunk } from './chunks.ts';
import type { Used } from './cost.ts';
import { relays } from './provider.ts';
import type { Relay } from './relay/relay.ts';
import { TokenTally } from './token-tally.ts';
import type { TokenCounter } from './token-count.ts';

export type ProviderCall = ReturnType<typeof callProvider>;

export interface ProviderCallOptions {
  /** The caller's name for the model. */
  readonly name: string;
  readonly relay: Relay | undefined;
  readonly counter: TokenCounter;
  /** Returns whether the chunk is visible: whether the reader gets it. */
  readonly visible: (chunk: SourceChunk) => boolean;
}

/** Starts the call. Its chunks can be read with `next`, or with `read` and `taken`. */
export function callProvider(
  candidate: Candidate,
  request: ModelRequest,
  { name, relay, counter, visible }: ProviderCallOptions,
) {
  const { provider, model } = candidate;
  const { maxOutputTokens } = request;
  const upstream = new AbortController();
  const chunks: AsyncIterable<SourceChunk> =
    relay && relays(provider, relay)
      ? provider.relay(relay, { model, maxOutputTokens }, upstream.signal)
      : provider.chat(model).generate(request, upstream.signal);
  const source = chunks[Symbol.asyncIterator]();
  const tally = new TokenTally(counter);
  /** The read in progress. */
  let reading: Promise<IteratorResult<SourceChunk>> | undefined;

  function read(): Promise<IteratorResult<SourceChunk>> {
    tally.expect();
    return (reading = source.next());
  }

  /** Counts and returns a chunk that was read. Throws a ModelError if there are no more chunks. */
  function taken({ done, value }: IteratorResult<SourceChunk>): SourceChunk {
    reading = undefined;
    if (done === true) throw cutOff(name);
    tally.add(value);
    return value;
  }

  /** Returns the next chunk, visible or not. If a chunk is being read, returns this chunk. */
  const next = async (): Promise<SourceChunk> => taken(await (reading ?? read()));

  async function firstVisible(): Promise<SourceChunk> {
    for (;;) {
      const chunk = await next();
      if (visible(chunk)) return chunk;
    }
  }

  return {
    candidate,
    maxOutputTokens,
    /** Counts all chunks that have been read. */
    tally,
    /** The first visible chunk (`visible`). Rejects if the call fails before this chunk. */
    first: firstVisible(),
    read,
    taken,
    next,
    /** Stops the call and closes the connection to the provider. */
    stop(reason: unknown): void {
      upstream.abort(reason);
      void source.return?.().catch(() => undefined);
    },
  };
}

interface AnswerHooks {
  /** The caller's name for the model. */
  readonly name: string;
  /** The caller's signal. If it is aborted, the reader has left. */
  readonly signal: AbortSignal;
  readonly visible: (chunk: SourceChunk) => boolean;
  /**
   * Called with the total number of counted tokens, when this number has grown. Undefined if the number is not needed.
   */
  readonly seen: ((tokens: number) => void) | undefined;
  /** Called when the answer is complete. Returns the usage to pass on. */
  readonly finished: (usage: Usage | undefined, reason: FinishReason) => Used;
  /** Called when the provider has failed. Returns the error for the caller. */
  readonly failed: (error: unknown) => unknown;
  /** Called when the reader has left. `unread` is the first chunk if the reader did not read it. */
  readonly left: (unread: SourceChunk | undefined) => void;
}

type Step = IteratorResult<RelayedChunk, undefined>;

const DONE: Step = { value: undefined, done: true };

export type CountedAnswer = ReturnType<typeof countedAnswer>;

/**
 * Returns the answer of a call whose first visible chunk has arrived. Counts the chunks and passes the visible ones on.
 *
 * For speed, this function is not a generator. Several generators between the provider and the client would take more
 * time per event than all other work.
 */
export function countedAnswer(
  { tally, read, taken }: Pick<ProviderCall, 'tally' | 'read' | 'taken'>,
  first: SourceChunk,
  { name, signal, visible, seen, finished, failed, left }: AnswerHooks,
) {
  let unread: SourceChunk | undefined = first;
  let waiting: { resolve(step: Step): void; reject(reason: unknown): void } | undefined;
  let isOver = false;
  let told = 0;

  function readNext(): void {
    read().then(onStep, onError);
  }

  function onStep(step: IteratorResult<SourceChunk>): void {
    // After the reader has left, the function `left` may read this chunk.
    if (isOver) return;
    if (step.done === true) return onError(cutOff(name));
    const chunk = taken(step);
    if (visible(chunk)) give(chunk);
    else readNext();
  }

  function onError(error: unknown): void {
    if (isOver) return;
    end()?.reject(failed(error));
  }

  function give(chunk: SourceChunk): void {
    if (chunk.kind === 'finish') {
      const reader = end();
      const { reason, usage } = chunk;
      const value = { kind: 'finish', reason, used: finished(usage, reason) } as const;
      return reader?.resolve({ value, done: false });
    }
    if (seen && tally.counted > told) seen((told = tally.counted));
    const reader = waiting;
    waiting = undefined;
    reader?.resolve({ value: chunk, done: false });
  }

  function leave(): void {
    if (isOver) return;
    const reader = end();
    if (signal.aborted) reader?.reject(signal.reason);
    else reader?.resolve(DONE);
    left(unread);
  }

  /** Ends the answer. Returns the reader that waits for a chunk. */
  function end() {
    isOver = true;
    signal.removeEventListener('abort', leave);
    const reader = waiting;
    waiting = undefined;
    return reader;
  }

  if (seen) tally.countOften();
  signal.addEventListener('abort', leave);
  if (signal.aborted) leave();

  return {
    /** Whether the chunks are in the provider's own format. */
    isRelayed: first.kind === 'raw',
    next(): Promise<Step> {
      return new Promise((resolve, reject) => {
        if (isOver) {
          if (signal.aborted) reject(signal.reason);
          else resolve(DONE);
          return;
        }
        waiting = { resolve, reject };
        const chunk = unread;
        unread = undefined;
        if (chunk) give(chunk);
        else readNext();
      });
    },
    return(): Promise<Step> {
      leave();
      return Promise.resolve(DONE);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
