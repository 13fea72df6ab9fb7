import assert from 'node:assert/strict';
import { test } from 'node:test';
import { userContent } from '../../agent/index.ts';
import type { ProviderConfig } from './config.ts';
import { tokenCounter } from './token-count.ts';

function counterOf(type: ProviderConfig['type']) {
  return tokenCounter([{ provider: { config: { type } } }]);
}

// About as many tokens as OpenAI's tokenizers make of these texts: one per short word, bracket and operator. The count
// must not be lower, nor more than one and a half times as high.
const TEXTS: readonly (readonly [string, number])[] = [
  ['The quick brown fox jumps over the lazy dog.', 10],
  ['Hello, world! How are you today?', 9],
  ['const total = items.reduce((sum, item) => sum + item.price, 0);', 18],
];

for (const [text, tokens] of TEXTS) {
  test(`the count of ${JSON.stringify(text)} is close, and not too low`, () => {
    const count = counterOf('openai').text(text);
    assert.ok(count >= tokens && count <= 1.5 * tokens, `${count} for ${tokens}`);
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

test('many small pieces of an answer add up to the count of the whole', () => {
  const { text } = counterOf('anthropic');
  const words = Array.from({ length: 1000 }, () => 'word ');
  const pieces = words.reduce((sum, word) => sum + text(word), 0);
  assert.ok(Math.abs(pieces - text(words.join(''))) < 1);
});
