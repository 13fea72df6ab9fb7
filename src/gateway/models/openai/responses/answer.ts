/** Converts an answer to a response of the Responses API, either complete or as the events of a stream. */
import { randomUUIDv7 } from 'node:crypto';
import type { FinishReason } from '../../../../agent/index.ts';
import { A2AError } from '../../../../protocol/index.ts';
import type { FullChunk, FullChunks } from '../../chunks.ts';
import { openaiCode } from '../error.ts';
import { RESPONSES, usageFields } from '../usage.ts';
import { callOf, namedEvent } from '../../vendor-api/answer.ts';
import { encodeCarried } from '../../vendor-api/carried.ts';
import { setFields } from '../../vendor-api/request.ts';
import type { Item, ResponsesBody } from './schema.ts';

interface OutputItem {
  [field: string]: unknown;
  readonly id: string;
  readonly type: string;
}

export interface ResponseObject {
  [field: string]: unknown;
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
}

const INCOMPLETE: Readonly<Partial<Record<FinishReason, string>>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
};

/** Returns the fields of a response that are known before the answer starts. */
export function responseOf(body: ResponsesBody): ResponseObject {
  const { reasoning, text } = body;
  return {
    id: freshId('resp'),
    object: 'response',
    created_at: seconds(),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    store: body.store !== false,
    temperature: body.temperature ?? null,
    text: {
      format: text?.format ?? { type: 'text' },
      ...setFields({ verbosity: text?.verbosity }),
    },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? 'disabled',
    usage: null,
  };
}

export interface AnswerOptions {
  readonly response: ResponseObject;
  readonly customTools: ReadonlySet<string>;
  /** Stores the complete response. Called before the client gets the end of the response. */
  readonly save: (response: ResponseObject) => Promise<void>;
}

/** Returns the complete response. */
export async function wholeResponse(
  chunks: FullChunks,
  options: AnswerOptions,
): Promise<ResponseObject> {
  const writer = createWriter(options);
  for await (const chunk of chunks) {
    for (const _ of writer.write(chunk)) void _;
  }
  const response = writer.finished();
  await options.save(response);
  return response;
}

/** Returns the response as server-sent events. */
export async function* responseFrames(
  chunks: FullChunks,
  options: AnswerOptions,
): AsyncGenerator<string> {
  const { response } = options;
  const writer = createWriter(options);
  yield writer.event('response.created', { response });
  yield writer.event('response.in_progress', { response });
  for await (const chunk of chunks) {
    yield [...writer.write(chunk)].join('');
  }
  const whole = writer.finished();
  await options.save(whole);
  yield writer.event(`response.${whole.status}`, { response: whole });
}

/** Returns the last event of a stream that has failed. */
export function failedFrame(response: ResponseObject, error: A2AError): string {
  const failure = { code: openaiCode(error) ?? 'server_error', message: error.message };
  const failed = { ...response, status: 'failed', error: failure };
  return responseEvent('response.failed', { response: failed });
}

/** The differences between items with text and items with thoughts. */
const ITEMS = {
  text: {
    start: () => ({
      id: freshId('msg'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
    }),
    place: { content_index: 0 },
    part: (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] }),
    partEvent: 'response.content_part',
    textEvent: 'response.output_text',
    textFields: { logprobs: [] },
    end: { status: 'completed' },
    list: 'content',
  },
  thought: {
    start: () => ({ id: freshId('rs'), type: 'reasoning' }),
    place: { summary_index: 0 },
    part: (text: string) => ({ type: 'summary_text', text }),
    partEvent: 'response.reasoning_summary_part',
    textEvent: 'response.reasoning_summary_text',
    textFields: {},
    end: {},
    list: 'summary',
  },
} as const;

interface OpenItem {
  readonly kind: keyof typeof ITEMS;
  readonly item: OutputItem;
  text: string;
}

/** Writes the events of the items, and collects the items. */
function createWriter({ response, customTools }: AnswerOptions) {
  const output: OutputItem[] = [];
  let sequence = 0;
  let open: OpenItem | undefined;
  let end: Extract<FullChunk, { kind: 'finish' }> | undefined;

  function event(type: string, fields: object): string {
    return responseEvent(type, { sequence_number: sequence++, ...fields });
  }

  /** Starts an item. The item is added to the output when it is complete. */
  function* start(kind: OpenItem['kind']): Generator<string> {
    const { start: startOf, list, part, partEvent } = ITEMS[kind];
    const item = { ...startOf(), [list]: [] };
    open = { kind, item, text: '' };
    yield added(item);
    yield event(`${partEvent}.added`, { ...placeOf(open), part: part('') });
  }

  /** Ends the open item. `encrypted` is the data that belongs to a thought. */
  function* close(encrypted?: string): Generator<string> {
    if (!open) return;
    const { kind, item, text } = open;
    const at = placeOf(open);
    open = undefined;
    const { part: partOf, partEvent, textEvent, textFields, end: last, list } = ITEMS[kind];
    const part = partOf(text);
    yield event(`${textEvent}.done`, { ...at, text, ...textFields });
    yield event(`${partEvent}.done`, { ...at, part });
    const carried = encrypted !== undefined && { encrypted_content: encrypted };
    yield done({ ...item, ...last, [list]: text === '' ? [] : [part], ...carried });
  }

  function added(item: OutputItem): string {
    return event('response.output_item.added', { output_index: output.length, item });
  }

  /** Adds a complete item to the output. Returns its last event. */
  function done(item: OutputItem): string {
    return event('response.output_item.done', { output_index: output.push(item) - 1, item });
  }

  function placeOf({ kind, item }: OpenItem): object {
    return { item_id: item.id, output_index: output.length, ...ITEMS[kind].place };
  }

  function* call(chunk: Extract<FullChunk, { kind: 'function-call' }>): Generator<string> {
    const { id: call_id, name, args, provider } = chunk;
    if (provider) {
      const encrypted_content = encodeCarried({ provider, callId: call_id });
      const item = { id: freshId('rs'), type: 'reasoning', summary: [], encrypted_content };
      yield added(item);
      yield done(item);
    }
    const custom = customTools.has(name);
    const input = args['input'];
    const text = custom && typeof input === 'string' ? input : JSON.stringify(args);
    const id = freshId(custom ? 'ctc' : 'fc');
    const type = custom ? 'custom_tool_call' : 'function_call';
    const field = custom ? 'input' : 'arguments';
    const item = { id, type, call_id, name };
    const at = { item_id: id, output_index: output.length };
    yield added({ ...item, status: 'in_progress', [field]: '' });
    const stem = custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments';
    yield event(`${stem}.delta`, { ...at, delta: text });
    yield event(`${stem}.done`, { ...at, [field]: text, ...(!custom && { name }) });
    yield done({ ...item, status: 'completed', [field]: text });
  }

  function* write(chunk: FullChunk): Generator<string> {
    switch (chunk.kind) {
      case 'text':
      case 'thought': {
        const { kind, text, provider } = chunk;
        if (open?.kind !== kind) {
          // A chunk with an empty text contains only the vendor's data, and a message has no field for such data.
          if (kind === 'text' && text === '') return;
          yield* close();
          yield* start(kind);
        }
        if (open && text !== '') {
          open.text += text;
          const { textEvent, textFields } = ITEMS[kind];
          yield event(`${textEvent}.delta`, { ...placeOf(open), delta: text, ...textFields });
        }
        if (kind === 'thought' && provider) yield* close(encodeCarried({ provider }));
        break;
      }
      case 'finish':
        yield* close();
        end = chunk;
        break;
      default:
        yield* close();
        yield* call(callOf(chunk, String(response['model'])));
    }
  }

  return {
    event,
    write,
    finished(): ResponseObject {
      if (!end) throw new TypeError('the answer has no finish chunk');
      const reason = INCOMPLETE[end.reason];
      return {
        ...response,
        status: reason === undefined ? 'completed' : 'incomplete',
        completed_at: seconds(),
        incomplete_details: reason === undefined ? null : { reason },
        output,
        usage: usageFields(end.used, RESPONSES),
      };
    },
  };
}

function responseEvent(type: string, fields: object): string {
  return namedEvent({ type, ...fields });
}

function freshId(prefix: string): string {
  return `${prefix}_${randomUUIDv7().replaceAll('-', '')}`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
