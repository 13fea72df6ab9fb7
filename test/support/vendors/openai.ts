import assert from 'node:assert/strict';
import { SOURCE, type Wire } from './wire.ts';

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 0, ...fields })}\n\n`;
}

const begin = event('response.created', {
  response: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_780_000_000,
    model: 'gpt-6.1-sol',
    status: 'in_progress',
    output: [],
  },
});

/** The last event, with the items of the events before it. */
function end(before: readonly string[]): string {
  const output = before
    .filter((each) => each.startsWith('event: response.output_item.done'))
    .map((each): unknown => JSON.parse(each.slice(each.indexOf('data: ') + 6)).item);
  return event('response.completed', {
    response: {
      id: 'resp_1',
      object: 'response',
      created_at: 1_780_000_000,
      model: 'gpt-6.1-sol',
      output,
      status: 'completed',
      incomplete_details: null,
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 5 },
        output_tokens: 12,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 32,
      },
    },
  });
}

function reasoning(text: string, encrypted_content: string): string[] {
  const item = { id: 'rs_1', type: 'reasoning', summary: [] };
  const at = { item_id: 'rs_1', output_index: 0, summary_index: 0 };
  const part = { type: 'summary_text', text };
  return [
    event('response.output_item.added', {
      output_index: 0,
      item: { ...item, encrypted_content: '' },
    }),
    event('response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } }),
    event('response.reasoning_summary_text.delta', { ...at, delta: text }),
    event('response.reasoning_summary_text.done', { ...at, text }),
    event('response.reasoning_summary_part.done', { ...at, part }),
    event('response.output_item.done', {
      output_index: 0,
      item: { ...item, summary: [part], encrypted_content },
    }),
  ];
}

/** The sources of a search are in the text's annotations, with their titles. */
function searched(): string[] {
  const item = { id: 'ws_1', type: 'web_search_call', status: 'completed' };
  const annotation = { type: 'url_citation', start_index: 0, end_index: 12, ...SOURCE };
  const at = { item_id: 'msg_1', output_index: 1, content_index: 0 };
  const said = message(1, ['It is sunny.']);
  return [
    event('response.output_item.added', {
      output_index: 0,
      item: { ...item, status: 'in_progress' },
    }),
    event('response.web_search_call.searching', { output_index: 0, item_id: 'ws_1' }),
    event('response.output_item.done', {
      output_index: 0,
      item: { ...item, action: { type: 'search', query: 'weather paris' } },
    }),
    ...said.slice(0, 3),
    ...[{ ...annotation, url: 'nonsense' }, annotation, annotation].map((each, annotation_index) =>
      event('response.output_text.annotation.added', { ...at, annotation_index, annotation: each }),
    ),
    ...said.slice(3),
  ];
}

function message(output_index: number, deltas: readonly string[]): string[] {
  const item = { id: 'msg_1', type: 'message', role: 'assistant' };
  const text = deltas.join('');
  const part = { type: 'output_text', text, annotations: [] };
  const at = { item_id: 'msg_1', output_index, content_index: 0 };
  return [
    event('response.output_item.added', {
      output_index,
      item: { ...item, status: 'in_progress', content: [] },
    }),
    event('response.content_part.added', { ...at, part: { ...part, text: '' } }),
    ...deltas.map((delta) => event('response.output_text.delta', { ...at, delta })),
    event('response.output_text.done', { ...at, text }),
    event('response.content_part.done', { ...at, part }),
    event('response.output_item.done', {
      output_index,
      item: {
        ...item,
        status: 'completed',
        content: [part],
      },
    }),
  ];
}

function functionCall(
  output_index: number,
  call_id: string,
  pieces: readonly string[],
  name = 'get_weather',
): string[] {
  const id = `fc_${call_id}`;
  const item = { id, type: 'function_call', call_id, name };
  const args = pieces.join('');
  return [
    event('response.output_item.added', {
      output_index,
      item: { ...item, status: 'in_progress', arguments: '' },
    }),
    ...pieces.map((delta) =>
      event('response.function_call_arguments.delta', { item_id: id, output_index, delta }),
    ),
    event('response.function_call_arguments.done', { item_id: id, output_index, arguments: args }),
    event('response.output_item.done', {
      output_index,
      item: { ...item, status: 'completed', arguments: args },
    }),
  ];
}

function ended(events: readonly string[]): readonly string[] {
  return [...events, end(events)];
}

export const openai: Wire = {
  model: 'openai:gpt-6.1-sol',
  keyVariable: 'OPENAI_API_KEY',
  env: (url, key) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: url }),
  keyHeader: 'authorization',
  path: '/v1/responses',
  answer: ended([begin, ...reasoning('Let me see.', 'enc-0'), ...message(1, ['It is ', 'sunny.'])]),
  calls: ended([
    begin,
    ...reasoning('Both cities.', 'enc-1'),
    ...functionCall(1, 'call_1', ['{"city":', '"Paris"}']),
    ...functionCall(2, 'call_2', ['{"city":"Rome"}']),
  ]),
  call: (name, args) =>
    ended([
      begin,
      ...reasoning('Let me see.', 'enc-1'),
      ...functionCall(1, 'call_1', [JSON.stringify(args)], name),
    ]),
  search: { events: ended([begin, ...searched()]), tool: { type: 'web_search' } },
  badCall: ended([begin, ...functionCall(0, 'call_1', ['{"city": Par'])]),
  failing: [
    begin,
    ...message(0, ['It is ']),
    event('response.failed', {
      response: {
        id: 'resp_1',
        status: 'failed',
        error: { code: 'server_error', message: 'The server had an error.' },
      },
    }),
  ],
  error: (_status, message) => ({
    error: { message, type: 'some_error', param: null, code: null },
  }),
  checkReturn(body) {
    assert.partialDeepStrictEqual(body, {
      store: false,
      include: ['reasoning.encrypted_content'],
      input: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Weather?' }] },
        {
          type: 'reasoning',
          encrypted_content: 'enc-1',
          summary: [{ type: 'summary_text', text: 'Both cities.' }],
        },
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'get_weather',
          arguments: '{"city":"Paris"}',
        },
        {
          type: 'function_call',
          call_id: 'call_2',
          name: 'get_weather',
          arguments: '{"city":"Rome"}',
        },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
        { type: 'function_call_output', call_id: 'call_2', output: '{"error":"no such city"}' },
      ],
      tools: [{ type: 'function', name: 'get_weather', strict: false }],
    });
  },
};
