import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { markdown } from './markdown.ts';
import { lineWidth } from './styled-line.ts';
import { textOfLine } from '../../display/index.ts';

function drawn(source: string, width = 60): string[] {
  return markdown(source, width).map((line) => textOfLine(line).trimEnd());
}

test('paragraphs have a blank line between them, and keep their own line breaks', () => {
  assert.deepEqual(drawn('one\ntwo\n\nthree  \nfour'), ['one', 'two', '', 'three', 'four']);
});

test('lists keep their indent and their numbers', () => {
  assert.deepEqual(drawn('- a\n- b\n  - c\n- [x] d'), ['• a', '• b', '  • c', '• ☑ d']);
  assert.deepEqual(drawn('9. nine\n10. ten'), [' 9. nine', '10. ten']);
  assert.deepEqual(drawn('- a long item that wraps', 14), ['• a long item', '  that wraps']);
});

test('code keeps its lines, after a bar', () => {
  assert.deepEqual(drawn('```ts\nconst a = 1;\n\n  b();\n```'), [
    '│ const a = 1;',
    '│',
    '│   b();',
  ]);
});

test('a table has columns, and becomes a list in a narrow terminal', () => {
  const source = '| name | what it is |\n|---|---|\n| a | the first one |';
  assert.deepEqual(drawn(source), [
    'name  what it is',
    '────  ─────────────',
    'a     the first one',
  ]);
  assert.deepEqual(drawn(source, 12), ['name: a', 'what it is:', 'the first', 'one']);
});

test('a link shows its URL', () => {
  assert.deepEqual(drawn('[docs](https://a.example/x) <https://b.example>'), [
    'docs (https://a.example/x) https://b.example',
  ]);
});

test('headings, quotes, rules and emphasis', () => {
  assert.deepEqual(drawn('# Title\n\n> said\n\n---\n\n**b** *i* ~~s~~ `c`'), [
    'Title',
    '',
    '▎ said',
    '',
    '─'.repeat(40),
    '',
    'b i s c',
  ]);
});

test('escape sequences are removed', () => {
  assert.deepEqual(drawn('a\u001b[2Jb &lt;'), ['ab <']);
});

test('the columns of a table keep their alignment', () => {
  const source = '| name | size | mid |\n|:--|--:|:-:|\n| a | 1 | x |\n| bcd | 1000 | yyyyy |';
  assert.deepEqual(markdown(source, 40).map(textOfLine), [
    'name  size   mid',
    '────  ────  ─────',
    'a        1    x',
    'bcd   1000  yyyyy',
  ]);
});

test('no line is wider than the terminal, for any text', () => {
  const parts = fc.constantFrom(
    '# ',
    '- ',
    '1. ',
    '> ',
    '```\n',
    '|a|b|\n|-|-|\n',
    '|',
    '\n',
    '\n\n',
    '**',
    '`',
    '[x](y)',
    'word ',
    '日本',
    'averyveryverylongword',
    '    ',
    '---\n',
    '<b>',
    '\\',
    '~~',
  );
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 30 }),
      fc.integer({ min: 28, max: 60 }),
      (some, width) => {
        for (const line of markdown(some.join(''), width)) {
          assert.ok(lineWidth(line) <= width, JSON.stringify(textOfLine(line)));
        }
      },
    ),
    { numRuns: 300 },
  );
});
