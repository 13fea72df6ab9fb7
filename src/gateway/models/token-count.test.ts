import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userContent } from '../../agent/index.ts';
import type { ProviderConfig } from './config.ts';
import { tokenCounter } from './token-count.ts';

function counterOf(type: ProviderConfig['type']) {
  return tokenCounter([{ provider: { config: { type } } }]);
}

// The numbers of tokens that real tokenizers make of these texts: OpenAI's o200k_base and Gemini's. The count must not be
// lower, nor much higher.
const TEXTS: readonly (readonly [
  language: string,
  text: string,
  openai: number,
  google: number,
])[] = [
  [
    'English',
    'Several members expressed concern that the estimated costs did not include maintenance, while others argued that the long-term benefits would outweigh the initial investment.',
    27,
    28,
  ],
  [
    'German',
    'Nach beinahe drei Stunden schlug die Vorsitzende vor, vor einer Entscheidung ein unabhängiges Gutachten über die Geschwindigkeitsbegrenzung in Auftrag zu geben.',
    34,
    29,
  ],
  ['Chinese', '与此同时，乘客将不得不忍受延误、拥挤的车厢和一份似乎没有人能看懂的时刻表。', 34, 24],
  [
    'Russian',
    'Пассажирам придётся мириться с опозданиями, переполненными вагонами и расписанием, которого никто не понимает.',
    30,
    30,
  ],
  [
    'TypeScript',
    'export function dayOf(time: number): string {\n  return new Date(time).toISOString().slice(0, 10);\n}\n',
    27,
    32,
  ],
  [
    'JSON',
    '{"type":"object","properties":{"name":{"type":"string","minLength":1},"tags":{"type":"array","items":{"type":"string"}}},"required":["name"]}',
    36,
    35,
  ],
  ['numbers', '7919.37,31337\n15838.74,62674\n23758.11,94011\n31677.48,25348\n', 32, 59],
  ['a UUID', '3f2b8c1e-9d47-4a6b-8e21-5c0f7d9a1b34', 33, 36],
  [
    'base64',
    'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==',
    66,
    67,
  ],
];

for (const [language, text, openai, google] of TEXTS) {
  test(`the count of ${language} is close to that of real tokenizers, and not lower`, () => {
    for (const [type, tokens] of [
      ['openai', openai],
      ['google', google],
    ] as const) {
      const count = counterOf(type).text(text);
      assert.ok(count >= tokens && count <= 2 * tokens, `${type}: ${count} for ${tokens}`);
    }
  });
}

test('other scripts and digits count per character or pair, never less than by length', () => {
  const { text } = counterOf('openai');
  assert.ok(text('これは日本語の文章です') >= 9);
  assert.ok(text('1234567890') >= 4);
  assert.ok(text('') === 0);
});

test('a prompt counts its system text, tools and images, for the vendor that needs the most', () => {
  const request = { messages: [userContent('Hello')] };
  const { prompt } = counterOf('openai');
  const plain = prompt(request);
  assert.ok(plain >= 8 && plain <= 20);
  assert.ok(prompt({ ...request, system: 'word '.repeat(100) }) >= plain + 100);
  const tool = {
    name: 'weather',
    description: 'Tells the weather',
    parameters: { type: 'object' },
  };
  assert.ok(prompt({ ...request, tools: [tool] }) > plain + 20);
  const image = { kind: 'blob' as const, mediaType: 'image/png', data: 'A'.repeat(1_000_000) };
  const count = prompt({ messages: [{ role: 'user', parts: [image] }] });
  assert.ok(count > 1000 && count < 3000, 'an image does not count by its bytes');
  const data = Buffer.from('word '.repeat(1000)).toString('base64');
  const file = { kind: 'blob' as const, mediaType: 'text/plain', data, name: 'name '.repeat(100) };
  assert.ok(prompt({ messages: [{ role: 'user', parts: [file] }] }) >= 1100, 'it is sent as text');
  const both = tokenCounter(
    (['openai', 'anthropic'] as const).map((type) => ({ provider: { config: { type } } })),
  );
  assert.equal(both.prompt(request), counterOf('anthropic').prompt(request));
});

test('an answer in a vendor’s own format counts its texts, not its JSON', () => {
  const chunk = { choices: [{ index: 0, delta: { content: 'Hello there \\ "you"' } }] };
  const { raw, text } = counterOf('openai');
  const count = raw(`data: ${JSON.stringify(chunk)}\n\n`);
  assert.ok(count >= text('Hello there you') && count <= 3 * text('Hello there you'));
});

test('a text of a Responses stream counts once, although later events repeat it', () => {
  const words = 'One or two words. '.repeat(20);
  const item = { type: 'message', content: [{ type: 'output_text', text: words }] };
  const call = { type: 'function_call', arguments: words };
  const delta = { type: 'response.output_text.delta', delta: words };
  const events = [
    { type: 'response.output_text.done', text: words },
    { type: 'response.content_part.done', part: item.content[0] },
    { type: 'response.output_item.done', item },
    { type: 'response.function_call_arguments.done', arguments: words },
    { type: 'response.output_item.done', item: call },
    { sequence_number: 7, text: words, type: 'response.reasoning_summary_text.done' },
  ];
  const stream = (...sent: { type: string }[]) =>
    sent.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('');
  const { raw, text } = counterOf('openai');
  assert.equal(raw(stream(delta)), text(words));
  assert.equal(raw(stream(delta, ...events)), text(words));
  assert.equal(raw(stream(...events, delta)), text(words));
  const quoting = { type: 'response.output_text.delta', delta: JSON.stringify(events[0]) };
  assert.ok(raw(stream(quoting)) >= text(words), 'a text may look like an event');
});

test('many small pieces of an answer add up to the count of the whole', () => {
  const { text } = counterOf('anthropic');
  const words = Array.from({ length: 1000 }, () => 'word ');
  const pieces = words.reduce((sum, word) => sum + text(word), 0);
  assert.ok(Math.abs(pieces - text(words.join(''))) < 1);
});
