/** Converts an answer to Google's format. */
import { randomUUIDv7 } from 'node:crypto';
import type { JsonObject } from '../../../base/index.ts';
import type { FinishReason } from '../../../agent/index.ts';
import type { Used } from '../cost.ts';
import type { FullChunk, FullChunks } from '../chunks.ts';
import type { CarriedThought } from '../vendor-api/carried.ts';
import { callOf, thoughtSignatureIn } from '../vendor-api/answer.ts';
import { signatureOf } from './signature.ts';

const REASONS = {
  stop: 'STOP',
  'tool-calls': 'STOP',
  length: 'MAX_TOKENS',
  'content-filter': 'SAFETY',
  other: 'OTHER',
} as const satisfies Readonly<Record<FinishReason, string>>;

/**
 * Returns the fields of an answer that are known before it starts. If `thoughts` is true, the client gets the model's
 * thoughts.
 */
export function headOf(model: string, thoughts: boolean) {
  return { model, responseId: randomUUIDv7(), thoughts };
}
type Head = ReturnType<typeof headOf>;

/** Returns the complete answer. */
export async function completeAnswer(head: Head, chunks: FullChunks): Promise<object> {
  const parts: JsonObject[] = [];
  const partOf = partsOf(head);
  for await (const chunk of chunks) {
    if (chunk.kind === 'finish') return answerOf(head, parts, chunk);
    const part = partOf(chunk);
    if (part) append(parts, part);
  }
  throw new TypeError('the answer has no finish chunk');
}

/** Yields the responses of a streamed answer. Each response has one part. */
export async function* answers(head: Head, chunks: FullChunks): AsyncGenerator<object> {
  const partOf = partsOf(head);
  for await (const chunk of chunks) {
    if (chunk.kind === 'finish') yield answerOf(head, [{ text: '' }], chunk);
    else {
      const part = partOf(chunk);
      if (part) yield answerOf(head, [part]);
    }
  }
}

/**
 * Adds a part. Joins it with the previous part if both are pieces of the same text. A part with a signature is
 * complete, so nothing is joined to it.
 */
function append(parts: JsonObject[], part: JsonObject): void {
  const last = parts.at(-1);
  const [before, text] = [last?.['text'], part['text']];
  const isSame = last?.['thought'] === part['thought'] && last?.['thoughtSignature'] === undefined;
  if (isSame && typeof before === 'string' && typeof text === 'string')
    parts[parts.length - 1] = { ...part, text: before + text };
  else parts.push(part);
}

type Chunk = Exclude<FullChunk, { kind: 'finish' }>;

/**
 * Returns a function that converts the chunks of an answer. For a chunk that the client does not get, this function
 * returns undefined. If the gateway creates the signature of a call, the signature also contains the signed thoughts
 * before the call, because some clients do not send thoughts back.
 */
function partsOf(head: Head): (chunk: Chunk) => JsonObject | undefined {
  let thoughts: CarriedThought[] = [];
  let text = '';
  return (chunk) => {
    const { kind, provider } = chunk;
    if (kind === 'thought') {
      text += chunk.text;
      if (!provider) return partOf(chunk, head);
      thoughts.push({ text, provider });
      text = '';
    }
    if (kind !== 'function-call' || thoughts.length === 0) return partOf(chunk, head);
    const part = partOf(chunk, head);
    const thoughtSignature = signatureOf(provider ?? {}, thoughts);
    thoughts = [];
    return part && { ...part, thoughtSignature };
  };
}

function partOf(chunk: Chunk, head: Head): JsonObject | undefined {
  const { provider } = chunk;
  const signature = provider !== undefined && { thoughtSignature: signatureOf(provider) };
  switch (chunk.kind) {
    case 'text': {
      // Only Google's models sign texts.
      const own = thoughtSignatureIn(provider?.['google']);
      if (chunk.text === '' && own === undefined) return undefined;
      return { text: chunk.text, ...(own !== undefined && { thoughtSignature: own }) };
    }
    case 'thought':
      return head.thoughts ? { text: chunk.text, thought: true, ...signature } : undefined;
    case 'blob':
      return { inlineData: { mimeType: chunk.mediaType, data: chunk.data }, ...signature };
    default: {
      const { id, name, args } = callOf(chunk, head.model);
      return { functionCall: { id, name, args }, ...signature };
    }
  }
}

function answerOf(
  { model: modelVersion, responseId }: Head,
  parts: readonly JsonObject[],
  end?: Extract<FullChunk, { kind: 'finish' }>,
): object {
  const reason = end && { finishReason: REASONS[end.reason] };
  const candidates = [{ content: { role: 'model', parts }, ...reason, index: 0 }];
  const usage = end && { usageMetadata: usageOf(end.used) };
  return { candidates, modelVersion, responseId, ...usage };
}

/** Returns the token counts. In Google's API, `candidatesTokenCount` does not include thoughts. */
function usageOf({ inputTokens, outputTokens, cachedTokens, thoughtTokens = 0 }: Used): JsonObject {
  return {
    promptTokenCount: inputTokens,
    ...(cachedTokens !== undefined && { cachedContentTokenCount: cachedTokens }),
    candidatesTokenCount: Math.max(0, outputTokens - thoughtTokens),
    ...(thoughtTokens > 0 && { thoughtsTokenCount: thoughtTokens }),
    totalTokenCount: inputTokens + outputTokens,
  };
}
