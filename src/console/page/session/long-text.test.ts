import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noDiffNote, truncatedNote } from '../../../protocol/schema-free/index.ts';
import { largeChange } from '../../../display/text/index.ts';
import { MAX_ROW, rowEnd } from './long-text.ts';

test('a row ends at a line break, or after MAX_ROW characters, and never inside a surrogate pair', () => {
  assert.equal(rowEnd('ab\ncd', 0), 2);
  assert.equal(rowEnd('ab\ncd', 3), 5);
  assert.equal(rowEnd('x'.repeat(5000), 0), MAX_ROW);
  assert.equal(rowEnd(`${'x'.repeat(MAX_ROW - 1)}👍👍`, 0), MAX_ROW - 1);
});

test('a large change whose diff the server has left out is shown as its new content', () => {
  const file = { file_name: 'a', file_path: 'a', old_content: 'old', new_content: 'new' };
  const header = '--- a\n+++ a\n';
  const diff = `${header}@@ -1 +1 @@\n-old\n+new\n`;
  assert.deepEqual(largeChange({ ...file, formatted_diff: diff }), {
    text: diff,
    kind: 'diff',
    notes: [],
    complete: true,
  });
  const whole = { text: 'new', kind: 'content', notes: [], complete: true };
  assert.deepEqual(largeChange(file), whole);
  assert.deepEqual(largeChange({ ...file, formatted_diff: header + noDiffNote(9, 9) }), whole);
  const modes = 'old mode 100644\nnew mode 100755\n';
  const noted = `diff --git a/a b/a\n${modes}${noDiffNote(9, 9)}`;
  assert.deepEqual(largeChange({ ...file, formatted_diff: noted }), {
    ...whole,
    notes: ['old mode 100644', 'new mode 100755'],
  });
});

test('a large change of which the server has left out a part is not complete', () => {
  const file = { file_name: 'a', file_path: 'a' };
  const cut = `new\n${truncatedNote(5000)}`;
  assert.equal(largeChange({ ...file, new_content: cut }).complete, false);
  const formatted_diff = `--- a\n+++ a\n+new\n${truncatedNote(5000)}`;
  assert.equal(largeChange({ ...file, new_content: 'new', formatted_diff }).complete, false);
});
