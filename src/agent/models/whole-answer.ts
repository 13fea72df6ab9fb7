/**
 * Converts a vendor's complete answer to the parts of a stream, so that complete and streamed answers are read in the
 * same way.
 */
import type {
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';

type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart;

/** Returns the answer as a stream. */
export function streamOf(
  answer: LanguageModelV4GenerateResult | LanguageModelV3GenerateResult,
): ReadableStream<StreamPart> {
  return ReadableStream.from(partsOf(answer));
}

function* partsOf({
  content,
  finishReason,
  usage,
  warnings,
}: LanguageModelV4GenerateResult | LanguageModelV3GenerateResult): Generator<StreamPart> {
  yield { type: 'stream-start', warnings };
  for (const [index, part] of content.entries()) {
    if (part.type !== 'text' && part.type !== 'reasoning') {
      yield part;
      continue;
    }
    const { type, text: delta, providerMetadata } = part;
    const id = String(index);
    yield { type: `${type}-start`, id };
    yield { type: `${type}-delta`, id, delta };
    yield { type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) };
  }
  yield { type: 'finish', finishReason, usage };
}
