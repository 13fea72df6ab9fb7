import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { clean, cleanLine } from '../../display/index.ts';
import { graphemes, widthOf } from './width.ts';

test('wide characters take two columns, marks none', () => {
  assert.equal(widthOf('plain'), 5);
  assert.equal(widthOf('日本'), 4);
  assert.equal(widthOf('e\u0301'), 1);
  assert.equal(widthOf('👩‍👩‍👧'), 2);
  assert.equal(widthOf('✓ ❯ │'), 5);
});

test('graphemes of several code points stay together', () => {
  assert.deepEqual(graphemes('a👩‍👩‍👧e\u0301'), ['a', '👩‍👩‍👧', 'e\u0301']);
});

test('control sequences are removed', () => {
  assert.equal(clean('\u001b[31mred\u001b[0m\u001b]0;title\u0007 \u001b[2Jend'), 'red end');
  assert.equal(clean('a\u0000\u0008b\u0085c'), 'abc');
  assert.equal(clean('rm \u202etxt.exe'), 'rm \ufffdtxt.exe');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(clean(text), /(?!\n)\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
    }),
  );
});

test('only the last state of a progress bar remains', () => {
  assert.equal(clean('10%\r50%\r100%\nnext'), '100%\nnext');
  assert.equal(clean('kept\r\nnext'), 'kept\nnext');
});

test('cleanLine returns one line', () => {
  assert.equal(cleanLine('  two\n\tlines '), 'two lines');
});
