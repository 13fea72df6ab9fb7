import assert from 'node:assert/strict';
import { SOURCE, type Wire } from './wire.ts';

function event(value: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
}

function block(index: number, start: object, deltas: readonly object[]): string[] {
  return [
    event({ type: 'content_block_start', index, content_block: start }),
    ...deltas.map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ];
}

const start = event({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-5',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: 15,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 5,
      output_tokens: 1,
    },
  },
});

function end(stop_reason: string): string[] {
  return [
    event({
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null },
      usage: { output_tokens: 12, output_tokens_details: { thinking_tokens: 4 } },
    }),
    event({ type: 'message_stop' }),
  ];
}

function thinking(text: string, signature: string): string[] {
  return block(0, { type: 'thinking', thinking: '', signature: '' }, [
    { type: 'thinking_delta', thinking: text },
    { type: 'signature_delta', signature },
  ]);
}

function toolUse(
  index: number,
  id: string,
  json: readonly string[],
  name = 'get_weather',
): string[] {
  return block(
    index,
    { type: 'tool_use', id, name, input: {} },
    json.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  );
}

export const anthropic: Wire = {
  model: 'anthropic:claude-sonnet-5-5',
  keyVariable: 'ANTHROPIC_API_KEY',
  env: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
  keyHeader: 'x-api-key',
  path: '/v1/messages',
  answer: [
    start,
    event({ type: 'ping' }),
    ...thinking('Let me see.', 'sig-0'),
    ...block(1, { type: 'text', text: '' }, [
      { type: 'text_delta', text: 'It is ' },
      { type: 'text_delta', text: 'sunny.' },
    ]),
    ...end('end_turn'),
  ],
  search: {
    events: [
      start,
      ...block(0, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }, [
        { type: 'input_json_delta', partial_json: '{"query":"weather paris"}' },
      ]),
      ...block(
        1,
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: ['nonsense', SOURCE.url, SOURCE.url].map((url) => ({
            type: 'web_search_result',
            url,
            title: SOURCE.title,
            encrypted_content: 'enc',
            page_age: null,
          })),
        },
        [],
      ),
      ...block(2, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'It is sunny.' }]),
      ...end('end_turn'),
    ],
    tool: { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
  },
  calls: [
    start,
    ...thinking('Both cities.', 'sig-1'),
    ...toolUse(1, 'toolu_1', ['{"city":', '"Paris"}']),
    ...toolUse(2, 'toolu_2', ['{"city":"Rome"}']),
    ...end('tool_use'),
  ],
  call: (name, args) => [
    start,
    ...thinking('Let me see.', 'sig-1'),
    ...toolUse(1, 'toolu_1', [JSON.stringify(args)], name),
    ...end('tool_use'),
  ],
  badCall: [start, ...toolUse(0, 'toolu_1', ['{"city": Par']), ...end('tool_use')],
  failing: [
    start,
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'It is ' } }),
    event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
  ],
  error: (_status, message) => ({ type: 'error', error: { type: 'some_error', message } }),
  checkReturn(body) {
    assert.partialDeepStrictEqual(body, {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Both cities.', signature: 'sig-1' },
            { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Paris' } },
            { type: 'tool_use', id: 'toolu_2', name: 'get_weather', input: { city: 'Rome' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny' },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_2',
              content: 'no such city',
              is_error: true,
            },
          ],
        },
      ],
      tools: [{ name: 'get_weather', input_schema: { type: 'object' } }],
      thinking: { type: 'adaptive', display: 'summarized' },
    });
  },
};
