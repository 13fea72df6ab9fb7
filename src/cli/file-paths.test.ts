import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { filesIn } from './file-paths.ts';

test('paths are completed folder by folder, and not beyond the workspace', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'parley-paths-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['src/tools', 'node_modules', '.git']) {
    mkdirSync(path.join(root, folder), { recursive: true });
  }
  for (const file of ['src/server.ts', 'src/store.ts', 'README.md', '.env']) {
    writeFileSync(path.join(root, file), '');
  }
  symlinkSync('/', path.join(root, 'out'));
  const files = filesIn(root);
  assert.deepEqual(await files(''), ['README.md', 'out', 'src/']);
  assert.deepEqual(await files('src/s'), ['src/server.ts', 'src/store.ts']);
  assert.deepEqual(await files('src/'), ['src/server.ts', 'src/store.ts', 'src/tools/']);
  assert.deepEqual(await files('.e'), ['.env']);
  for (const outside of ['../', '/etc/', 'out/', 'none/']) {
    assert.deepEqual(await files(outside), [], outside);
  }
});
