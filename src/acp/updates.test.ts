import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Part } from '../protocol/index.ts';
import { Updates } from './updates.ts';

const self = { id: 'acp-1', name: 'zed', kind: 'acp', roles: ['view'] } as const;
const image: Part = { kind: 'file', file: { bytes: 'AAAA', mimeType: 'image/png' } };
const text = (words: string): Part => ({ kind: 'text', text: words });

function shown(parts: readonly Part[]): unknown[] {
  const source = { client: 'a2a-2', name: 'phone' };
  return new Updates(self, '/w').of({ kind: 'prompt', parts, source }).map((update) => {
    assert.equal(update.sessionUpdate, 'user_message_chunk');
    return 'content' in update && !Array.isArray(update.content) && update.content?.type === 'text'
      ? update.content.text
      : 'image';
  });
}

test('the first text of a prompt from another client names the sender, also after an image', () => {
  assert.deepEqual(shown([text('look'), text('here')]), ['[phone] look', 'here']);
  assert.deepEqual(shown([image, text('what is it?')]), ['image', '[phone] what is it?']);
});
