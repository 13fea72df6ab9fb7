import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeText } from './text.ts';

test('a file in UTF-16 is refused with what to do, and another binary file with its kind', () => {
  const utf16 = Buffer.from('\uFEFFhello', 'utf16le');
  assert.throws(() => decodeText(utf16, 'notes.txt'), {
    name: 'FileError',
    message: /^notes\.txt is not UTF-8, .*convert it with a shell command first$/,
  });
  assert.throws(() => decodeText(Buffer.from('%PDF-1.7'), 'a.pdf'), {
    message: /^a\.pdf is not text \(PDF document, 8 bytes\)$/,
  });
});
