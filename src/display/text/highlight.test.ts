import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { highlight } from './highlight.ts';
import { textOfLine } from './spans.ts';

function tones(code: string, language: string) {
  return highlight(code, language).map((line) =>
    line.filter(({ tone }) => tone !== undefined).map(({ text, tone }) => `${tone}:${text}`),
  );
}

test('keywords, strings, numbers, comments, calls and types are distinguished', () => {
  assert.deepEqual(tones("const a = f('x', 0x1F); // y\nnew Map()", 'ts'), [
    ['keyword:const', 'call:f', "string:'x'", 'number:0x1F', 'comment:// y'],
    ['keyword:new', 'call:Map'],
  ]);
  assert.deepEqual(tones('def f(x): # no\n  return """a\nb"""', 'python'), [
    ['keyword:def', 'call:f', 'comment:# no'],
    ['keyword:return', 'string:"""a'],
    ['string:b"""'],
  ]);
  assert.deepEqual(tones('select * FROM t', 'sql'), [['keyword:select', 'keyword:FROM']]);
  assert.deepEqual(tones("fn f<'a>(x: &'a str)", 'rust'), [['keyword:fn']]);
});

test('a hash inside a word does not start a comment', () => {
  assert.deepEqual(tones('echo a#b $# # c', 'sh'), [['keyword:echo', 'comment:# c']]);
});

test('a patch has its own colours', () => {
  assert.deepEqual(tones('@@ -1 +1 @@\n-a\n+b\n c', 'diff'), [
    ['accent:@@ -1 +1 @@'],
    ['removed:-a'],
    ['added:+b'],
    [],
  ]);
});

test('no character is changed, dropped or added, in any language', () => {
  const languages = ['ts', 'python', 'sh', 'rust', 'go', 'sql', 'json', 'html', 'css', 'yaml', 'x'];
  fc.assert(
    fc.property(
      fc.constantFrom(...languages),
      fc.array(
        fc.constantFrom(
          '"',
          "'",
          '`',
          '#',
          '//',
          '/*',
          '*/',
          '\n',
          'if',
          ' ',
          '1.5',
          '\\',
          '<!--',
          'é',
        ),
      ),
      (language, parts) => {
        const code = parts.join('');
        assert.equal(highlight(code, language).map(textOfLine).join('\n'), code);
      },
    ),
  );
});
