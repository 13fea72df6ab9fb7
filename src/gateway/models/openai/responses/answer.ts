/** Converts an answer to a response of the Responses API, either complete or as the events of a stream. */
import { randomUUIDv7 } from 'node:crypto';
import type { FinishReason } from '../../../../agent/index.ts';
import { A2AError } from '../../../../protocol/index.ts';
import type { FullChunk } from '../../chunks.ts';
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
  chunks: AsyncIterable<FullChunk>,
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
  chunks: AsyncIterable<FullChunk>,
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

interface OpenItem {
  readonly kind: 'text' | 'thought';
  readonly item: OutputItem;
  text: string;
}

const MESSAGE = { type: 'message', status: 'in_progress', role: 'assistant', content: [] };

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
    const item: OutputItem =
      kind === 'text'
        ? { id: freshId('msg'), ...MESSAGE }
        : { id: freshId('rs'), type: 'reasoning', summary: [] };
    open = { kind, item, text: '' };
    yield added(item);
    const at = placeOf(open);
    if (kind === 'text') yield event('response.content_part.added', { ...at, part: textPart('') });
    else yield event('response.reasoning_summary_part.added', { ...at, part: summaryPart('') });
  }

  function* close(encrypted?: string): Generator<string> {
    if (!open) return;
    const { kind, item, text } = open;
    const at = placeOf(open);
    open = undefined;
    if (kind === 'text') {
      const part = textPart(text);
      yield event('response.output_text.done', { ...at, text, logprobs: [] });
      yield event('response.content_part.done', { ...at, part });
      yield done({ ...item, status: 'completed', content: [part] });
    } else {
      const part = summaryPart(text);
      yield event('response.reasoning_summary_text.done', { ...at, text });
      yield event('response.reasoning_summary_part.done', { ...at, part });
      const carried = encrypted !== undefined && { encrypted_content: encrypted };
      yield done({ ...item, summary: text === '' ? [] : [part], ...carried });
    }
  }

  function added(item: OutputItem): string {
    return event('response.output_item.added', { output_index: output.length, item });
  }

  /** Adds a complete item to the output. Returns its last event. */
  function done(item: OutputItem): string {
    return event('response.output_item.done', { output_index: output.push(item) - 1, item });
  }

  function placeOf({ kind, item }: OpenItem): object {
    const place = kind === 'text' ? { content_index: 0 } : { summary_index: 0 };
    return { item_id: item.id, output_index: output.length, ...place };
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
          const at = placeOf(open);
          if (kind === 'text')
            yield event('response.output_text.delta', { ...at, delta: text, logprobs: [] });
          else yield event('response.reasoning_summary_text.delta', { ...at, delta: text });
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

function textPart(text: string): object {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function summaryPart(text: string): object {
  return { type: 'summary_text', text };
}

function freshId(prefix: string): string {
  return `${prefix}_${randomUUIDv7().replaceAll('-', '')}`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
