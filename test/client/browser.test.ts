import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';

test('the clients load in browsers: a bundle for browsers has no module of Node', async () => {
  const root = path.resolve(import.meta.dirname, '../../src');
  const { errors, outputFiles } = await build({
    entryPoints: ['client.ts', 'live.ts'].map((name) => path.join(root, name)),
    outdir: root,
    bundle: true,
    // Fails on an import of a module of Node.
    platform: 'browser',
    format: 'esm',
    write: false,
    logLevel: 'silent',
  });
  assert.deepEqual([errors, outputFiles.length], [[], 2]);
});
