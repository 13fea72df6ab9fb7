import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleaned, createCleaner } from './clean-output.ts';

test('colours, titles and cursor movements are dropped', () => {
  assert.equal(
    cleaned('\x1b[31;1mred\x1b[0m \x1b]0;a title\x07\x1b[2Kplain\x1b(B\x1b=!'),
    'red plain!',
  );
  assert.equal(cleaned('\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\'), 'link');
});

test('a line that is written over is kept as it was last', () => {
  assert.equal(cleaned('10 %\r20 %\r100 %\r\ndone\r\n'), '100 %\ndone\n');
  assert.equal(cleaned('abc\b\bxy'), 'axy');
});

test('control characters do not get through, tabs and newlines do', () => {
  assert.equal(cleaned('a\0b\x07c\td\ne\x7f\x9bf'), 'abc\td\nef');
});

test('a sequence that never ends does not swallow the rest', () => {
  const text = cleaned(`\x1b]${'x'.repeat(10_000)}\nafter`);
  assert.ok(text.endsWith('\nafter'));
});

test('a line without an end is passed on in pieces', () => {
  const cleaner = createCleaner();
  let passed = 0;
  for (let chunk = 0; chunk < 100; chunk++) {
    passed += cleaner.write('x'.repeat(1000)).length;
    assert.ok(cleaner.line().length <= 4096);
  }
  assert.equal(passed + cleaner.line().length, 100_000);
});

test('it does not matter where the output is cut into chunks', () => {
  const piece = fc.constantFrom(
    'word',
    '\r',
    '\n',
    '\r\n',
    '\b',
    '\x1b[1m',
    '\x1b]0;t\x07',
    '\x1b',
    '[',
    'é',
    '\x1b]x',
  );
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(12)), (pieces, cuts) => {
      const whole = pieces.join('');
      const cleaner = createCleaner();
      let text = '';
      let at = 0;
      for (const cut of cuts) {
        text += cleaner.write(whole.slice(at, at + cut));
        at += cut;
      }
      text += cleaner.write(whole.slice(at));
      assert.equal(text + cleaner.line(), cleaned(whole));
    }),
  );
});
