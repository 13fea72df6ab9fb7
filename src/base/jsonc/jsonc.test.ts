import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsoncError, parseJsonc } from './jsonc.ts';

test('all JSON is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (text, indent) => {
      const expected: unknown = JSON.parse(text);
      const printed = JSON.stringify(expected, null, indent);
      if (!printed.includes('"__proto__"')) assert.deepEqual(parseJsonc(printed).value, expected);
    }),
  );
});

test('comments, trailing commas and a byte order mark are allowed', () => {
  const text = `\ufeff// settings
{
  /* of "mine" */ "a": [1, 2, /* three */ ], // , ]
  "url": "http://x/*y*/",
}
// the end`;
  assert.deepEqual(parseJsonc(text).value, { a: [1, 2], url: 'http://x/*y*/' });
});

test('invalid JSON is refused, with the line', () => {
  const wrong: [text: string, line: number, message: RegExp][] = [
    ['', 1, /a value is expected, the file ends/],
    ['{\n  "a" 1\n}', 2, /":" is expected, found "1"/],
    ['{\n\n  a: 1\n}', 3, /keys and strings need double quotes\), found "a"/],
    ['[1\n2]', 2, /"," is expected, found "2"/],
    ['[,]', 1, /a value is expected, found ","/],
    ['{}\n{}', 2, /the end of the file is expected/],
    ['{"a": 1,\n"a": 2}', 2, /the key "a" is used twice/],
    ['{"__proto__": 1}', 1, /not allowed/],
    ['"\\x"', 1, /invalid escape in a string/],
    ['{\n  "a', 2, /a string does not end on its line/],
    ['{ "a": "b\n" }', 1, /a string does not end on its line/],
    ['01', 1, /the end of the file is expected/],
    ['/* open', 1, /a comment does not end/],
    ['['.repeat(1000), 1, /levels deep/],
  ];
  for (const [text, line, message] of wrong) {
    assert.throws(
      () => parseJsonc(text),
      (error: unknown) => {
        assert.ok(error instanceof JsoncError, text);
        assert.match(error.message, message);
        assert.equal(error.line, line, text);
        return true;
      },
    );
  }
});

test('each value has a line; for a value that is absent it is the line of what contains it', () => {
  const json = parseJsonc('{\n  "a": {\n    "b": [true,\n null]\n  }\n}');
  assert.equal(json.lineOf(['a', 'b', 0]), 3);
  assert.equal(json.lineOf(['a', 'b', 1]), 4);
  assert.equal(json.lineOf(['a', 'b', 7]), 3);
  assert.equal(json.lineOf(['a']), 2);
  assert.equal(json.lineOf(['x', 'y']), 1);
});

test('long strings, comments and blanks are read in linear time', () => {
  const long = 'x'.repeat(500_000);
  const text = `/*${long}*/${' '.repeat(500_000)}${'//\n'.repeat(10_000)}"${long}\\n"`;
  assert.equal(parseJsonc(text).value, `${long}\n`);
  assert.throws(() => parseJsonc(`"${long}`), JsoncError);
});
