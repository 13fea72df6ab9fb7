import assert from 'node:assert/strict';
import { data } from './server.ts';
import type { Wire } from './wire.ts';

const base = {
  id: 'chat_1',
  object: 'chat.completion.chunk',
  created: 1_780_000_000,
  model: 'llama',
};

function delta(change: object, finish_reason: string | null = null): string {
  return data({ ...base, choices: [{ index: 0, delta: change, finish_reason }] });
}

const end = [
  data({
    ...base,
    choices: [],
    usage: {
      prompt_tokens: 20,
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens: 12,
      completion_tokens_details: { reasoning_tokens: 4 },
      total_tokens: 32,
    },
  }),
  'data: [DONE]\n\n',
];

function toolCall(index: number, id: string, args: string, name = 'get_weather'): string {
  const call = { index, id, type: 'function', function: { name, arguments: args } };
  return delta({ tool_calls: [call] });
}

export const openaiCompatible: Wire = {
  model: 'openai-compatible:llama',
  keyVariable: 'OPENAI_COMPATIBLE_API_KEY',
  env: (url, key) => ({
    OPENAI_COMPATIBLE_API_KEY: key,
    OPENAI_COMPATIBLE_BASE_URL: `${url}/v1`,
  }),
  keyHeader: 'authorization',
  path: '/v1/chat/completions',
  answer: [
    delta({ role: 'assistant', content: '', reasoning_content: 'Let me see.' }),
    delta({ content: 'It is ' }),
    delta({ content: 'sunny.' }),
    delta({}, 'stop'),
    ...end,
  ],
  calls: [
    delta({ role: 'assistant', content: null, reasoning_content: 'Both cities.' }),
    toolCall(0, 'call_1', '{"city":'),
    delta({ tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] }),
    toolCall(1, 'call_2', '{"city":"Rome"}'),
    delta({}, 'tool_calls'),
    ...end,
  ],
  call: (name, args) => [
    delta({ role: 'assistant', content: null, reasoning_content: 'Let me see.' }),
    toolCall(0, 'call_1', JSON.stringify(args), name),
    delta({}, 'tool_calls'),
    ...end,
  ],
  badCall: [toolCall(0, 'call_1', '{"city": Par'), delta({}, 'tool_calls'), ...end],
  failing: [
    delta({ role: 'assistant', content: 'It is ' }),
    data({ error: { message: 'The server is overloaded.', type: 'server_error', code: null } }),
  ],
  error: (_status, message) => ({
    error: { message, type: 'some_error', param: null, code: null },
  }),
  checkReturn(body) {
    assert.partialDeepStrictEqual(body, {
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          reasoning_content: 'Both cities.',
          tool_calls: [
            { id: 'call_1', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
            { id: 'call_2', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_2', content: 'no such city' },
      ],
      tools: [{ type: 'function', function: { name: 'get_weather' } }],
      stream: true,
    });
  },
};
