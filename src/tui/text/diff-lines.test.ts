import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, summary } from './diff-lines.ts';
import { textOfLine } from './styled-line.ts';

const file = { file_name: 'a.txt', file_path: '/a.txt' };

test('a change has numbers, signs and its surroundings', () => {
  const old_content = 'a\nb\nc\n';
  const diff = diffLines({ ...file, old_content, new_content: 'a\nB\nc\nd\n' }, 40);
  assert.deepEqual(diff.lines.map(textOfLine), ['1   a', '2 - b', '2 + B', '3   c', '4 + d']);
  assert.equal(textOfLine(summary(diff)), '+2 −1');
});

test('changes that are far apart are parted', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const after = lines.with(1, 'x').with(28, 'y').join('\n');
  const diff = diffLines({ ...file, old_content: lines.join('\n'), new_content: after }, 40);
  assert.equal(diff.lines.filter((line) => textOfLine(line).endsWith('⋮')).length, 1);
});

test('a new file is all added, a long line goes on under itself', () => {
  const diff = diffLines({ ...file, new_content: 'one two three\n' }, 12);
  assert.deepEqual(diff.lines.map(textOfLine), ['1 + one two', '    three']);
});

test('two texts with nothing in common are shown as the server has them', () => {
  const text = (word: string) =>
    Array.from({ length: 6000 }, (_, at) => `${word} ${at}`).join('\n');
  const formatted_diff = '--- a\n+++ b\n-old\n+new\n+more';
  const diff = diffLines(
    { ...file, old_content: text('a'), new_content: text('b'), formatted_diff },
    40,
  );
  assert.deepEqual([diff.added, diff.removed, diff.lines.length], [2, 1, 5]);
});

test('nothing in a file is obeyed by the terminal', () => {
  const diff = diffLines({ ...file, old_content: '', new_content: '\u001b[2Jx\n' }, 40);
  assert.deepEqual(diff.lines.map(textOfLine), ['1 + x']);
});
