/** Converts an answer to OpenAI's format, as a complete response or as the chunks of a stream. */
import { randomUUIDv7 } from 'node:crypto';
import type { FinishReason } from '../../../agent/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import type { Used } from '../cost.ts';
import type { FullChunk } from '../chunks.ts';

const FINISH = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  other: 'stop',
} as const satisfies Readonly<Record<FinishReason, string>>;

/** The fields that all objects of one answer share. */
export interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

export function headOf(model: string): Head {
  return { id: `chatcmpl-${randomUUIDv7()}`, created: Math.floor(Date.now() / 1000), model };
}

/** Returns the complete response. */
export async function completion(head: Head, chunks: AsyncIterable<FullChunk>): Promise<unknown> {
  let text = '';
  let thoughts = '';
  const calls: object[] = [];
  for await (const chunk of chunks) {
    if (chunk.kind === 'text') text += chunk.text;
    else if (chunk.kind === 'thought') thoughts += chunk.text;
    else if (chunk.kind === 'finish') {
      const message = {
        role: 'assistant',
        content: text === '' && calls.length > 0 ? null : text,
        refusal: null,
        ...(thoughts !== '' && { reasoning_content: thoughts }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      const finish_reason = FINISH[chunk.reason];
      const choices = [{ index: 0, message, logprobs: null, finish_reason }];
      return { ...head, object: 'chat.completion', choices, usage: openaiUsage(chunk.used) };
    } else calls.push(toolCall(chunk, head));
  }
  throw new TypeError('the answer has no finish chunk');
}

/**
 * Returns the answer as server-sent events. After a failure, no `[DONE]` is sent, so that clients do not treat the
 * incomplete answer as complete.
 */
export async function* completionFrames(
  head: Head,
  chunks: AsyncIterable<FullChunk>,
  options: { readonly includeUsage: boolean },
): AsyncGenerator<string> {
  const frame = (delta: object, finish_reason: string | null = null): string => {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    return event({ ...chunkHead, choices, ...(options.includeUsage && { usage: null }) });
  };
  const chunkHead = { ...head, object: 'chat.completion.chunk' };
  yield frame({ role: 'assistant', content: '' });
  let calls = 0;
  for await (const chunk of chunks) {
    if (chunk.kind === 'text') yield frame({ content: chunk.text });
    else if (chunk.kind === 'thought') yield frame({ reasoning_content: chunk.text });
    else if (chunk.kind === 'finish') {
      yield frame({}, FINISH[chunk.reason]);
      if (options.includeUsage) {
        yield event({ ...chunkHead, choices: [], usage: openaiUsage(chunk.used) });
      }
    } else yield frame({ tool_calls: [{ index: calls++, ...toolCall(chunk, head) }] });
  }
  yield 'data: [DONE]\n\n';
}

export function openaiUsage(used: Used): Readonly<Record<string, unknown>> {
  const { inputTokens, outputTokens, cachedTokens = 0, thoughtTokens = 0 } = used;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: thoughtTokens },
  };
}

/** Returns a server-sent event. */
export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** Returns the tool call in the chunk. Throws if the chunk is a file, or if the arguments of the call are invalid. */
export function callOf(
  chunk: Extract<FullChunk, { kind: 'blob' | 'function-call' }>,
  model: string,
): Extract<FullChunk, { kind: 'function-call' }> {
  if (chunk.kind === 'blob') {
    const message = `The model ${model} answered with a file, which this API cannot return: send the request as a task`;
    throw new A2AError('upstreamFailed', message);
  }
  if (chunk.problem === undefined) return chunk;
  const message = `The model ${model} called ${chunk.name} with arguments that are not JSON: try again`;
  throw new A2AError('upstreamFailed', message);
}

function toolCall(
  given: Exclude<FullChunk, { kind: 'text' | 'thought' | 'finish' }>,
  head: Head,
): object {
  const chunk = callOf(given, head.model);
  const { id, name, args } = chunk;
  const signature = Object.values(chunk.provider ?? {})
    .map(signatureIn)
    .find(Boolean);
  return {
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
    ...(signature && { extra_content: { google: { thought_signature: signature } } }),
  };
}

/** Returns the signature of a thought. Google requires it in the next request. */
function signatureIn(own: unknown): string | undefined {
  const signature: unknown =
    typeof own === 'object' && own !== null ? Reflect.get(own, 'thoughtSignature') : undefined;
  return typeof signature === 'string' ? signature : undefined;
}
