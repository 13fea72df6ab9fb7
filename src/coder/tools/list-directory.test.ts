import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { call, makeWorkspace } from '../../../test/support/workspace.ts';
import { listDirectoryTool } from './list-directory.ts';

test('folders come first, then files with their size and links with their goal', async (t) => {
  const { workspace, at } = await makeWorkspace(t, {
    'b.txt': 'x'.repeat(2048),
    '.hidden': '',
    'z/a': '',
    'sub/c': '',
  });
  await symlink('b.txt', at('link'));
  const list = listDirectoryTool(workspace);
  assert.equal(await call(list, {}), 'sub/\nz/\n.hidden (0 bytes)\nb.txt (2.0 KB)\nlink -> b.txt');
  assert.equal(await call(list, { path: 'z' }), 'a (0 bytes)');
});

test('an empty folder says that it is', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  await mkdir(at('empty'));
  assert.equal(await call(listDirectoryTool(workspace), { path: 'empty' }), '[empty is empty]');
});

test('a full folder is cut, and says so', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 1005 }, (_, at) => [`f${at}`, '']));
  const { workspace } = await makeWorkspace(t, files);
  const lines = (await call(listDirectoryTool(workspace), {})).split('\n');
  assert.equal(lines.length, 1001);
  assert.match(lines.at(-1) ?? '', /^\[1000 of 1005 names/);
});

test('a name and a link target with a line feed are one line', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  await writeFile(at('a\nb'), '');
  await symlink('c\nd', at('link'));
  assert.equal(await call(listDirectoryTool(workspace), {}), '"a\\nb" (0 bytes)\nlink -> "c\\nd"');
});

test('a file is not a folder', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: '' });
  await assert.rejects(call(listDirectoryTool(workspace), { path: 'a' }), /a is not a folder/);
});
