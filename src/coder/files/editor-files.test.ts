import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeWorkspace } from '../../../test/support/workspace.ts';
import { withEditor } from './editor-files.ts';

test('an error about unsaved changes has the path relative to the workspace', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'sub/a': 'saved' });
  const files = withEditor(workspace, { read: async () => 'not saved' });
  await assert.rejects(files.read('sub/../sub/a'), /^FileError: sub\/a has unsaved changes/);
  await assert.rejects(files.read('./new'), /^FileError: new is open in the editor/);
});

test('a file with unsaved changes is not removed, and the error is the same', async (t) => {
  const { workspace } = await makeWorkspace(t, { 'sub/a': 'saved' });
  const files = withEditor(workspace, { read: async () => 'not saved', write: async () => {} });
  const before = await files.read('sub/a');
  const removal = files.apply([{ path: 'sub/a', before, after: undefined }]);
  await assert.rejects(removal, /^FileError: sub\/a has unsaved changes in the editor/);
});

test('if a turn is stopped before the editor writes, the error is the reason and nothing is written', async (t) => {
  const { workspace } = await makeWorkspace(t, { a: 'old' });
  const stop = new AbortController();
  const reason = new Error('stopped by the user');
  const written: string[] = [];
  const files = withEditor(workspace, {
    read: async () => 'old',
    write: async (_path, text) => void written.push(text),
  });
  const before = await files.read('a');
  const stopping = withEditor(workspace, {
    read: async () => {
      stop.abort(reason);
      return 'old';
    },
    write: async (_path, text) => void written.push(text),
  });
  const change = { path: 'a', before, after: Buffer.from('new') };
  await assert.rejects(stopping.apply([change], { signal: stop.signal }), reason);
  assert.deepEqual(written, []);
});
