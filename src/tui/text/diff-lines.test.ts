import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, summary } from './diff-lines.ts';
import { textOfLine } from './styled-line.ts';

const file = { file_name: 'a.txt', file_path: '/a.txt' };

test('a change shows line numbers, signs and context', () => {
  const old_content = 'a\nb\nc\n';
  const diff = diffLines({ ...file, old_content, new_content: 'a\nB\nc\nd\n' }, 40);
  assert.deepEqual(diff.lines.map(textOfLine), ['1   a', '2 - b', '2 + B', '3   c', '4 + d']);
  assert.equal(textOfLine(summary(diff)), '+2 −1');
});

test('distant changes are separated', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const after = lines.with(1, 'x').with(28, 'y').join('\n');
  const diff = diffLines({ ...file, old_content: lines.join('\n'), new_content: after }, 40);
  assert.equal(diff.lines.filter((line) => textOfLine(line).endsWith('⋮')).length, 1);
});

test('a new file is all added, and a long line is wrapped', () => {
  const diff = diffLines({ ...file, new_content: 'one two three\n' }, 12);
  assert.deepEqual(diff.lines.map(textOfLine), ['1 + one two', '    three']);
});

test('for very different texts the formatted diff of the server is shown', () => {
  const text = (word: string) =>
    Array.from({ length: 6000 }, (_, at) => `${word} ${at}`).join('\n');
  const formatted_diff = '--- a\n+++ b\n-old\n+new\n+more';
  const diff = diffLines(
    { ...file, old_content: text('a'), new_content: text('b'), formatted_diff },
    40,
  );
  assert.deepEqual([diff.added, diff.removed, diff.lines.length], [2, 1, 5]);
});

test('control characters in a file are removed', () => {
  const diff = diffLines({ ...file, old_content: '', new_content: '\u001b[2Jx\n' }, 40);
  assert.deepEqual(diff.lines.map(textOfLine), ['1 + x']);
});
