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

test('a name without its folder is found further down, the nearest first', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'parley-paths-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['a/b/main', 'z', 'node_modules', '.hidden']) {
    mkdirSync(path.join(root, folder), { recursive: true });
  }
  const all = ['main.ts', 'a/b/Main.ts', 'z/main.css', 'node_modules/main.js', '.hidden/main'];
  for (const file of all) writeFileSync(path.join(root, file), '');
  symlinkSync(root, path.join(root, 'a', 'again'));
  const files = filesIn(root);
  assert.deepEqual(await files('main'), ['main.ts', 'z/main.css', 'a/b/Main.ts', 'a/b/main/']);
  assert.deepEqual(await files('m'), ['main.ts'], 'one letter is for this folder');
  assert.deepEqual(await files('a/main'), ['a/b/Main.ts', 'a/b/main/'], 'also with its folder');
});

test('letters from the middle of a path find it, the best match first', async (t) => {
  const root = mkdtempSync(path.join(tmpdir(), 'parley-paths-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['src/tui/control', 'src/display', '.git']) {
    mkdirSync(path.join(root, folder), { recursive: true });
  }
  const all = [
    'src/tui/control/controller.ts',
    'src/tui/control/store.ts',
    'src/display/answers.ts',
  ];
  for (const file of [...all, '.git/controller.ts']) writeFileSync(path.join(root, file), '');
  const files = filesIn(root);
  const [best] = await files('controller');
  assert.equal(best, 'src/tui/control/controller.ts');
  assert.deepEqual(await files('tuistore'), ['src/tui/control/store.ts']);
  assert.deepEqual((await files('ANSW'))[0], 'src/display/answers.ts');
  assert.equal((await files('src/ctrlr'))[0], 'src/tui/control/controller.ts');
  assert.deepEqual(await files('zq'), []);
});
