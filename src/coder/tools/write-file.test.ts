import assert from 'node:assert/strict';
import { lstat, readFile, symlink, unlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { toolContext } from '../../../test/support/tool-context.ts';
import { call, callRich, makeWorkspace } from '../../../test/support/workspace.ts';
import { writeFileTool } from './write-file.ts';

test('a file is created with its folders, and shown as new', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const args = { path: 'src/deep/a.ts', content: 'one\ntwo\n' };
  const { response, display } = await callRich(writeFileTool(workspace), args);
  assert.equal(await readFile(at('src/deep/a.ts'), 'utf8'), 'one\ntwo\n');
  assert.equal(response, 'Created src/deep/a.ts (2 lines, 8 bytes).');
  assert.deepEqual(display, {
    diff: {
      file_name: 'a.ts',
      file_path: at('src/deep/a.ts'),
      new_content: 'one\ntwo\n',
      formatted_diff: '--- /dev/null\n+++ b/src/deep/a.ts\n@@ -0,0 +1,2 @@\n+one\n+two\n',
    },
  });
});

test('a file that is replaced keeps its line ends and byte order mark', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.txt': '\uFEFFa\r\nb\r\n', 'b.txt': 'a\n' });
  const write = writeFileTool(workspace);
  await call(write, { path: 'a.txt', content: 'x\ny\n' });
  await call(write, { path: 'b.txt', content: 'x\r\ny\n' });
  assert.equal(await readFile(at('a.txt'), 'utf8'), '\uFEFFx\r\ny\r\n');
  assert.equal(await readFile(at('b.txt'), 'utf8'), 'x\r\ny\n');
});

test('a file that is no text is replaced as a whole', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { data: Buffer.from([0, 13, 10]) });
  const { display } = await callRich(writeFileTool(workspace), { path: 'data', content: 'a\n' });
  assert.equal(await readFile(at('data'), 'utf8'), 'a\n');
  assert.match(JSON.stringify(display), /binary data, 3 bytes/);
});

test('a folder is not written over, by any spelling', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'folder/a': 'x' });
  const write = writeFileTool(workspace);
  for (const path of ['folder', 'folder/', 'new/', '.', './', 'folder/..']) {
    await assert.rejects(call(write, { path, content: 'x' }), /folder/, path);
  }
  await assert.rejects(call(write, { path: 'folder/a/b', content: 'x' }), /no folder|not a folder/);
});

test('the preview refuses what would be refused, and makes no folders', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { '.git/config': 'x' });
  const write = writeFileTool(workspace);
  const preview = (path: string) => write.preview({ path, content: 'x' }, toolContext());
  for (const path of ['../x', '.git/hooks/pre-commit', '.parley/settings.json', '/etc/x']) {
    await assert.rejects(async () => preview(path), path);
  }
  await preview('new/folder/a');
  await assert.rejects(readFile(at('new/folder/a')), /ENOENT/);
});

test('a file that appears after the preview is not replaced', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const write = writeFileTool(workspace);
  const args = { path: 'a', content: 'x' };
  const preview = await write.preview(args, toolContext());
  assert.ok(preview.kind === 'edit' && preview.fingerprint !== undefined);
  await writeFile(at('a'), 'somebody else’s');
  const value = { fingerprint: preview.fingerprint };
  const answer = { questionId: 'call', confirmed: true, value };
  await assert.rejects(
    call(write, args, { confirmation: answer }),
    /modified after the approval was requested/,
  );
  assert.equal(await readFile(at('a'), 'utf8'), 'somebody else’s');
});

test('a person’s own content is written where there was no file', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const answer = { questionId: 'call', confirmed: true, value: { new_content: 'mine' } };
  await call(writeFileTool(workspace), { path: 'a', content: 'x' }, { confirmation: answer });
  assert.equal(await readFile(at('a'), 'utf8'), 'mine');
});

test('a large content is cut for people, not on the disk', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const content = 'a line of the file\n'.repeat(50_000);
  const { display } = await callRich(writeFileTool(workspace), { path: 'big', content });
  assert.equal(await readFile(at('big'), 'utf8'), content);
  const shown = JSON.stringify(display);
  assert.ok(shown.length < 400_000);
  assert.match(shown, /\[truncated: \d+\.\d KB more\]/);
});

test(
  'files that have nothing in common are compared in bounded time',
  { timeout: 30_000 },
  async (t) => {
    const text = (word: string) =>
      Array.from({ length: 60_000 }, (_, at) => `${word} ${at}`).join('\n');
    const { workspace } = await makeWorkspace(t, { a: text('old') });
    const { display } = await callRich(writeFileTool(workspace), {
      path: 'a',
      content: text('new'),
    });
    assert.match(JSON.stringify(display), /too many differences to show: 60000 lines become 60000/);
  },
);

test('an aborted run writes nothing', async (t) => {
  const { workspace, at } = await makeWorkspace(t);
  const signal = AbortSignal.abort(new Error('enough'));
  await assert.rejects(
    call(writeFileTool(workspace), { path: 'a', content: 'x' }, { signal }),
    /enough/,
  );
  await assert.rejects(readFile(at('a')), /ENOENT/);
});

test('a person can only put other content in the place of what is shown whole', async (t) => {
  const { workspace } = await makeWorkspace(t);
  const write = writeFileTool(workspace);
  const modifiable = async (content: string) => {
    const preview = await write.preview({ path: 'a.txt', content }, toolContext());
    return preview.kind === 'edit' && preview.modifiable;
  };
  assert.equal(await modifiable('x'.repeat(256 * 1024)), true);
  assert.equal(await modifiable('x'.repeat(256 * 1024 + 1)), false);
  assert.equal(await modifiable('a\0b'), false);
});

test('the preview shows the file that a link leads to, and this file is written', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'src/a.ts': 'old\n', 'src/b.ts': 'b\n' });
  await symlink('src/a.ts', at('notes.txt'));
  await symlink('src', at('docs'));
  const write = writeFileTool(workspace);
  const shown = async (path: string) => {
    const preview = await write.preview({ path, content: 'new\n' }, toolContext());
    assert.ok(preview.kind === 'edit');
    return preview;
  };
  for (const [path, real] of [
    ['notes.txt', 'src/a.ts'],
    ['docs/new.ts', 'src/new.ts'],
    ['docs/deep/new.ts', 'src/deep/new.ts'],
  ] as const) {
    const [diff] = (await shown(path)).diffs;
    assert.equal(diff?.file_path, at(real));
    assert.match(diff.formatted_diff ?? '', new RegExp(`^\\+\\+\\+ b/${real}$`, 'm'));
    const response = await call(write, { path, content: 'new\n' });
    assert.match(response, new RegExp(` ${real} `));
    assert.equal(await readFile(at(real), 'utf8'), 'new\n');
  }
  assert.ok((await lstat(at('notes.txt'))).isSymbolicLink());
});

test('if a link leads to another file than a person approved, nothing is written', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'a.ts': 'same\n', 'b.ts': 'same\n' });
  await symlink('a.ts', at('link'));
  const args = { path: 'link', content: 'new\n' };
  const preview = await writeFileTool(workspace).preview(args, toolContext());
  assert.ok(preview.kind === 'edit');
  await unlink(at('link'));
  await symlink('b.ts', at('link'));
  const value = { fingerprint: preview.fingerprint ?? '' };
  const confirmation = { questionId: 'call', confirmed: true, value };
  await assert.rejects(
    call(writeFileTool(workspace), args, { confirmation }),
    /nothing was written/,
  );
  assert.equal(await readFile(at('b.ts'), 'utf8'), 'same\n');
});
