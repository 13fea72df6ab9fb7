// The whole modules in docs/agents.md, run as they stand there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const root = path.join(import.meta.dirname, '..');
const guide = readFileSync(path.join(root, 'docs/agents.md'), 'utf8');
const modules = [...guide.matchAll(/^```ts\n(import .*?)^```/gms)].map(([, code = '']) => code);

/** Inside the repository, where `parley-a2a/…` is this package. */
async function printed(code: string): Promise<string> {
  const folder = mkdtempSync(path.join(root, 'test', '.guide-'));
  try {
    const file = path.join(folder, 'sample.ts');
    writeFileSync(file, code);
    const args = ['--conditions=parley-source', file];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
    return stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [what, code, says] of [
  ['an agent with a tool', modules[0], 'get_weather says:\nIt is sunny in Paris\n'],
  ['a question and its answer', modules[1], 'book_table says:\nA table for 9 is yours.\n'],
] as const) {
  test(`the guide shows ${what}`, async () => {
    assert.equal(await printed(code ?? ''), says);
  });
}
