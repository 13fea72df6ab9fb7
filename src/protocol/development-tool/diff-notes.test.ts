import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  binaryNote,
  headerNotes,
  isShortened,
  isWithoutDiff,
  leavesOut,
  noDiffNote,
  truncatedNote,
} from './diff-notes.ts';

const SIZES = [0, 1, 1023, 1024, 1_500_000, 3_000_000_000];

test('the notes that are written are recognized', () => {
  for (const size of SIZES) {
    for (const text of [truncatedNote(size), `a\n${truncatedNote(size)}`]) {
      assert.equal(isShortened(text), true, text);
      assert.equal(leavesOut(text), true, text);
    }
    for (const kind of ['binary data', 'image/png', 'a ZIP archive']) {
      assert.equal(isShortened(binaryNote(kind, size)), true);
      assert.equal(leavesOut(`--- a\n+++ b\n@@ -0,0 +1,1 @@\n+${binaryNote(kind, size)}`), true);
    }
  }
  const none = `--- a\n+++ b\n${noDiffNote(9000, 12)}`;
  assert.deepEqual([isWithoutDiff(none), leavesOut(none)], [true, true]);
});

test('other texts with brackets are not notes', () => {
  for (const text of ['', '[a]\n', '[truncated: 1 KB more]\nb\n', 'a\n[image/png, 3 bytes]\n']) {
    assert.equal(isShortened(text), false, text);
  }
  const diff = '--- a\n+++ b\n@@ -1,2 +1,2 @@\n [truncated: 1 KB more]\n-[image, 3 bytes]\n+[a]\n';
  assert.deepEqual([isWithoutDiff(diff), leavesOut(diff)], [false, false]);
});

test('the header lines of git are found, and nothing after them', () => {
  const notes = ['old mode 100644', 'new mode 100755', 'rename from a', 'rename to b'];
  const header = `diff --git a/a b/b\n${notes.join('\n')}\n`;
  const rest = ['', '--- a/a\n+++ b/b\n@@ -1 +1 @@\n-old mode\n+new mode\n', noDiffNote(9, 9)];
  for (const end of rest) assert.deepEqual(headerNotes(header + end), notes);
  for (const none of [undefined, '', '--- a\n+++ b\nold mode 1\n', `@@\n${header}`]) {
    assert.deepEqual(headerNotes(none), []);
  }
});
