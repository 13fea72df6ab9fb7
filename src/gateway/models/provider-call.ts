/** One call to a provider. The provider gets either the client's own request (`relay`) or a converted request. */
import type { ModelRequest } from '../../agent/index.ts';
import { cutOff } from '../../agent/internal/index.ts';
import type { Candidate } from './catalogue.ts';
import type { SourceChunk } from './chunks.ts';
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
  /** The chunk that is being read. */
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
    /** The first visible chunk. Rejects if the call fails before this chunk. */
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
