/**
 * Converts an answer to Anthropic's format. The answer is always converted to the events of a stream. A complete
 * message is built from these events, as in Anthropic's own clients.
 */
import { randomUUIDv7 } from 'node:crypto';
import { type JsonObject, type JsonValue, waitAtMost } from '../../../base/index.ts';
import type { FinishReason } from '../../../agent/index.ts';
import type { Used } from '../cost.ts';
import type { FullChunks } from '../chunks.ts';
import { callOf, namedEvent } from '../vendor-api/answer.ts';
import { encodeCarried } from '../vendor-api/carried.ts';
import type { MessagesBody } from './schema.ts';

const STOP_REASONS = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'content-filter': 'refusal',
  other: 'end_turn',
} as const satisfies Readonly<Record<FinishReason, string>>;

const PING_MS = 15_000;

/** The fields of the message that are known before the answer starts. */
export interface Head {
  readonly id: string;
  readonly model: string;
  /** Estimated number of input tokens. The event `message_delta` has the final number. */
  readonly inputTokens: number;
  /** How the client gets the model's thoughts: not at all, only their signatures, or with their text. */
  readonly thoughts: 'none' | 'signed' | 'full';
}

export function headOf(body: MessagesBody, inputTokens: number): Head {
  const { type = 'disabled', display } = body.thinking ?? {};
  const shown = display === 'omitted' ? 'signed' : 'full';
  const thoughts = type === 'disabled' ? 'none' : shown;
  return { id: `msg_${randomUUIDv7()}`, model: body.model, inputTokens, thoughts };
}

/** An event of the stream. The objects inside it are not typed further. */
type StreamEvent =
  | { readonly type: 'message_start'; readonly message: JsonObject }
  | { readonly type: 'content_block_start'; readonly content_block: JsonObject; index: number }
  | { readonly type: 'content_block_delta'; readonly delta: JsonObject; index: number }
  | { readonly type: 'content_block_stop'; index: number }
  | { readonly type: 'message_delta'; readonly delta: JsonObject; readonly usage: JsonObject }
  | { readonly type: 'message_stop' | 'ping' };

/** Returns the complete message. */
export async function completeMessage(head: Head, chunks: FullChunks): Promise<unknown> {
  let message: JsonObject = {};
  const content: Record<string, JsonValue>[] = [];
  for await (const event of events(head, chunks)) {
    if (event.type === 'message_start') ({ message } = event);
    else if (event.type === 'content_block_start') content.push({ ...event.content_block });
    else if (event.type === 'content_block_delta') append(content[event.index], event.delta);
    else if (event.type === 'message_delta') {
      const usage = { ...START_USAGE, ...event.usage };
      return { ...message, ...event.delta, content, usage };
    }
  }
  throw new TypeError('the answer has no finish chunk');
}

function append(block: Record<string, JsonValue> | undefined, delta: JsonObject): void {
  if (block === undefined) return;
  for (const field of ['text', 'thinking', 'signature']) {
    const [before, more] = [block[field], delta[field]];
    if (typeof before === 'string' && typeof more === 'string') block[field] = before + more;
  }
  const { partial_json: input } = delta;
  if (typeof input === 'string') block['input'] = JSON.parse(input);
}

/**
 * Returns the answer as server-sent events. While there is no event to send, for example because the model writes the
 * input of a tool, the client gets a ping every `pingMs` milliseconds.
 */
export async function* messageFrames(
  head: Head,
  chunks: FullChunks,
  pingMs = PING_MS,
): AsyncGenerator<string> {
  const source = events(head, chunks);
  try {
    for (;;) {
      const next = source.next();
      while (await isLate(next, pingMs)) yield namedEvent({ type: 'ping' });
      const { done, value } = await next;
      if (done === true) return;
      yield namedEvent(value);
    }
  } finally {
    await source.return(undefined);
  }
}

/** Returns whether the promise is still pending after the time. Throws if the promise rejects within this time. */
async function isLate(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let isPending = true;
  await waitAtMost(
    ms,
    promise.then(() => (isPending = false)),
  );
  return isPending;
}

async function* events(head: Head, chunks: FullChunks): AsyncGenerator<StreamEvent> {
  let index = -1;
  let open: 'text' | 'thought' | undefined;

  function start(content_block: JsonObject): StreamEvent {
    return { type: 'content_block_start', index: ++index, content_block };
  }
  function change(delta: JsonObject): StreamEvent {
    return { type: 'content_block_delta', index, delta };
  }
  function* close(provider: JsonObject = {}): Generator<StreamEvent> {
    if (open === undefined) return;
    if (open === 'thought') {
      yield change({ type: 'signature_delta', signature: encodeCarried({ provider }) });
    }
    open = undefined;
    yield { type: 'content_block_stop', index };
  }
  function* whole(block: JsonObject, ...deltas: readonly JsonObject[]): Generator<StreamEvent> {
    yield start(block);
    for (const each of deltas) yield change(each);
    yield { type: 'content_block_stop', index };
  }

  yield { type: 'message_start', message: messageStart(head) };
  yield { type: 'ping' };
  for await (const chunk of chunks) {
    switch (chunk.kind) {
      case 'text':
        if (chunk.text === '') break;
        if (open !== 'text') {
          yield* close();
          open = 'text';
          yield start({ type: 'text', text: '', citations: null });
        }
        yield change({ type: 'text_delta', text: chunk.text });
        break;
      case 'thought': {
        if (head.thoughts === 'none') break;
        if (open !== 'thought') {
          yield* close();
          open = 'thought';
          yield start({ type: 'thinking', thinking: '', signature: '' });
        }
        if (chunk.text !== '' && head.thoughts === 'full')
          yield change({ type: 'thinking_delta', thinking: chunk.text });
        // The vendor's data, such as a signature, is in the last chunk of a block (agent/models/provider.ts). So the
        // block ends here.
        if (chunk.provider !== undefined) yield* close(chunk.provider);
        break;
      }
      case 'blob':
      case 'function-call': {
        yield* close();
        const { id, name, args, provider } = callOf(chunk, head.model);
        // A tool_use block cannot contain the vendor's data, so the data is sent in a separate block before it
        // (request.ts).
        if (provider !== undefined && head.thoughts !== 'none')
          yield* whole({ type: 'redacted_thinking', data: encodeCarried({ provider }) });
        const caller = { type: 'direct' };
        yield* whole(
          { type: 'tool_use', id, name, input: {}, caller },
          { type: 'input_json_delta', partial_json: JSON.stringify(args) },
        );
        break;
      }
      default: {
        yield* close();
        const delta = { stop_reason: STOP_REASONS[chunk.reason], stop_sequence: null };
        yield { type: 'message_delta', delta, usage: usageOf(chunk.used) };
        yield { type: 'message_stop' };
      }
    }
  }
}

/** Fields of `usage` that other vendors do not report. */
const START_USAGE = {
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
} as const;

function messageStart({ id, model, inputTokens }: Head): JsonObject {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    container: null,
    diagnostics: null,
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: { ...START_USAGE, ...usageOf({ inputTokens, outputTokens: 0 }) },
  };
}

/** Returns the token counts. In Anthropic's API, `input_tokens` does not include tokens from the cache. */
function usageOf(
  used: Pick<Used, 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'thoughtTokens'>,
): JsonObject {
  const { inputTokens, outputTokens, cachedTokens = 0, thoughtTokens } = used;
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: thoughtTokens === undefined ? null : { thinking_tokens: thoughtTokens },
    server_tool_use: null,
  };
}
