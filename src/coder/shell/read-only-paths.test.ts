import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { findNested, readOnlyPaths } from './read-only-paths.ts';

function workspaceWith(t: TestContext, files: Record<string, string>): string {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-read-only-')));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
  }
  return root;
}

/** The paths relative to the root: existing, absent and fixed. */
async function pathsIn(root: string): Promise<[string[], string[], string[]]> {
  const { existing, absent, fixed } = readOnlyPaths(root, await findNested(root));
  const short = (files: readonly string[]) =>
    files.map((file) => path.relative(root, file)).toSorted();
  return [short(existing), short(absent), short(fixed)];
}

test('in a folder that is no repository, none can be made', async (t) => {
  const root = workspaceWith(t, { 'src/a.ts': '' });
  assert.deepEqual(await pathsIn(root), [[], ['.git', '.parley', 'HEAD'], []]);
  mkdirSync(path.join(root, '.git'));
  assert.deepEqual(await pathsIn(root), [['.git'], ['.parley', 'HEAD'], []]);
});

test('repositories, worktrees, modules and settings are found in every folder', async (t) => {
  const root = workspaceWith(t, {
    '.git/HEAD': '',
    '.git/modules/one/config': '[core]\n\thooksPath = ../hooks-of-one\n',
    '.parley/settings.json': '',
    'one/.git': 'gitdir: ../.git/modules/one\n',
    'hooks-of-one/pre-commit': '',
    'two/.git': 'gitdir: ../separate\n',
    'separate/config': '',
    'a/b/c/.git/HEAD': '',
    'a/.parley/settings.json': '',
    'node_modules/x/.git/HEAD': '',
  });
  const [existing, absent] = await pathsIn(root);
  assert.deepEqual(existing, [
    '.git',
    '.git/modules/one',
    '.parley',
    'a/.parley',
    'a/b/c/.git',
    'hooks-of-one',
    'one/.git',
    'separate',
    'two/.git',
  ]);
  assert.deepEqual(absent, []);
});

test('what the configuration of a repository runs or includes is read-only', async (t) => {
  const root = workspaceWith(t, {
    '.git/HEAD': '',
    '.git/config': [
      '[core]\n\tHooksPath = "tools/hooks" ; ours',
      '\tfsmonitor = tools/watch.sh',
      '[include]\n\tpath = ../team.config',
      '[includeIf "onbranch:x"]\n\tpath = /etc/other',
      '\tpath = ~/home.config\n\tpath = ../absent.config\n\tpath = ../no/folder/x\n',
    ].join('\n'),
    'tools/hooks/pre-commit': '',
    'tools/watch.sh': '',
    'team.config': '',
  });
  const [existing, absent] = await pathsIn(root);
  assert.deepEqual(existing, ['.git', 'team.config', 'tools/hooks', 'tools/watch.sh']);
  assert.deepEqual(absent, ['.parley', 'absent.config', 'no']);
});

test('the repository of a linked worktree is read-only, with what its configuration names', async (t) => {
  const root = workspaceWith(t, {
    '.git/HEAD': '',
    'tree/.git': 'gitdir: ../store/repository/worktrees/tree\n',
    'store/repository/worktrees/tree/commondir': '../..\n',
    'store/repository/worktrees/tree/config.worktree': '[include] path = own.config',
    'store/repository/config': '[core] hooksPath = ../tools/hooks\n[include] path = ../team.config',
    'store/team.config': '',
    'tools/hooks/pre-commit': '',
    'scripts/pre-push': '',
  });
  symlinkSync('../../scripts', path.join(root, 'store/repository/hooks'));
  const [existing, absent, fixed] = await pathsIn(root);
  assert.deepEqual(existing, [
    '.git',
    'scripts',
    'store/repository',
    'store/repository/worktrees/tree',
    'store/team.config',
    'tools/hooks',
    'tree/.git',
  ]);
  assert.deepEqual(absent, ['.parley']);
  assert.deepEqual(fixed, ['store', 'tools']);
});

test('the configuration of git is read in all its forms', async (t) => {
  const { HOME: home = '' } = process.env;
  t.after(() => (process.env['HOME'] = home));
  const files = ['one line', 'no-space', 'quo;ted', 'joined', 'home', 'marked', 'a"b'];
  const root = workspaceWith(t, {
    '.git/config': [
      '\uFEFF[core] hooksPath = one line  # comment',
      '[includeIf "gitdir:~/]\\"x"]path=../no-space',
      '[core]\r\n\thooksPath = "quo;ted"\r',
      '\thooksPath = joi\\\nned',
      '[a] [include] path = ~/home',
      '[include]\n\tpath = "../mar"ked',
      '\tpath = ../a\\"b',
      '\tpath =\n\tpath\n#\tpath = ../comment\n;[core] hooksPath = comment',
    ].join('\n'),
    ...Object.fromEntries(files.map((file) => [file, ''])),
    comment: '',
  });
  process.env['HOME'] = root;
  const [existing] = await pathsIn(root);
  assert.deepEqual(existing, ['.git', ...files].toSorted());
});

test('what an included file names is read-only, and files may include each other', async (t) => {
  const root = workspaceWith(t, {
    '.git/config': '[include]\n\tpath = ../settings/first\n',
    'settings/first': '[include]\n\tpath = second\n',
    'settings/second': '[include]\n\tpath = first\n[core]\n\thooksPath = settings/hooks/run\n',
  });
  const [existing, absent, fixed] = await pathsIn(root);
  assert.deepEqual(existing, ['.git', 'settings/first', 'settings/second']);
  assert.deepEqual(absent, ['.parley', 'HEAD', 'settings/hooks']);
  assert.deepEqual(fixed, ['settings']);
});

test('the repository that the workspace is a part of may name files of the workspace', async (t) => {
  const repository = workspaceWith(t, {
    '.git/config': '[core]\n\thooksPath = packages/app/hooks\n',
    'packages/app/hooks/pre-commit': '',
  });
  const root = path.join(repository, 'packages/app');
  assert.deepEqual((await pathsIn(root))[0], ['hooks']);
});

test('links among the hooks are followed, also where they lead to nothing or to themselves', async (t) => {
  const root = workspaceWith(t, {
    '.git/config': '[core]\n\thooksPath = tools/hooks\n',
    '.git/hooks/pre-push': '',
    'tools/hooks/commit-msg': '',
    'scripts/pre-commit': '',
  });
  symlinkSync('../../scripts/pre-commit', path.join(root, '.git/hooks/pre-commit'));
  symlinkSync('../../scripts/later', path.join(root, 'tools/hooks/pre-rebase'));
  symlinkSync('loop', path.join(root, 'tools/hooks/loop'));
  const [existing, absent] = await pathsIn(root);
  assert.deepEqual(existing, ['.git', 'scripts/pre-commit', 'tools/hooks']);
  assert.deepEqual(absent, ['.parley', 'HEAD', 'scripts/later']);
});

test('a link in place of .git or .parley cannot be protected, which is an error', async (t) => {
  for (const name of ['.git', '.parley']) {
    const root = workspaceWith(t, { 'elsewhere/HEAD': '' });
    symlinkSync('elsewhere', path.join(root, name));
    await assert.rejects(
      pathsIn(root),
      /cannot protect .* symbolic link; .* or turn off the sandbox \(--sandbox, or "sandbox" in settings\.json\)$/,
    );
  }
});

test('a folder of hooks that is a link into the workspace is read-only', async (t) => {
  const root = workspaceWith(t, { '.git/HEAD': '', 'scripts/pre-commit': '' });
  symlinkSync('../scripts', path.join(root, '.git/hooks'));
  assert.deepEqual((await pathsIn(root))[0], ['.git', 'scripts']);
});
