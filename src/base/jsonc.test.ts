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

test('comments, commas too many and a byte order mark do no harm', () => {
  const text = `\ufeff// settings
{
  /* of "mine" */ "a": [1, 2, /* three */ ], // , ]
  "url": "http://x/*y*/",
}
// the end`;
  assert.deepEqual(parseJsonc(text).value, { a: [1, 2], url: 'http://x/*y*/' });
});

test('what is no JSON is refused, with the line', () => {
  const wrong: [text: string, line: number, message: RegExp][] = [
    ['', 1, /a value is expected, the file ends/],
    ['{\n  "a" 1\n}', 2, /":" is expected after "a", found "1"/],
    ['{\n\n  a: 1\n}', 3, /a key in double quotes is expected, found "a"/],
    ['[1\n2]', 2, /"," or "]" is expected, found "2"/],
    ['[,]', 1, /a value is expected, found ","/],
    ['{}\n{}', 2, /the end is expected/],
    ['{"a": 1,\n"a": 2}', 2, /the key "a" is there twice/],
    ['{"__proto__": 1}', 1, /not allowed/],
    ['"\\x"', 1, /a string that does not end on its line/],
    ['{\n  "a', 2, /a string that does not end on its line/],
    ['{ "a": "b\n" }', 1, /a string that does not end on its line/],
    ['01', 1, /the end is expected/],
    ['/* open', 1, /a value is expected/],
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

test('each value knows where it stands, and what is not there is sought around it', () => {
  const text = '{\n  "a": {\n    "b": [true,\n null]\n  }\n}';
  const json = parseJsonc(text);
  const at = (...path: PropertyKey[]) => {
    const { start, end } = json.spanOf(path);
    return [json.lineAt(start), text.slice(start, end)];
  };
  assert.deepEqual(at('a', 'b', 0), [3, 'true']);
  assert.deepEqual(at('a', 'b', 1), [4, 'null']);
  assert.deepEqual(at('a', 'b', 7), [3, '[true,\n null]']);
  assert.deepEqual(at('x', 'y'), [1, text]);
});

test('long strings, comments and blanks are read in a straight line', () => {
  const long = 'x'.repeat(500_000);
  const text = `/*${long}*/${' '.repeat(500_000)}${'//\n'.repeat(10_000)}"${long}\\n"`;
  assert.equal(parseJsonc(text).value, `${long}\n`);
  assert.throws(() => parseJsonc(`"${long}`), JsoncError);
});
