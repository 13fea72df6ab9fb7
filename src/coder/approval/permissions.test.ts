/** What a permission of "Always allow" changes, and what it never changes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalMode, PolicyRule } from './rule.ts';
import type { Preview } from '../tools/tool.ts';
import {
  FETCH,
  MCP,
  ROOT,
  SHELL,
  WRITE,
  editOf,
  rule,
  shellRule,
  tool,
  verdict,
} from '../../../test/support/policy.ts';
import { addGrants, grantsIn, removeGrants } from './grants.ts';

const writing = (
  file: string,
  rules: readonly PolicyRule[],
  grants: readonly PolicyRule[],
  mode: ApprovalMode = 'ask',
): string =>
  verdict(rules, WRITE, { path: file }, { grants, mode, preview: editOf(file) }).decision;

const running = (
  command: string,
  rules: readonly PolicyRule[],
  grants: readonly PolicyRule[],
): string => verdict(rules, SHELL, { command }, { grants }).decision;

/** The same permission as it is saved in the settings, after the rules that people wrote. */
const saved = (rules: readonly PolicyRule[], grant: PolicyRule): PolicyRule[] => [
  ...rules,
  { ...grant, workspace: ROOT },
];

test('a permission of a session or of the settings never weakens a rule that denies', () => {
  const files = [rule('deny', 'write_file', 'secrets/**')];
  const commands = [shellRule('deny', 'git commit --no-verify')];
  for (const grant of [rule('allow', 'write_file'), rule('allow', 'write_file', 'secrets/a')]) {
    assert.equal(writing('secrets/a', files, [grant]), 'deny');
    assert.equal(writing('secrets/a', saved(files, grant), []), 'deny');
  }
  const commit = shellRule('allow', 'git commit');
  for (const [rules, grants] of [
    [commands, [commit]],
    [saved(commands, commit), []],
  ] as const) {
    assert.equal(running('git commit -m x', rules, grants), 'allow');
    assert.equal(running('git commit --no-verify', rules, grants), 'deny');
    // The command may be the one that the rule denies.
    assert.equal(running('git commit -m $X', rules, grants), 'ask');
  }
});

test('a permission for a tool keeps the questions about .git and .parley, and those of narrower rules', () => {
  const rules = [rule('ask', 'write_file', 'config/**'), shellRule('ask', 'git commit --amend')];
  const grant = rule('allow', 'write_file');
  for (const [settings, grants] of [
    [rules, [grant]],
    [saved(rules, grant), []],
  ] as const) {
    assert.equal(writing('src/a.ts', settings, grants), 'allow');
    for (const file of ['.parley/commands/a.md', 'sub/.git/config', 'config/a.json']) {
      assert.equal(writing(file, settings, grants), 'ask', file);
    }
  }
  const commit = [shellRule('allow', 'git commit')];
  assert.equal(running('git commit -m x', rules, commit), 'allow');
  assert.equal(running('git commit --amend', rules, commit), 'ask');
  assert.equal(running('git commit -m x', [shellRule('ask', 'git * -m')], commit), 'ask');
});

test('a permission ends the question of a rule that matches everything the permission allows', () => {
  const exact = rule('allow', 'write_file', '.parley/commands/a.md');
  assert.equal(writing('.parley/commands/a.md', [], [exact]), 'allow');
  assert.equal(writing('.parley/commands/b.md', [], [exact]), 'ask');
  assert.equal(writing('a', [rule('ask', '*')], [rule('allow', 'write_file')]), 'allow');
  const test = [shellRule('allow', 'npm test')];
  for (const asks of [shellRule('ask'), shellRule('ask', 'npm'), shellRule('ask', 'npm test')]) {
    assert.equal(running('npm test --silent', [asks], test), 'allow');
  }
  assert.equal(running('npm test -s', [shellRule('ask', 'npm test * $')], test), 'ask');
  const push = [shellRule('allow', 'git push origin main $')];
  assert.equal(running('git push origin main', [shellRule('ask', 'git push')], push), 'allow');
  assert.equal(running('git push origin main -f', [shellRule('ask', 'git push')], push), 'ask');
  const hosts = [rule('ask', 'fetch_url', '*.example.com')];
  const fetching = (host: string, grants: readonly PolicyRule[]): string =>
    verdict(hosts, FETCH, { url: `https://${host}/` }, { grants }).decision;
  assert.equal(fetching('a.example.com', [rule('allow', 'fetch_url', 'a.example.com')]), 'allow');
  assert.equal(fetching('a.example.com', [rule('allow', 'fetch_url')]), 'ask');
});

test('a permission for the tools of a server keeps the question about one of them', () => {
  const all = [rule('allow', 'github__*')];
  const preview: Preview = { kind: 'mcp', server: 'github', tool: 'search' };
  const calling = (asks: readonly PolicyRule[], grants = all): string =>
    verdict(asks, MCP, {}, { preview, grants }).decision;
  assert.equal(calling([]), 'allow');
  assert.equal(calling([rule('ask', 'github__search')]), 'ask');
  assert.equal(calling([rule('ask', '*__search')]), 'ask');
  assert.equal(calling([rule('ask', 'github__?????*')]), 'ask');
  for (const asks of [rule('ask', 'github__*'), rule('ask', 'git*'), rule('ask', '*')]) {
    assert.equal(calling([asks]), 'allow', asks.tool);
  }
  const one = [rule('allow', 'github__search')];
  assert.equal(calling([rule('ask', 'github__search')], one), 'allow');
  assert.equal(calling([rule('ask', '*__search')], one), 'allow');
});

test('a line that writes to a file is asked about, whatever its commands are allowed', () => {
  const grants = [shellRule('allow', 'git log')];
  for (const rules of [[], [shellRule('ask')], [shellRule('ask', 'git')]]) {
    assert.equal(running('git log', rules, grants), 'allow');
    assert.equal(running('git log > out', rules, grants), 'ask');
    assert.equal(running('git log; f() { x; }', rules, grants), 'ask');
  }
});

test('a rule that a person wrote still overrides earlier rules and the questions of the mode', () => {
  const rules = [
    rule('deny', 'write_file', 'docs/**'),
    rule('allow', 'write_file', 'docs/a.md'),
    rule('allow', 'write_file', '.parley/commands/**'),
  ];
  assert.equal(writing('docs/a.md', rules, []), 'allow');
  assert.equal(writing('docs/b.md', rules, []), 'deny');
  assert.equal(writing('.parley/commands/a.md', rules, []), 'allow');
});

test('permissions that an earlier version stored in a session are ignored: some of them were saved too', () => {
  const stored = new Map<string, unknown>([['coder.grants', [shellRule('allow', 'npm test')]]]);
  const state = {
    get: (key: string) => JSON.parse(JSON.stringify(stored.get(key) ?? null)) ?? undefined,
    set: (key: string, value: unknown) => void stored.set(key, value),
  };
  assert.deepEqual(grantsIn(state), []);
  addGrants(state, [shellRule('allow', 'npm run build')]);
  assert.deepEqual(grantsIn(state), [shellRule('allow', 'npm run build')]);
  assert.deepEqual(removeGrants(state, '000000'), []);
});

test('a permission for edits does not allow reading', () => {
  const edit = tool('edit', 'edit');
  const rules = [rule('ask', 'read_file', 'secrets/**')];
  for (const grant of [rule('allow', 'edit'), rule('allow', 'edit', 'secrets/a')]) {
    const { decision } = verdict(rules, edit, { path: 'secrets/a' }, { grants: [grant] });
    assert.equal(decision, 'ask');
  }
});

test('a permission for a command does not count if its input may be other code', () => {
  const python = shellRule('allow', 'python3 - $');
  const grants = [python, shellRule('allow', 'cat x $'), shellRule('allow', 'tail -5 $')];
  for (const line of [
    'python3 -',
    'python3 - < /dev/null',
    'python3 - 2>&1 | tail -5',
    'cat x | tail -5; python3 -',
    '(cat x | tail -5) && python3 -',
  ]) {
    assert.equal(running(line, [], grants), 'allow', line);
    assert.equal(running(line, [shellRule('ask', 'python3')], grants), 'allow', line);
  }
  for (const line of [
    'python3 - < x.py',
    'python3 - <<E\nprint(1)\nE\n',
    'python3 - <<< "print(1)"',
    'python3 - < <(cat x)',
    'exec < x.py; python3 -',
    'cat x | python3 -',
    'cat x |& python3 -',
    'cat x |\npython3 -',
    'cat x | (tail -5; python3 -)',
    'cat x | { tail -5; python3 -; }',
    'cat x | while python3 -; do python3 -; done',
    'cat x | if python3 -; then cat x; fi',
    'cat x | ! python3 -',
    'cat x | time python3 -',
    "cat x | bash -c 'tail -5; python3 -'",
    'cat x | tail -5 $(python3 -)',
    'cat x > >(python3 -)',
  ]) {
    assert.equal(running(line, [], grants), 'ask', line);
    assert.equal(running(line, saved([], python), grants), 'ask', line);
    // A permission for all commands, and a rule that a person wrote, still count.
    if (/<|\n/.test(line)) continue;
    assert.equal(running(line, [], [shellRule('allow')]), 'allow', line);
  }
  assert.equal(running('cat x | python3 -', [shellRule('allow', 'python3')], grants), 'allow');
});

test('a permission for a filter counts after a pipe, unless its options write, run or read other files', () => {
  const allowed = (line: string): string => {
    const [, filter] = line.split(' | ');
    return running(line, [], [shellRule('allow', 'cat x $'), shellRule('allow', `${filter} $`)]);
  };
  for (const filter of [
    'sort',
    'sort -rn -k 2',
    'uniq -c',
    "cut -d: -f1 --output-delimiter=' '",
    "tr -d '\\n'",
    'nl -ba',
    'tac',
    'rev',
    'column -t -s ,',
    'fold -sw 80',
    'comm -12 - a.txt',
    'paste -sd, -',
    'jq -r .name',
    'rg -n --no-config error',
    'egrep -v "a|b"',
    'fgrep -c x',
  ]) {
    assert.equal(allowed(`cat x | ${filter}`), 'allow', filter);
    assert.equal(running(`cat x | ${filter}`, [], [shellRule('allow', 'cat x $')]), 'ask', filter);
  }
  for (const filter of [
    'sort -o x',
    'sort -ro x',
    'sort a -o x',
    'sort --output=x',
    'sort --outp=x',
    'sort --compress-program=./x',
    'sort --files0-from=-',
    'sort /dev/stdin',
    'uniq - x',
    'uniq -c -- - x',
    'jq -f -',
    'jq --from-file=-',
    'jq -rf x',
    'rg --pre ./x a',
    'rg --pre=./x a',
    'rg --hostname-bin=./x a',
    'rg -f - a',
    'egrep -f /dev/stdin',
    'egrep --file=- a',
    'comm - /proc/self/fd/0',
    'comm - ../../proc/self/fd/0',
    './sort',
    'sed -n 1p',
    'awk 1',
    'xargs echo',
    'perl -ne 1',
    'tee x',
  ]) {
    assert.equal(allowed(`cat x | ${filter}`), 'ask', filter);
  }
  assert.equal(running('cat x | A=1 sort', [], [shellRule('allow', 'cat x $')]), 'ask');
});

test('a permission for a command does not count in another folder', () => {
  const grants = [
    './build.sh',
    'cd vendor',
    'pushd vendor',
    'env',
    `cd ${ROOT}`,
    `cd ${ROOT}/`,
  ].map((words) => shellRule('allow', `${words} $`));
  // The line is asked about only because of the folder: rules allow the other commands.
  const rules = ['cd', 'pushd', 'popd', 'env', 'genv', 'sudo', 'find', 'gfind', 'bash'].map(
    (name) => shellRule('allow', name),
  );
  for (const line of [
    './build.sh',
    `cd ${ROOT} && ./build.sh`,
    `cd ${ROOT}/ && ./build.sh`,
    'env ./build.sh',
    "find . -exec ./build.sh ';'",
  ]) {
    assert.equal(running(line, rules, grants), 'allow', line);
  }
  for (const line of [
    'cd vendor && ./build.sh',
    'cd; ./build.sh',
    `cd ${ROOT} vendor; ./build.sh`,
    `cd ${ROOT}/vendor; ./build.sh`,
    `cd ${ROOT}/.. && ./build.sh`,
    `cd "$X" && ./build.sh`,
    'pushd vendor; ./build.sh',
    'popd; ./build.sh',
    "bash -c 'cd vendor && ./build.sh'",
    'env -C vendor ./build.sh',
    'genv --chdir=vendor ./build.sh',
    'sudo -nD vendor ./build.sh',
    "find . -execdir ./build.sh ';'",
    "gfind . -okdir ./build.sh ';'",
  ]) {
    assert.equal(running(line, rules, grants), 'ask', line);
    assert.equal(running(line, [...rules, shellRule('allow', './build.sh')], []), 'allow', line);
  }
});

test('in another folder, a rule with a pattern does not allow to read a file with a redirection', () => {
  const rules = [shellRule('allow', 'cd'), shellRule('allow', 'cat')];
  assert.equal(running('cat < passwd', rules, []), 'allow');
  assert.equal(running('cd /etc && cat < passwd', rules, []), 'ask');
});

test('one invalid permission of a session does not affect the others', () => {
  const stored = [{ tool: 'a', decision: 'perhaps' }, shellRule('allow', 'npm test')];
  const state = { get: () => stored };
  assert.deepEqual(grantsIn(state), [shellRule('allow', 'npm test')]);
});
