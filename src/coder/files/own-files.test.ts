import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readOwnFiles } from './own-files.ts';

test('a file with an invalid name is ignored, and the message has the whole rule', async (t) => {
  const configFolder = await mkdtemp(path.join(tmpdir(), 'parley-own-'));
  t.after(() => rm(configFolder, { recursive: true, force: true }));
  const folder = path.join(configFolder, 'commands');
  await mkdir(path.join(folder, 'sub'), { recursive: true });
  for (const name of ['_draft.md', 'ship.md', 'sub/.md']) {
    await writeFile(path.join(folder, name), 'Ship it.');
  }
  const { found, problems } = await readOwnFiles(
    { configFolder, workspace: configFolder, trusted: false },
    { folder: 'commands', what: 'command', depth: 2, max: 10 },
    ({ text }) => text,
  );
  assert.deepEqual([...found], [['ship', 'Ship it.']]);
  assert.equal(problems.length, 2);
  assert.match(problems[0]!, /_draft\.md is ignored: .* must start with a letter or a digit/);
});

test('a file of the workspace replaces a file of the user, even if there are already as many files as allowed', async (t) => {
  const configFolder = await mkdtemp(path.join(tmpdir(), 'parley-own-'));
  t.after(() => rm(configFolder, { recursive: true, force: true }));
  const workspace = path.join(configFolder, 'workspace');
  const own = path.join(workspace, '.parley', 'commands');
  await mkdir(own, { recursive: true });
  await mkdir(path.join(configFolder, 'commands'));
  for (const name of ['a', 'b']) {
    await writeFile(path.join(configFolder, 'commands', `${name}.md`), `user ${name}`);
  }
  for (const name of ['added', 'b', 'further']) {
    await writeFile(path.join(own, `${name}.md`), `workspace ${name}`);
  }
  const { found, problems } = await readOwnFiles(
    { configFolder, workspace, trusted: true },
    { folder: 'commands', what: 'command', depth: 1, max: 2 },
    ({ text }) => text,
  );
  assert.deepEqual(Object.fromEntries(found), { a: 'user a', b: 'workspace b' });
  assert.equal(problems.length, 1);
  assert.match(problems[0]!, /added\.md and others are ignored: there are more than 2 commands$/);
});

test('if a folder has too many names, a message says that the rest is ignored', async (t) => {
  const configFolder = await mkdtemp(path.join(tmpdir(), 'parley-own-'));
  t.after(() => rm(configFolder, { recursive: true, force: true }));
  const folder = path.join(configFolder, 'commands');
  await mkdir(folder);
  for (let at = 1; at <= 1001; at += 1) await writeFile(path.join(folder, `n${at}.txt`), '');
  await writeFile(path.join(folder, 'ship.md'), 'Ship it.');
  const { found, problems } = await readOwnFiles(
    { configFolder, workspace: configFolder, trusted: false },
    { folder: 'commands', what: 'command', depth: 2, max: 10 },
    ({ text }) => text,
  );
  assert.equal(found.size, 0);
  assert.deepEqual(problems, [
    `${folder} has more than 1000 files and folders: the rest is ignored`,
  ]);
});

test('a file of the workspace is in .parley, not where a link to other files of the workspace leads', async (t) => {
  const workspace = await mkdtemp(path.join(tmpdir(), 'parley-own-'));
  t.after(() => rm(workspace, { recursive: true, force: true }));
  const own = path.join(workspace, '.parley', 'commands');
  await mkdir(path.join(workspace, 'docs'));
  await mkdir(own, { recursive: true });
  await writeFile(path.join(workspace, 'docs', 'ship.md'), 'Ship it.');
  await writeFile(path.join(own, 'own.md'), 'Own it.');
  await symlink('own.md', path.join(own, 'alias.md'));
  await symlink('../../docs/ship.md', path.join(own, 'file.md'));
  await symlink('../../docs', path.join(own, 'folder'));
  const { found, problems } = await readOwnFiles(
    { configFolder: path.join(workspace, 'config'), workspace, trusted: true },
    { folder: 'commands', what: 'command', depth: 2, max: 10 },
    ({ text }) => text,
  );
  assert.deepEqual([...found.keys()], ['alias', 'own']);
  assert.equal(problems.length, 2);
  for (const problem of problems) assert.match(problem, /is outside .*\.parley: the command is/);
});
