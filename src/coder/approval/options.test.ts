/** What a person can choose when a call needs approval, and what the choice allows. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { JsonObject } from '../../base/index.ts';
import {
  ROOT,
  SHELL,
  WRITE,
  FETCH,
  MEMORY,
  MCP,
  rule,
  editOf,
  verdict,
  shell,
} from '../../../test/support/policy.ts';
import type { Preview } from '../tools/tool.ts';
import { grantFrom, optionsFor, type CallToApprove } from './options.ts';
import type { Subject } from './policy.ts';

function asked(subject: Subject, args: JsonObject, preview: Preview, root = ROOT): CallToApprove {
  return { tool: subject, args, preview, root };
}

function askedShell(command: string, root = ROOT): CallToApprove {
  return asked(SHELL, { command }, { kind: 'execute', command, workingDirectory: root }, root);
}

/** A workspace whose package.json has these scripts. */
function withScripts(t: TestContext, ...names: string[]): string {
  const root = mkdtempSync(path.join(tmpdir(), 'parley-options-'));
  t.after(() => rmSync(root, { recursive: true }));
  const scripts = Object.fromEntries(names.map((name) => [name, 'true']));
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ scripts }));
  return root;
}

function ids(call: CallToApprove): string[] {
  return optionsFor(call).map(({ id }) => id);
}

test('the options fit the tool', () => {
  assert.deepEqual(ids(askedShell('rm x')), [
    'proceed_once',
    'proceed_always',
    'proceed_always_and_save',
    'cancel',
  ]);
  assert.deepEqual(ids(askedShell('npm test')), [
    'proceed_once',
    'proceed_always',
    'proceed_always_prefix',
    'proceed_always_and_save',
    'proceed_always_prefix_and_save',
    'cancel',
  ]);
  assert.deepEqual(ids(asked(WRITE, { path: 'a' }, editOf('a'))), [
    'proceed_once',
    'proceed_always',
    'proceed_always_tool',
    'proceed_always_and_save',
    'modify',
    'cancel',
  ]);
  assert.ok(!ids(asked(WRITE, {}, editOf('a', 'b'))).includes('modify'));
  assert.deepEqual(ids(asked(MCP, {}, { kind: 'mcp', server: 'github', tool: 'search' })), [
    'proceed_once',
    'proceed_always_tool',
    'proceed_always_server',
    'proceed_always_and_save',
    'cancel',
  ]);
  const generic: Preview = { kind: 'generic', description: 'x' };
  assert.deepEqual(ids(asked(MEMORY, { text: 'x' }, generic)), [
    'proceed_once',
    'proceed_always_tool',
    'cancel',
  ]);
});

test('a line that a rule could not tell from others is only allowed once', () => {
  for (const line of [
    'ls > x',
    'X=1 ls',
    'ls $X',
    'ls $(pwd)',
    'f() { ls; }',
    '$X',
    '',
    'ls *.ts',
    'sudo fi',
    'time do < x case',
    'sort < x',
    'python3 - <<E\nprint(1)\nE',
    'python3 - <<< x',
    'git log | python3 -',
    'cd vendor && npm test',
    'env -C vendor npm test',
  ]) {
    assert.deepEqual(ids(askedShell(line)), ['proceed_once', 'cancel'], line);
    assert.deepEqual(grantFrom('proceed_always', askedShell(line)), [], line);
  }
});

test('what was allowed for good is allowed the next time, and no more than that', () => {
  const line = "npm test -- 'a b' && git diff --stat";
  const grants = grantFrom('proceed_always', askedShell(line));
  assert.deepEqual(
    grants.map(({ pattern }) => pattern),
    ["npm test -- 'a b' $", 'git diff --stat $'],
  );
  assert.equal(shell(grants, line), 'allow');
  assert.equal(shell(grants, 'git diff --stat'), 'allow');
  for (const other of [
    'npm test',
    "npm test -- 'a b' c",
    'git diff',
    'git diff --stat x',
    `${line}; rm x`,
  ]) {
    assert.equal(shell(grants, other), 'ask', other);
  }
});

test('a grant covers its own command, whatever the words are', () => {
  const word = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constantFrom("'", '$', '*', '$', "it's", '{a,b}', '-'),
  );
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
      const line = ['echo', ...words.map((one) => `'${one.replaceAll("'", "'\\''")}'`)].join(' ');
      const grants = grantFrom('proceed_always', askedShell(line));
      // Control characters are not understood, and then there is no grant.
      if (grants.length === 0) return;
      assert.equal(shell(grants, line), 'allow');
      assert.equal(shell(grants, `${line} more`), 'ask');
    }),
  );
});

test('other grants are about the file, the tool, the host, the server', () => {
  const edit = asked(WRITE, { path: 'src/a.ts' }, editOf('src/a.ts'));
  assert.deepEqual(grantFrom('proceed_always', edit), [rule('allow', 'write_file', 'src/a.ts')]);
  assert.deepEqual(grantFrom('proceed_always_tool', edit), [rule('allow', 'write_file')]);
  const strange = asked(WRITE, { path: 'src/[*]' }, editOf('src/[*]'));
  const rules = grantFrom('proceed_always', strange);
  assert.equal(verdict(rules, WRITE, { path: 'src/[*]' }).decision, 'allow');
  assert.equal(verdict(rules, WRITE, { path: 'src/*' }).decision, 'ask');
  assert.match(JSON.stringify(optionsFor(strange)), /Always allow src\/\[\*\] in this session/);
  const fetched = asked(
    FETCH,
    { url: 'https://Example.com/x' },
    { kind: 'generic', description: '' },
  );
  assert.deepEqual(grantFrom('proceed_always_and_save', fetched), [
    rule('allow', 'fetch_url', 'example.com'),
  ]);
  const mcp = asked(MCP, {}, { kind: 'mcp', server: 'github', tool: 'search' });
  assert.deepEqual(grantFrom('proceed_always', mcp), [rule('allow', 'github__search')]);
  assert.deepEqual(grantFrom('proceed_always_server', mcp), [rule('allow', 'github__*')]);
  for (const id of ['proceed_once', 'modify', 'cancel', 'nonsense']) {
    assert.deepEqual(grantFrom(id, mcp), []);
  }
  assert.deepEqual(grantFrom('proceed_always_tool', askedShell('ls')), []);
});

test('a tool of a server whose shortened name has lost its __ is allowed by its full name', () => {
  const server = 'a'.repeat(60);
  const shortened = (fullName: string): Subject => ({
    ...MCP,
    name: `${'a'.repeat(55)}_0123abcd`,
    fullName,
  });
  const search = shortened(`${server}__search`);
  const preview: Preview = { kind: 'mcp', server, tool: 'search' };
  const mcp = asked(search, {}, preview);
  assert.ok(ids(mcp).includes('proceed_always_tool'));
  for (const id of ['proceed_always', 'proceed_always_tool', 'proceed_always_and_save']) {
    const grants = grantFrom(id, mcp);
    assert.deepEqual(grants, [rule('allow', `${server}__search`)], id);
    assert.equal(verdict([], search, {}, { preview, grants }).decision, 'allow');
    const other = shortened(`${server}__delete`);
    assert.equal(verdict([], other, {}, { preview, grants }).decision, 'ask');
  }
  for (const fullName of [`${server}__x__search`, `${server}___search`, `${server}__*`]) {
    const unclear = asked(shortened(fullName), {}, preview);
    assert.deepEqual(ids(unclear), ['proceed_once', 'proceed_always_server', 'cancel'], fullName);
  }
});

test('a name that matches others as a pattern cannot be allowed for good', () => {
  const generic: Preview = { kind: 'generic', description: '' };
  for (const url of ['https://*/', 'https://*.com/x', 'https://*.', 'https://%2A.example/']) {
    const fetched = asked(FETCH, { url }, generic);
    assert.deepEqual(ids(fetched), ['proceed_once', 'proceed_always_tool', 'cancel'], url);
    for (const id of ['proceed_always', 'proceed_always_and_save']) {
      assert.deepEqual(grantFrom(id, fetched), [], url);
    }
  }
  for (const server of ['*', 'git*', 'gith?b']) {
    const strange = { ...MCP, name: `${server}__search` };
    const mcp = asked(strange, {}, { kind: 'mcp', server, tool: 'search' });
    assert.deepEqual(grantFrom('proceed_always_server', mcp), [], server);
    assert.deepEqual(grantFrom('proceed_always_and_save', mcp), [], server);
    assert.deepEqual(ids(mcp), ['proceed_once', 'cancel'], server);
  }
});

test('an option that would add an invalid rule is not offered', () => {
  const generic: Preview = { kind: 'generic', description: '' };
  const long = askedShell(`echo ${'x'.repeat(4096)}`);
  assert.deepEqual(ids(long), ['proceed_once', 'cancel']);
  assert.deepEqual(grantFrom('proceed_always_and_save', long), []);
  const outside = asked(WRITE, { path: '../a' }, editOf('../a'));
  assert.deepEqual(ids(outside), ['proceed_once', 'proceed_always_tool', 'modify', 'cancel']);
  for (const url of ['https://.example.com/', 'https://a..example.com/']) {
    const fetched = asked(FETCH, { url }, generic);
    assert.deepEqual(ids(fetched), ['proceed_once', 'proceed_always_tool', 'cancel'], url);
    assert.deepEqual(grantFrom('proceed_always_and_save', fetched), [], url);
  }
});

test('a few commands can be allowed with any further words, and the option shows which', (t) => {
  const root = withScripts(t, 'lint:fix');
  const optionNames = (line: string) =>
    optionsFor(askedShell(line, root))
      .filter(({ id }) => id.includes('prefix'))
      .map(({ id, name }) => `${id}: ${name}`);
  assert.deepEqual(optionNames('npm test'), [
    'proceed_always_prefix: Always allow "npm test" with any further words in this session',
    'proceed_always_prefix_and_save: Always allow "npm test" with any further words, also in later sessions',
  ]);
  assert.match(
    optionNames('npm run lint:fix -- src 2>&1 | tail -5')[0]!,
    /Always allow "npm run lint:fix" with any further words and "tail -5" in this session/,
  );
  assert.match(optionNames('git diff --stat')[0]!, /"git diff" with any further words/);
  assert.match(optionNames('vitest run a')[0]!, /"vitest run" with any further words/);
});

test('the name of a program is not allowed in place of a script of package.json', (t) => {
  const root = withScripts(t, 'build', 'constructor');
  for (const program of ['npm run', 'npm run-script', 'pnpm run', 'yarn run']) {
    assert.ok(ids(askedShell(`${program} build`, root)).includes('proceed_always_prefix'));
    assert.ok(ids(askedShell(`${program} constructor`, root)).includes('proceed_always_prefix'));
    for (const name of ['concurrently', 'cross-env', 'jiti', 'vite-node', 'node', 'toString']) {
      const call = askedShell(`${program} ${name} x`, root);
      assert.deepEqual(grantFrom('proceed_always_prefix', call), [], name);
      assert.ok(!ids(call).includes('proceed_always_prefix'), name);
    }
    assert.ok(!ids(askedShell(`${program} build`)).includes('proceed_always_prefix'));
  }
});

test('a prefix allows its words with any further words, and nothing else', () => {
  const grants = grantFrom('proceed_always_prefix', askedShell('npm test -- a | tail -5'));
  assert.deepEqual(
    grants.map(({ pattern }) => pattern),
    ['npm test', 'tail -5 $'],
  );
  assert.deepEqual(
    grantFrom('proceed_always_prefix_and_save', askedShell('npm test -- a | tail -5')),
    grants,
  );
  for (const line of ['npm test', 'npm test -- --watch', 'npm test 2>&1 | tail -5']) {
    assert.equal(shell(grants, line), 'allow', line);
  }
  for (const line of [
    'npm run test',
    'npm',
    'npm testing',
    'npm --prefix x test',
    'X=1 npm test',
    './npm test',
    'npm test > log',
    'npm test; rm x',
    'npm test $(rm x)',
    'npm test | tail -6',
    'npm test | sh',
    'tail -5 a',
  ]) {
    assert.equal(shell(grants, line), 'ask', line);
  }
});

test('a prefix is not offered for a command with further words that it would not allow', () => {
  for (const line of [
    'npm test --script-shell=./x',
    'npm test -- --require ./x',
    'npm test -- /tmp/x.js',
    'git log "$FILE"',
    'git diff --output=x',
    'pytest --basetemp=src',
    'mocha init src',
  ]) {
    assert.deepEqual(grantFrom('proceed_always_prefix', askedShell(line)), [], line);
    assert.ok(!ids(askedShell(line)).includes('proceed_always_prefix'), line);
  }
});

test('a command whose further words can run anything has no prefix', () => {
  for (const line of [
    'sudo npm test',
    'env npm test',
    'env A=b npm test',
    'xargs npm test',
    'sh -c "npm test"',
    'bash x.sh',
    'eval npm test',
    'npx eslint .',
    'npm exec eslint',
    'npm install x',
    'npm --prefix x test',
    'npm run',
    "npm run 'a\" in this session (safe)'",
    'pnpm dlx x',
    'yarn dlx x',
    'yarn run node x.js',
    'yarn run ts-node x.ts',
    'pnpm run sh x',
    'bun run x.ts',
    'node x.js',
    'python -m pytest',
    'ruby x',
    'perl x',
    'go test ./...',
    'make test',
    'find . -name x',
    'rg x',
    'git -c a=b diff',
    'git push',
    'git submodule foreach x',
    'docker run x',
    'ssh host x',
    './npm test',
    '/usr/bin/npm test',
    'cat /etc/hosts',
    'npm test && rm x',
    'npm test > log',
    'npm test | sh',
  ]) {
    const offered = ids(askedShell(line)).filter((id) => id.includes('prefix'));
    assert.deepEqual(offered, [], line);
    assert.deepEqual(grantFrom('proceed_always_prefix_and_save', askedShell(line)), [], line);
  }
});
