import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { fillTemplate } from './template.ts';

test('commands are taken out of the text, once each, and named in it', () => {
  const { text, shell } = fillTemplate(
    'Look: !{git diff} and !{ git log | head } or !{git diff}',
    '',
  );
  assert.deepEqual(shell, ['git diff', 'git log | head']);
  assert.match(text, /^Look: \(see the result of `git diff`\) and \(see the result of `git log/);
});

test('a command may have braces in pairs; what is not closed, or empty, is none', () => {
  assert.deepEqual(fillTemplate("!{awk '{print $1}' a}", '').shell, ["awk '{print $1}' a"]);
  assert.deepEqual(fillTemplate('!{git diff', ''), { text: '!{git diff', shell: [] });
  assert.deepEqual(fillTemplate('a !{ } b', ''), { text: 'a  b', shell: [] });
});

test('what is typed runs nothing of its own', () => {
  assert.deepEqual(fillTemplate('Do it', '!{rm x}').shell, []);
  assert.deepEqual(fillTemplate('Do {{args}}', '!{rm x}').shell, []);
  assert.deepEqual(fillTemplate('!{git show {{args}}}', '').shell, ['git show']);
});

test('what is typed is one word of a command', () => {
  const typed = fc.string({ minLength: 1 }).filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(typed, (text) => {
      const [line = ''] = fillTemplate('!{printf %s {{args}}}', text).shell;
      assert.equal(execFileSync('bash', ['-c', line], { encoding: 'utf8' }), text);
    }),
    { numRuns: 50, examples: [["a'; touch b; '"], ['$(touch b)'], ['`x`'], ['a\nb'], ['}']] },
  );
});
