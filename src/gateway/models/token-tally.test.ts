import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenTally } from './token-tally.ts';
import { tokenCounter } from './token-count.ts';

const counter = tokenCounter([{ provider: { config: { type: 'openai' } } }]);
const prompt = () => 20;

function raw(text: string) {
  return { kind: 'raw', text: `data: ${JSON.stringify({ delta: text })}\n\n` } as const;
}

test('the pauses of a provider count as thoughts that it does not show, up to the limit of the answer', () => {
  let now = 0;
  const tally = new TokenTally(counter, () => now);
  now = 30_000;
  tally.add(raw('one two three'));
  now = 30_500;
  tally.add(raw(' four'));
  const shown = tally.estimate(prompt).outputTokens;
  assert.ok(shown >= 4 && shown < 8);
  now = 35_500;
  assert.equal(tally.estimate(prompt, { hidden: true }).outputTokens, shown + 3500);
  assert.equal(tally.estimate(prompt, { hidden: true, maxOutputTokens: 900 }).outputTokens, 900);
  assert.equal(tally.estimate(prompt).outputTokens, shown);
});

test('tokens that a provider has reported are not counted again', () => {
  let now = 0;
  const tally = new TokenTally(counter, () => now);
  now = 30_000;
  const usage = { inputTokens: 77, outputTokens: 500, thoughtTokens: 480, cachedTokens: 7 };
  tally.add({ ...raw('one two three'), usage });
  assert.deepEqual(tally.estimate(prompt, { hidden: true }), {
    inputTokens: 77,
    outputTokens: 500,
    cachedTokens: 7,
    estimated: true,
  });
});

test('relayed text is counted in parts, and a finished part is counted once', () => {
  const [tally, often] = [new TokenTally(counter), new TokenTally(counter)];
  often.countOften();
  const words = 'word '.repeat(40);
  for (let at = 0; at < 20; at++) {
    tally.add(raw(words));
    often.add(raw(words));
  }
  assert.equal(tally.counted, 0);
  assert.ok(often.counted > 15 * counter.raw(raw(words).text));
  const { outputTokens } = tally.estimate(prompt);
  assert.equal(often.estimate(prompt).outputTokens, outputTokens);
  assert.equal(outputTokens, Math.round(20 * counter.raw(raw(words).text)));
  assert.ok(tally.counted <= outputTokens + 1);
  assert.equal(tally.estimate(prompt).outputTokens, outputTokens);
});
