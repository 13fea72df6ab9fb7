import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileGlob, literalGlob, matchesName } from './glob-pattern.ts';

const CASES: readonly (readonly [
  pattern: string,
  yes: readonly string[],
  no: readonly string[],
])[] = [
  ['*.ts', ['a.ts', 'x/a.ts', '.ts'], ['a.tsx', 'ts']],
  ['src/*.ts', ['src/a.ts'], ['src/x/a.ts', 'a.ts', 'x/src/a.ts']],
  ['src/**/*.ts', ['src/a.ts', 'src/x/y/a.ts'], ['a.ts', 'src/a.js']],
  ['**', ['a', 'a/b'], []],
  ['**/test/**', ['test/a', 'x/test/y/z'], ['test2/a']],
  ['./a?c', ['abc', 'x/abc'], ['ac', 'a/c']],
  ['[a-c]x', ['ax', 'cx'], ['dx']],
  ['[!a-c]x', ['dx'], ['ax']],
  ['{a,b{1,2}}.txt', ['a.txt', 'b1.txt', 'b2.txt'], ['b.txt']],
  ['{a}', ['{a}'], ['a']],
  ['\\*', ['*'], ['a']],
  ['[x', ['[x'], ['x']],
  ['é*', ['école'], ['ecole']],
];
for (const [pattern, yes, no] of CASES) {
  test(`${pattern} matches what it should`, () => {
    const matches = compileGlob(pattern);
    for (const path of yes) assert.equal(matches(path), true, path);
    for (const path of no) assert.equal(matches(path), false, path);
  });
}

test('an anchored pattern is for paths from the root, hidden ones included', () => {
  for (const [pattern, yes, no] of [
    ['*.ts', ['a.ts', '.ts'], ['a.tsx', 'src/a.ts']],
    ['src/**', ['src/a', 'src/a/b', 'src/.hidden', 'src'], ['lib/src/a']],
    ['**/.git/**', ['.git/config', 'a/b/.git/hooks/x', '.git'], ['.gitignore', 'a.git/x']],
    ['**/a/**/b', ['a/b', 'x/a/y/z/b'], ['a', 'b/a']],
  ] as const) {
    const matches = compileGlob(pattern, { anchored: true });
    for (const path of yes) assert.equal(matches(path), true, `${pattern} ${path}`);
    for (const path of no) assert.equal(matches(path), false, `${pattern} ${path}`);
  }
});

test('a path as a pattern is for itself alone', () => {
  const path = fc.string({
    unit: fc.constantFrom(...Array.from('ab*?[]{},\\!-')),
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(path, path, (one, other) => {
      const matches = compileGlob(literalGlob(one), { anchored: true });
      assert.equal(matches(one), true);
      assert.equal(matches(other), one === other);
    }),
    { numRuns: 2000 },
  );
});

test('of a name, only stars and question marks mean more than themselves', () => {
  assert.equal(matchesName('a.b+(c)[d]$*', 'a.b+(c)[d]$ and more'), true);
  assert.equal(matchesName('[::1]', '[::1]'), true);
  assert.equal(matchesName('a.b', 'axb'), false);
});

/** The slow and obvious way. */
function obvious(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  if (pattern[0] === '*') {
    return obvious(pattern.slice(1), name) || (name !== '' && obvious(pattern, name.slice(1)));
  }
  return (
    name !== '' &&
    (pattern[0] === '?' || pattern[0] === name[0]) &&
    obvious(pattern.slice(1), name.slice(1))
  );
}

test('stars and question marks mean what they mean', () => {
  const pattern = fc.string({
    unit: fc.constantFrom('a', 'b', '*', '?'),
    minLength: 1,
    maxLength: 8,
  });
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
  fc.assert(
    fc.property(pattern, name, (pattern, name) => {
      fc.pre(pattern !== '**');
      assert.equal(compileGlob(pattern)(name), obvious(pattern, name));
    }),
    { numRuns: 2000 },
  );
});

test('no pattern keeps the process busy', { timeout: 20_000 }, () => {
  const matches = compileGlob(`${'*a'.repeat(200)}b`);
  assert.equal(matches('a'.repeat(4000)), false);
  assert.equal(matchesName(`${'*a'.repeat(200)}b`, 'a'.repeat(4000)), false);
  assert.equal(compileGlob(`${'**/a/'.repeat(100)}b`)('a/'.repeat(2000)), false);
});
