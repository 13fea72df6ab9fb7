import assert from 'node:assert/strict';
import { utimes } from 'node:fs/promises';
import { test } from 'node:test';
import { call, makeWorkspace } from '../../../test/support/workspace.ts';
import { globTool } from './glob.ts';

test('files are found by pattern, the newest first', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.ts': '', 'src/b.ts': '', 'src/c.js': '' });
  await utimes(at('a.ts'), 1000, 1000);
  await utimes(at('src/b.ts'), 2000, 2000);
  const glob = globTool(workspace);
  assert.equal(await call(glob, { pattern: '**/*.ts' }), 'src/b.ts\na.ts');
  assert.equal(await call(glob, { pattern: '*.ts' }), 'src/b.ts\na.ts');
  assert.equal(await call(glob, { pattern: 'src/*.{ts,js}' }), 'src/c.js\nsrc/b.ts');
  assert.equal(await call(glob, { pattern: '*.js', path: 'src' }), 'src/c.js');
});

test('what .gitignore names is left out even when the pattern names it; hidden files are not', async (t) => {
  const { workspace } = await makeWorkspace(t, {
    '.gitignore': '*.log\nbuild/\n',
    'a.log': '',
    'build/b.txt': '',
    '.github/c.yml': '',
    '.git/config': '',
  });
  const glob = globTool(workspace);
  assert.equal(await call(glob, { pattern: '*.log' }), '[no file in . matches *.log]');
  assert.equal(await call(glob, { pattern: 'build/**' }), '[no file in . matches build/**]');
  assert.equal(await call(glob, { pattern: '**/*.yml' }), '.github/c.yml');
  assert.equal(await call(glob, { pattern: '**/config' }), '[no file in . matches **/config]');
});

test('no more than 200 files are listed', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 230 }, (_, at) => [`f${at}.txt`, '']));
  const { workspace } = await makeWorkspace(t, files);
  const lines = (await call(globTool(workspace), { pattern: '*' })).split('\n');
  assert.equal(lines.length, 201);
  assert.equal(lines.at(-1), '[more than 200 files: narrow the pattern]');
});

test('a pattern that cannot be is refused', async (t) => {
  const { workspace } = await makeWorkspace(t);
  await assert.rejects(call(globTool(workspace), { pattern: '' }), /empty/);
  await assert.rejects(call(globTool(workspace), { pattern: '{a,b}'.repeat(20) }), /braces/);
});
