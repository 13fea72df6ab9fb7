import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { printableJson, reveal } from './reveal.ts';

test('control characters, escape sequences and invisible characters are made visible', () => {
  const cases = {
    'rm a\rls': 'rm a␍ls',
    '\u001b[2Jhi\u0007\u007f\u009b': '␛[2Jhi␇␡<U+009B>',
    'a\u202eb\u2066c\u200bd\ufeff': 'a<U+202E>b<U+2066>c<U+200B>d<U+FEFF>',
    'x\u{e0041}\u{e0100}\u3164\u00ad\u2028': 'x<U+E0041><U+E0100><U+3164><U+00AD><U+2028>',
    '\ud800': '<U+D800>',
    'two\n\tlines, naïve 漢字 ❤️': 'two\n\tlines, naïve 漢字 ❤️',
  };
  for (const [text, shown] of Object.entries(cases)) assert.equal(reveal(text), shown);
});

test('no control character is left, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(reveal(text), /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/u);
    }),
  );
});

test('printable JSON has the same value, and no character that a terminal acts on', () => {
  assert.equal(printableJson('"\u009b31m\u202ea\u{e0041}"'), '"\\u009b31m\\u202ea\\udb40\\udc41"');
  assert.equal(printableJson('"\u{e0100}\u3164\u2800 ❤️"'), '"\\udb40\\udd00\\u3164\\u2800 ❤️"');
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.nat(2), (value, indent) => {
      const json = JSON.stringify(value, null, indent);
      const printed = printableJson(json);
      assert.doesNotMatch(printed, /(?!\n)[\p{Cc}\p{Cf}]/u);
      assert.deepEqual(JSON.parse(printed), JSON.parse(json));
    }),
  );
});
