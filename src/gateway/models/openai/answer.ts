/** Converts an answer to OpenAI's format, as a complete response or as the chunks of a stream. */
import { randomUUIDv7 } from 'node:crypto';
import type { FinishReason } from '../../../agent/index.ts';
import type { FullChunks } from '../chunks.ts';
import { callOf, thoughtSignatureIn } from '../vendor-api/answer.ts';
import { CHAT, usageFields } from './usage.ts';

const FINISH = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  other: 'stop',
} as const satisfies Readonly<Record<FinishReason, string>>;

/** Returns the fields that all objects of one answer share. */
export function headOf(model: string) {
  return { id: `chatcmpl-${randomUUIDv7()}`, created: Math.floor(Date.now() / 1000), model };
}
type Head = ReturnType<typeof headOf>;

/** Returns the complete response. */
export async function completion(head: Head, chunks: FullChunks): Promise<unknown> {
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
      return { ...head, object: 'chat.completion', choices, usage: usageFields(chunk.used, CHAT) };
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
  chunks: FullChunks,
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
        yield event({ ...chunkHead, choices: [], usage: usageFields(chunk.used, CHAT) });
      }
    } else yield frame({ tool_calls: [{ index: calls++, ...toolCall(chunk, head) }] });
  }
  yield 'data: [DONE]\n\n';
}

/** Returns a server-sent event. */
export function event(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function toolCall(chunk: Parameters<typeof callOf>[0], head: Head): object {
  const { id, name, args, provider = {} } = callOf(chunk, head.model);
  const signature = Object.values(provider).map(thoughtSignatureIn).find(Boolean);
  return {
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
    ...(signature && { extra_content: { google: { thought_signature: signature } } }),
  };
}
