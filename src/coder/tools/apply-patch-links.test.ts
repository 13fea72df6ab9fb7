import assert from 'node:assert/strict';
import { lstat, readFile, symlink } from 'node:fs/promises';
import { test } from 'node:test';
import { call, makeWorkspace } from '../../../test/support/workspace.ts';
import { applyPatchTool } from './apply-patch.ts';

function begin(...lines: string[]): string {
  return ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
}

test('a link is neither deleted nor moved, and the error names its file', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'src/a.ts': '1\n' });
  await symlink('src/a.ts', at('alias'));
  await symlink('src', at('docs'));
  await symlink('a.ts', at('src/b.ts'));
  for (const [path, shown] of [
    ['alias', 'alias'],
    ['docs/b.ts', 'docs/b.ts'],
  ] as const) {
    for (const patch of [
      begin(`*** Delete File: ${path}`),
      begin(`*** Update File: ${path}`, '*** Move to: c', '-1', '+2'),
    ]) {
      await assert.rejects(
        call(applyPatchTool(workspace), { patch }),
        new RegExp(`${shown} is a link to src/a\\.ts, so it cannot be deleted or moved`),
      );
    }
  }
  assert.equal(await readFile(at('src/a.ts'), 'utf8'), '1\n');
  assert.ok((await lstat(at('alias'))).isSymbolicLink());
});

test('a file in a linked folder is deleted and moved, and the response names the file itself', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'src/a.ts': '1\n', 'src/b.ts': '2\n' });
  await symlink('src', at('docs'));
  const patch = begin('*** Delete File: docs/a.ts', '*** Update File: docs/b.ts', '*** Move to: c');
  const response = await call(applyPatchTool(workspace), { patch });
  assert.equal(response, 'Deleted src/a.ts, moved src/b.ts to c.');
});

test('the response to an update by a link names the file that was written', async (t) => {
  const { workspace, at } = await makeWorkspace(t, { 'src/a.ts': '1\n' });
  await symlink('src/a.ts', at('alias'));
  const update = (old: string) => begin('*** Update File: alias', `-${old}`, '+2');
  const response = await call(applyPatchTool(workspace), { patch: update('1') });
  assert.equal(response, 'Updated src/a.ts.');
  await assert.rejects(
    call(applyPatchTool(workspace), { patch: update('9') }),
    /hunk 1 of src\/a\.ts does not match/,
  );
});
