import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, summary } from './diff-lines.ts';
import { textOfLine } from '../../display/index.ts';

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

test('control characters in a file are visible', () => {
  const diff = diffLines({ ...file, old_content: '', new_content: '\u001b[2Jx\n' }, 40);
  assert.deepEqual(diff.lines.map(textOfLine), ['1 + ␛[2Jx']);
});

test('a changed line end is visible, and line ends that are all CRLF are not marked', () => {
  const change = (old_content: string, new_content: string) =>
    diffLines({ ...file, old_content, new_content }, 40).lines.map(textOfLine);
  assert.deepEqual(change('a\r\n', 'a\n'), ['1 - a␍', '1 + a']);
  assert.deepEqual(change('a\r\nb\r\n', 'a\r\nc\r\n'), ['1   a', '2 - b', '2 + c']);
});

test('if the server left out a part of the change, the change is not complete', () => {
  const formatted_diff = '--- a\n+++ b\n@@ -9 +9 @@\n-old\n+new\n';
  const long = { ...file, old_content: 'a\n', new_content: 'b\n[truncated: 4.0 KB more]\n' };
  const shown = diffLines({ ...long, formatted_diff }, 60);
  assert.equal(shown.complete, false);
  assert.ok(shown.lines.map(textOfLine).includes('+new'), 'the diff of the whole files is shown');
  const binary = { ...file, new_content: '[PNG image, 1.5 KB]\n' };
  assert.equal(diffLines(binary, 40).complete, false);
  assert.equal(diffLines({ ...file, new_content: 'key = [1]\n[section]\n' }, 40).complete, true);
});

test('if there are too many differences for a diff, the new content is shown', () => {
  const text = (word: string) =>
    Array.from({ length: 3000 }, (_, at) => `${word} ${at}`).join('\n');
  const formatted_diff = '--- a\n+++ b\n[too many differences to show: 3000 lines become 3000]\n';
  const contents = { old_content: text('a'), new_content: text('b') };
  const diff = diffLines({ ...file, ...contents, formatted_diff }, 60);
  assert.deepEqual([diff.added, diff.complete], [3000, true]);
  assert.equal(textOfLine(diff.lines.at(-1) ?? []), '+b 2999');
});

test('a change between tabs and spaces is visible', () => {
  const change = { ...file, old_content: 'all:\n    make\n', new_content: 'all:\n\tmake\n' };
  const { added, removed, lines } = diffLines(change, 40);
  assert.deepEqual([added, removed], [1, 1]);
  assert.deepEqual(lines.map(textOfLine), ['1   all:', '2 -     make', '2 + →   make']);
});

test('a new mode and an old path are shown before the lines, also without changed lines', () => {
  const notes = ['old mode 100644', 'new mode 100755', 'rename from b', 'rename to a.txt'];
  const header = `diff --git a/b b/a.txt\n${notes.join('\n')}\n`;
  const shown = (old_content: string, new_content: string, formatted_diff: string) => {
    const { lines, ...diff } = diffLines({ ...file, old_content, new_content, formatted_diff }, 60);
    return { ...diff, lines: lines.map(textOfLine) };
  };
  assert.deepEqual(shown('a\n', 'a\n', header), {
    added: 0,
    removed: 0,
    complete: true,
    lines: notes,
  });
  const lines = shown('a\n', 'b\n', `${header}--- a/b\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n`).lines;
  assert.deepEqual(lines, [...notes, '1 - a', '1 + b']);
  const text = (word: string) =>
    Array.from({ length: 3000 }, (_, at) => `${word} ${at}`).join('\n');
  const none = `${header}[too many differences to show: 3000 lines become 3000]\n`;
  assert.deepEqual(shown(text('a'), text('b'), none).lines.slice(0, 4), notes);
});
