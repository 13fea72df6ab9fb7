// The complete modules in the guides, run as they are.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const root = path.join(import.meta.dirname, '..');

/** The blocks that are complete modules, each with its heading and the text block that follows it. */
function modulesOf(guide: string): { heading: string; code: string; output: string | undefined }[] {
  const text = readFileSync(path.join(root, guide), 'utf8');
  const blocks = text.matchAll(/^```ts\n(import .*?)^```\n(?:\n```text\n(.*?)^```)?/gms);
  return [...blocks].map(({ index, 1: code = '', 2: output }) => {
    const heading =
      text
        .slice(0, index)
        .match(/^#+ .*$/gm)
        ?.at(-1) ?? '';
    return { heading: heading.replace(/^#+ /, ''), code, output };
  });
}

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

const agents = modulesOf('docs/agents.md');
for (const [what, module, says] of [
  ['an agent with a tool', agents[0], 'get_weather returned:\nIt is sunny in Paris\n'],
  ['a question and its answer', agents[1], 'book_table returned:\nA table for 9 is yours.\n'],
] as const) {
  test(`the guide shows ${what}`, async () => {
    assert.equal(await printed(module?.code ?? ''), says);
  });
}

const library = modulesOf('docs/library.md');

test('every module in the library guide has its output below it', () => {
  assert.ok(library.length >= 8);
  assert.deepEqual(
    library.filter(({ output }) => output === undefined).map(({ heading }) => heading),
    [],
  );
});

for (const [index, { heading, code, output }] of library.entries()) {
  test(`the library guide, example ${index + 1} (${heading}), prints what it says`, async () => {
    assert.equal(await printed(code), output);
  });
}
