import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEvent } from '../../agent/index.ts';
import { HelperSpeech } from './speech.ts';

test('of a long text, only the end is kept while it arrives', () => {
  const speech = new HelperSpeech({ agent: 'helper', parentToolCallId: 'c' }, 'model');
  const heard = (text: string, partial = true) =>
    speech.hear(
      createEvent(
        { runId: 'r', author: 'helper' },
        { partial, content: { role: 'model', parts: [{ kind: 'text', text }] } },
      ),
    ).text;
  assert.equal(heard('First. '), 'First. ');
  let longest = 0;
  for (let piece = 0; piece < 10_000; piece++) longest = Math.max(longest, heard('more ').length);
  const last = heard('The end.');
  assert.ok(longest <= 16 * 1024);
  assert.ok(last.length >= 8 * 1024 && last.endsWith('more The end.'));
});
