import assert from 'node:assert/strict';
import { test } from 'node:test';
import { line } from '../../display/index.ts';
import { pickerLines } from './picker-lines.ts';

const items = Array.from({ length: 30 }, (_, at) => ({
  id: `${at}`,
  title: `item ${at}`,
  when: 'now',
}));

function textOf(query: string, maxRows: number): string[] {
  const preview = { id: '0', lines: Array.from({ length: 50 }, (_, at) => line(`line ${at}`)) };
  const picker = { title: 'Choose', items, query, selected: 0, preview };
  const room = { width: 40, maxRows, keys: 'Enter', none: 'Nothing found.' };
  return pickerLines(picker, room).map((each) => each.map(({ text }) => text).join(''));
}

test('a picker has at most the given rows, also if nothing matches', () => {
  for (const maxRows of [4, 5, 6, 7, 8, 12, 24]) {
    for (const query of ['', 'item 7', 'no such item']) {
      const lines = textOf(query, maxRows);
      assert.ok(lines.length <= maxRows, `${lines.length} of ${maxRows} rows for "${query}"`);
    }
  }
  assert.match(textOf('no such item', 12).join('\n'), /Nothing found\./);
});

test('a long preview ends with the number of its lines that are not shown', () => {
  // 3 fixed rows, 8 for the list, 1 for the rule and 8 for the preview, of which the last one is the note.
  const lines = textOf('', 20);
  assert.equal(lines.length, 20);
  assert.match(lines.at(-2) ?? '', /… 43 more lines/);
});
