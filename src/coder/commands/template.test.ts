import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { FileError } from '../files/file-error.ts';
import { checkTemplate, fillTemplate } from './template.ts';

function isSafe(body: string): boolean {
  try {
    checkTemplate('x.md', body);
    return true;
  } catch (error) {
    assert.ok(error instanceof FileError);
    return false;
  }
}

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

const ACCEPTED = [
  'printf %s {{args}}',
  'printf "%s" "a b" \'c\' "${x}" $x $$ | cat - ; printf %s $ARGUMENTS',
  'printf %s --grep={{args}}',
  'printf %s "a "{{args}}\' b\'',
  "printf %s $'it\\'s' {{args}}",
  'x=$(printf %s {{args}}); printf %s "$x"',
  '[ -n {{args}} ] && echo [a-z] && printf %s {{args}}',
  "true # it's\nprintf %s {{args}} # it's",
  'printf %s \\\n  {{args}}',
  'cat <<< {{args}}',
];
const REFUSED = [
  'grep "{{args}}" .',
  "grep '{{args}}' .",
  'git log --grep="fix: $ARGUMENTS"',
  "grep $'a{{args}}' .",
  'echo ${{args}}',
  'echo $$ARGUMENTS',
  'echo \\{{args}}',
  'echo `cat {{args}}`',
  'echo ${x:-{{args}}}',
  'echo $(( {{args}} ))',
  '(( {{args}} ))',
  'echo $[ {{args}} ]',
  'a[{{args}}]=1',
  'a=([{{args}}]=1)',
  '[[ {{args}} -eq 1 ]]',
  'true # {{args}}',
  'cat <<EOF\n{{args}}\nEOF',
  'echo "$(grep "{{args}}" .)"',
  'echo "a" {{args}} "{{args}}"',
  'cat <\\\n<EOF\n{{args}}\nEOF',
  "echo $(date)#'\n{{args}}'",
];

test('a placeholder is refused where bash would not read the arguments as one word', () => {
  for (const line of REFUSED) assert.ok(!isSafe(`Do !{${line}}`), line);
  assert.ok(isSafe('In the text, "{{args}}" is safe. !{grep "x" .}'));
  assert.throws(
    () => checkTemplate('x.md', '!{grep\n "{{ args }}" .}'),
    /^FileError: x\.md has \{\{ args \}\} in !\{grep "\{\{ args \}\}" \.\} where .*: write it outside of quotes, as in /,
  );
});

/** Arguments that run `touch run` if they get out of their quotes. */
const HOSTILE = [
  '$(touch run)',
  '`touch run`',
  '; touch run ;',
  "'; touch run; '",
  "\\'; touch run #",
  '"; touch run; "',
  'x\ntouch run\n',
  'a[$(touch run)]',
  '}; touch run #',
  'EOF\ntouch run\n',
];

test('a placeholder is accepted outside of quotes, and the arguments are one word there', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-template-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const line of ACCEPTED) {
    assert.ok(isSafe(`Do !{${line}}`), line);
    for (const typed of HOSTILE) {
      const [filled = ''] = fillTemplate(`!{${line}}`, typed).shell;
      const output = execFileSync('bash', ['-c', filled], { cwd: folder, encoding: 'utf8' });
      assert.ok(output.includes(typed.trimEnd()), filled);
      assert.ok(!existsSync(join(folder, 'run')), filled);
    }
  }
});

const PIECES = [
  [
    '{{args}}',
    '{{args}}',
    ' ',
    '\n',
    'echo',
    ' a',
    "'",
    '"',
    '$',
    '\\',
    '`',
    '#',
    '(',
    ')',
    '[',
    ']',
  ],
  ['$(', '$((', '))', '${x', ':-', '}', '<<', '<', 'EOF', 'a[', '=', ';', '\\\n', "$'"],
].flat();

test('arguments never run a command, wherever an accepted template has its placeholder', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-template-'));
  t.after(() => rmSync(folder, { recursive: true }));
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...PIECES), { maxLength: 9 }),
      fc.constantFrom(...HOSTILE),
      (before, typed) => {
        const line = `${before.join('')}{{args}}`;
        const body = `!{${line}}`;
        fc.pre(isSafe(body));
        for (const filled of fillTemplate(body, typed).shell) {
          rmSync(join(folder, 'run'), { force: true });
          spawnSync('bash', ['-c', filled], { cwd: folder, stdio: 'ignore', timeout: 10_000 });
          assert.ok(!existsSync(join(folder, 'run')), filled);
        }
      },
    ),
    { numRuns: 300 },
  );
});
