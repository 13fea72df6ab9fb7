import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { layout, withText } from './buffer.ts';
import { commandChoices, completableAt, fileChoices } from '../../display/index.ts';
import { composerKey, createComposer, withCompletion, type Composer } from './composer.ts';
import { press, type KeyPress } from './keys.ts';
import { widthOf } from '../text/width.ts';

const ctrl = (text: string) => press('text', { text, ctrl: true });
const alt = (text: string) => press('text', { text, alt: true });

/** Presses keys. A string is typed. */
function after(composer: Composer, ...keys: (KeyPress | string)[]): Composer & { sent: string[] } {
  const sent: string[] = [];
  let now = composer;
  for (const key of keys) {
    const step = composerKey(now, typeof key === 'string' ? press('text', { text: key }) : key);
    now = step?.composer ?? now;
    if (step?.submit !== undefined) sent.push(step.submit);
  }
  return { ...now, sent };
}

const start = createComposer(['first', 'second thing', 'third']);

test('Enter sends the text and clears it', () => {
  const { sent, buffer, past } = after(start, 'hello', press('enter'));
  assert.deepEqual([sent, buffer.text, past.at(-1)], [['hello'], '', 'hello']);
  assert.deepEqual(after(start, '  ', press('enter')).sent, []);
});

test('Shift-Enter, Alt-Enter and a trailing backslash start a new line', () => {
  for (const key of [press('enter', { shift: true }), press('enter', { alt: true })]) {
    assert.equal(after(start, 'a', key, 'b').buffer.text, 'a\nb');
  }
  assert.equal(after(start, 'a\\', press('enter'), 'b').buffer.text, 'a\nb');
});

test('the usual editing keys work', () => {
  const text = (...keys: (KeyPress | string)[]) => after(start, 'one two', ...keys).buffer.text;
  assert.equal(text(press('backspace')), 'one tw');
  assert.equal(text(ctrl('w')), 'one ');
  assert.equal(text(ctrl('u')), '');
  assert.equal(text(ctrl('a'), ctrl('k')), '');
  assert.equal(text(ctrl('a'), press('delete')), 'ne two');
  assert.equal(text(alt('b'), 'x'), 'one xtwo');
  assert.equal(text(press('home'), press('right', { ctrl: true }), 'x'), 'onex two');
  assert.equal(text(press('left'), '!'), 'one tw!o');
  assert.equal(after(start, '👩‍👩‍👧', press('backspace')).buffer.text, '');
});

test('the arrows never move into a grapheme', () => {
  const newLine = press('enter', { shift: true });
  const up = after(start, '👍👍', newLine, 'a', press('up'), 'x');
  assert.equal(up.buffer.text, 'x👍👍\na');
  const down = after(start, 'abc', newLine, '👩‍🚀d', press('up'), press('down'), 'x');
  assert.equal(down.buffer.text, 'abc\nx👩‍🚀d');
});

test('a text that starts with a line break has an empty first line', () => {
  const first = after(start, press('enter', { shift: true }), 'a', press('up'));
  assert.equal(first.buffer.cursor, 0);
  assert.equal(after(first, press('home')).buffer.cursor, 0);
  assert.equal(after(first, ctrl('u')).buffer.text, '\na');
});

test('arrows browse earlier prompts and return to the draft', () => {
  const up = press('up');
  const down = press('down');
  assert.equal(after(start, 'draft', up).buffer.text, 'third');
  assert.equal(after(start, 'draft', up, up, up, up).buffer.text, 'first');
  assert.equal(after(start, 'draft', up, up, down).buffer.text, 'third');
  assert.equal(after(start, 'draft', up, down).buffer.text, 'draft');
  assert.equal(after(start, 'a\nbc', up, 'x').buffer.text, 'ax\nbc', 'first through the lines');
});

test('Ctrl-R searches earlier prompts, newest first', () => {
  const r = ctrl('r');
  assert.equal(after(start, r, 'ir').buffer.text, 'third');
  assert.equal(after(start, r, 'ir', r).buffer.text, 'first');
  assert.equal(after(start, r, 'THING', press('enter')).buffer.text, 'second thing');
  assert.equal(after(start, 'draft', r, 'ir', press('escape')).buffer.text, 'draft');
  assert.equal(after(start, r, 'nowhere').search?.at, -1);
  assert.equal(after(start, r, 'ir😀', press('backspace')).search?.query, 'ir');
  assert.equal(after(start, r, press('backspace')).search?.query, '');
});

test('Tab or Enter accepts a completion, and Enter sends a text that is already complete', () => {
  const choices = [
    { text: 'memory ', description: '' },
    { text: 'model ', description: '' },
  ];
  const open = withCompletion(after(start, '/m'), 1, choices);
  assert.equal(after(open, press('tab')).buffer.text, '/memory ');
  assert.equal(after(open, press('down'), press('enter')).buffer.text, '/model ');
  assert.equal(after(open, press('escape')).completion, undefined);
  const whole = withCompletion(after(start, '/stats'), 1, [{ text: 'stats', description: '' }]);
  assert.deepEqual(after(whole, press('enter')).sent, ['/stats']);
});

test('commands are completed at the start, files after @', () => {
  assert.deepEqual(completableAt(withText('/mem')), { kind: 'command', prefix: 'mem', start: 1 });
  assert.equal(completableAt(withText('/github:rev'))?.prefix, 'github:rev');
  assert.equal(completableAt(withText('see /mem')), undefined);
  assert.deepEqual(completableAt(withText('see @src/a')), {
    kind: 'file',
    prefix: 'src/a',
    start: 5,
  });
  assert.equal(completableAt(withText('a@b')), undefined);
  const add = { name: 'add', description: 'Adds', arguments: [], sub_commands: [] };
  const memory = { name: 'memory', description: 'M', arguments: [], sub_commands: [add] };
  assert.deepEqual(commandChoices([memory], 'm'), [{ text: 'memory ', description: 'M' }]);
  assert.deepEqual(commandChoices([memory], 'memory '), [
    { text: 'memory add', description: 'Adds' },
  ]);
  assert.deepEqual(
    fileChoices(['src/', 'a.ts']).map(({ text }) => text),
    ['src/', 'a.ts '],
  );
});

test('rows fit the width, contain the whole text, and contain the cursor', () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc ', '\n', '日', '👩‍👩‍👧'), { maxLength: 40 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 12 }), (value, width) => {
      const { rows, row, column } = layout(withText(value), width);
      assert.equal(rows.join(''), value.replaceAll('\n', ''));
      for (const each of rows) assert.ok(widthOf(each) <= width);
      assert.ok(row < rows.length && column <= width);
      assert.equal(row, rows.length - 1, 'the cursor is at the end');
      assert.equal(column, widthOf(rows.at(-1) ?? ''));
    }),
  );
});
