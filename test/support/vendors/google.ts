import assert from 'node:assert/strict';
import { data } from './server.ts';
import { SOURCE, type Wire } from './wire.ts';

function chunk(parts: readonly unknown[], more: object = {}): string {
  return data({ candidates: [{ content: { role: 'model', parts }, index: 0, ...more }] });
}

const usageMetadata = {
  promptTokenCount: 20,
  cachedContentTokenCount: 5,
  candidatesTokenCount: 8,
  thoughtsTokenCount: 4,
  totalTokenCount: 32,
};
const last = data({
  candidates: [
    { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'STOP', index: 0 },
  ],
  usageMetadata,
});

export const google: Wire = {
  model: 'google:gemini-3.8-flash',
  keyVariable: 'GEMINI_API_KEY',
  env: (url, key) => ({ GEMINI_API_KEY: key, GEMINI_BASE_URL: url }),
  keyHeader: 'x-goog-api-key',
  path: '/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse',
  answer: [
    chunk([{ text: 'Let me see.', thought: true }]),
    chunk([{ text: 'It is ' }]),
    chunk([{ text: 'sunny.' }]),
    last,
  ],
  calls: [
    chunk([{ text: 'Both cities.', thought: true }]),
    chunk([
      {
        functionCall: { name: 'get_weather', args: { city: 'Paris' } },
        thoughtSignature: 'c2lnLTE=',
      },
      { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
    ]),
    last,
  ],
  call: (name, args) => [
    chunk([{ text: 'Let me see.', thought: true }]),
    chunk([{ functionCall: { name, args }, thoughtSignature: 'c2lnLTE=' }]),
    last,
  ],
  search: {
    events: [
      chunk([{ text: 'It is sunny.' }]),
      data({
        candidates: [
          {
            content: { role: 'model', parts: [{ text: '' }] },
            finishReason: 'STOP',
            index: 0,
            groundingMetadata: {
              webSearchQueries: ['weather paris'],
              searchEntryPoint: { renderedContent: '<div>chip</div>' },
              groundingChunks: [
                { web: { uri: 'nonsense', title: 'x' } },
                { web: { uri: SOURCE.url, title: SOURCE.title } },
                { web: { uri: SOURCE.url, title: SOURCE.title } },
              ],
              groundingSupports: [
                {
                  segment: { startIndex: 0, endIndex: 12, text: 'It is sunny.' },
                  groundingChunkIndices: [1],
                },
              ],
            },
          },
        ],
        usageMetadata,
      }),
    ],
    tool: { googleSearch: {} },
  },
  failing: [
    chunk([{ text: 'It is ' }]),
    data({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }),
  ],
  error: (status, message) => ({ error: { code: status, message, status: 'SOME_STATUS' } }),
  checkReturn(body) {
    assert.partialDeepStrictEqual(body, {
      contents: [
        { role: 'user', parts: [{ text: 'Weather?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Both cities.', thought: true },
            {
              functionCall: { name: 'get_weather', args: { city: 'Paris' } },
              thoughtSignature: 'c2lnLTE=',
            },
            { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { name: 'get_weather' } },
            { functionResponse: { name: 'get_weather' } },
          ],
        },
      ],
      tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
    });
  },
};
