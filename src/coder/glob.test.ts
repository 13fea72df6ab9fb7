import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesName, matchesPath } from './glob.ts';

test('a star stays within a segment, two stars cross them', () => {
  for (const [pattern, yes, no] of [
    ['*.ts', ['a.ts', '.ts'], ['a.tsx', 'src/a.ts']],
    ['src/*', ['src/a'], ['src', 'src/a/b']],
    ['src/**', ['src/a', 'src/a/b', 'src/.hidden', 'src'], ['lib/src/a']],
    ['**/.git/**', ['.git/config', 'a/b/.git/hooks/x', '.git'], ['.gitignore', 'a.git/x']],
    ['**/*.{ts,tsx}', ['a.ts', 'b/c.tsx'], ['a.js']],
    ['a?c', ['abc', 'a.c'], ['ac', 'a/c']],
    ['**/a/**/b', ['a/b', 'x/a/y/z/b'], ['a', 'b/a']],
  ] as const) {
    for (const path of yes) assert.equal(matchesPath(pattern, path), true, `${pattern} ${path}`);
    for (const path of no) assert.equal(matchesPath(pattern, path), false, `${pattern} ${path}`);
  }
});

test('characters that mean something elsewhere are themselves', () => {
  assert.equal(matchesName('a.b+(c)[d]$', 'a.b+(c)[d]$'), true);
  assert.equal(matchesName('a.b', 'axb'), false);
});

test('a pattern made of stars takes no time', () => {
  const began = performance.now();
  assert.equal(matchesName(`${'*a'.repeat(200)}b`, 'a'.repeat(5000)), false);
  assert.equal(matchesPath('{a,b}'.repeat(50), 'a'), false);
  assert.ok(performance.now() - began < 1000);
});
