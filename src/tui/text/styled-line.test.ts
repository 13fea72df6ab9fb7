import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cut, fit, lineWidth, wrap } from './styled-line.ts';
import { line, span, textOfLine } from '../../display/index.ts';

const texts = fc.array(fc.constantFrom('a', 'word', ' ', '  ', '日本', 'e\u0301', '-'), {
  maxLength: 40,
});

test('a line is wrapped at spaces and keeps its styles', () => {
  const lines = wrap([span('one two ', 'dim'), span('three', 'code')], 8);
  assert.deepEqual(lines, [[span('one two', 'dim')], [span('three', 'code')]]);
});

test('a word that is too long is broken', () => {
  assert.deepEqual(wrap(line('abcdefgh'), 3).map(textOfLine), ['abc', 'def', 'gh']);
});

test('no wrapped line is wider than the width, and nothing but spaces is lost', () => {
  fc.assert(
    fc.property(texts, texts, fc.integer({ min: 2, max: 20 }), (first, second, width) => {
      const lines = wrap([span(first.join(''), 'dim'), span(second.join(''))], width);
      for (const each of lines) assert.ok(lineWidth(each) <= width, textOfLine(each));
      const letters = (text: string) => text.replaceAll(' ', '');
      assert.equal(
        letters(lines.map(textOfLine).join('')),
        letters([...first, ...second].join('')),
      );
    }),
  );
});

test('truncated text ends in … and fits', () => {
  assert.equal(textOfLine(fit(line('abcdef'), 4)), 'abc…');
  assert.equal(textOfLine(fit(line('日本語'), 4)), '日…');
  assert.equal(textOfLine(fit(line('abc'), 3)), 'abc');
  const lines = ['1', '2', '3', '4'].map((each) => line(each));
  assert.deepEqual(cut(lines, 2).map(textOfLine), ['1', '… 3 more lines']);
  assert.deepEqual(cut(lines, 3, 'last').map(textOfLine), ['… 2 more lines', '3', '4']);
  assert.deepEqual(cut(lines, 4), lines);
});
