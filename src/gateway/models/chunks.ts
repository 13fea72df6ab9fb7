/** Functions for the chunks of an answer. They select the visible chunks and join texts. */
import type { FinishReason, ModelChunk } from '../../agent/index.ts';
import type { JsonObject } from '../../base/index.ts';
import type { ModelTarget } from './catalogue.ts';
import type { Used } from './cost.ts';
import { streams } from './limits.ts';
import type { RawChunk } from './relay/relay.ts';

interface FinishChunk {
  readonly kind: 'finish';
  readonly reason: FinishReason;
  readonly used: Used;
}
/** A chunk of an answer without the model's thoughts. */
export type AnswerChunk = Exclude<ModelChunk, { kind: 'thought' | 'finish' }> | FinishChunk;
/** A chunk of an answer that includes the model's thoughts. */
export type FullChunk = Exclude<ModelChunk, { kind: 'finish' }> | FinishChunk;
/** All chunks of an answer. The last one is `finish`. */
export type FullChunks = AsyncIterable<FullChunk>;
/** A chunk of an answer that may be relayed. If the first chunk is raw, all chunks before `finish` are raw. */
export type RelayedChunk = FullChunk | RawChunk;

/** Returns the chunks of the answer. If the model does not support streaming, joins the chunks of each text. */
export function asStreamed(
  target: ModelTarget,
  chunks: AsyncIterableIterator<RelayedChunk>,
): AsyncIterableIterator<RelayedChunk> {
  return streams(target) ? chunks : inOnePiece(chunks);
}

async function* inOnePiece(chunks: AsyncIterable<RelayedChunk>): AsyncGenerator<RelayedChunk> {
  let held: { kind: 'text' | 'thought'; text: string; provider?: JsonObject } | undefined;
  for await (const chunk of chunks) {
    const isText = chunk.kind === 'text' || chunk.kind === 'thought';
    // The vendor's data is in the last chunk of a text. So if the held text has such data, the next chunk begins
    // another text.
    if (isText && held?.kind === chunk.kind && held.provider === undefined) {
      held.text += chunk.text;
      if (chunk.provider) held.provider = chunk.provider;
      continue;
    }
    if (held) yield held;
    held = isText ? { ...chunk } : undefined;
    if (!isText) yield chunk;
  }
  if (held) yield held;
}

/** A chunk as a provider returns it. */
export type SourceChunk = ModelChunk | RawChunk;

/**
 * Returns whether the chunk has content. A chunk with the vendor's data has content even if its text is empty, because
 * the data belongs to the text before it.
 */
export function isContent(chunk: SourceChunk): boolean {
  if (chunk.kind !== 'text' && chunk.kind !== 'thought') return true;
  return chunk.text !== '' || chunk.provider !== undefined;
}

/** Returns whether the chunk is part of the answer itself. Thoughts and empty texts are not. */
export function isSaid(chunk: SourceChunk): boolean {
  return chunk.kind !== 'thought' && (chunk.kind !== 'text' || chunk.text !== '');
}
