/** One call to a provider. The provider gets either the client's own request (`relay`) or a converted request. */
import type { ModelRequest } from '../../agent/index.ts';
import type { Candidate } from './catalogue.ts';
import { nextVisible, type SourceChunk } from './chunks.ts';
import { relays } from './provider.ts';
import type { Relay } from './relay/relay.ts';
import { TokenTally } from './token-tally.ts';
import type { TokenCounter } from './token-count.ts';

export interface ProviderCall {
  /** The caller's name for the model. */
  readonly name: string;
  readonly candidate: Candidate;
  /** Maximum number of output tokens, or undefined if there is no limit. */
  readonly maxOutputTokens: number | undefined;
  /** Counts all chunks that have been read. */
  readonly tally: TokenTally;
  /** The first visible chunk. Rejects if the call fails before this chunk. */
  readonly first: Promise<SourceChunk>;
  /** The chunks after the first visible chunk. */
  readonly rest: AsyncIterator<SourceChunk>;
  /** Stops the call and closes the connection to the provider. */
  readonly stop: (reason: unknown) => void;
}

export interface ProviderCallOptions {
  readonly name: string;
  readonly relay: Relay | undefined;
  readonly counter: TokenCounter;
  readonly visible: (chunk: SourceChunk) => boolean;
}

export function callProvider(
  candidate: Candidate,
  request: ModelRequest,
  { name, relay, counter, visible }: ProviderCallOptions,
): ProviderCall {
  const { provider, model } = candidate;
  const { maxOutputTokens } = request;
  const upstream = new AbortController();
  const chunks: AsyncIterable<SourceChunk> =
    relay && relays(provider, relay)
      ? provider.relay(relay, { model, maxOutputTokens }, upstream.signal)
      : provider.chat(model).generate(request, upstream.signal);
  const rest = chunks[Symbol.asyncIterator]();
  const tally = new TokenTally(counter);
  const first = nextVisible(rest, name, tally, visible);
  const stop = (reason: unknown): void => {
    upstream.abort(reason);
    void rest.return?.().catch(() => undefined);
  };
  return { name, candidate, maxOutputTokens, tally, first, rest, stop };
}

/**
 * Returns a function that returns one chunk per call. The first call returns the first visible chunk. Later calls
 * return all following chunks, visible or not.
 */
export function chunksOf({ name, first, rest, tally }: ProviderCall): () => Promise<SourceChunk> {
  let pending: Promise<SourceChunk> | undefined = first;
  return () => {
    const chunk = pending ?? nextVisible(rest, name, tally, () => true);
    pending = undefined;
    return chunk;
  };
}
