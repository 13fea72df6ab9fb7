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
