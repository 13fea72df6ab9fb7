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

/** The paths relative to the root, existing and absent. */
async function pathsIn(root: string): Promise<[string[], string[]]> {
  const { existing, absent } = readOnlyPaths(root, await findNested(root));
  const short = (files: readonly string[]) =>
    files.map((file) => path.relative(root, file)).toSorted();
  return [short(existing), short(absent)];
}

test('in a folder that is no repository, none can be made', async (t) => {
  const root = workspaceWith(t, { 'src/a.ts': '' });
  assert.deepEqual(await pathsIn(root), [[], ['.git', '.parley', 'HEAD']]);
  mkdirSync(path.join(root, '.git'));
  assert.deepEqual(await pathsIn(root), [['.git'], ['.parley', 'HEAD']]);
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
  assert.deepEqual(absent, ['.parley', 'absent.config']);
});

test('a link in place of .git or .parley cannot be protected, which is an error', async (t) => {
  for (const name of ['.git', '.parley']) {
    const root = workspaceWith(t, { 'elsewhere/HEAD': '' });
    symlinkSync('elsewhere', path.join(root, name));
    await assert.rejects(pathsIn(root), /cannot protect .* symbolic link; .* or remove --sandbox$/);
  }
});

test('a folder of hooks that is a link into the workspace is read-only', async (t) => {
  const root = workspaceWith(t, { '.git/HEAD': '', 'scripts/pre-commit': '' });
  symlinkSync('../scripts', path.join(root, '.git/hooks'));
  assert.deepEqual((await pathsIn(root))[0], ['.git', 'scripts']);
});
