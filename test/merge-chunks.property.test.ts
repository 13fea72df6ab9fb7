/** The bundle of the program with merged chunks behaves like the one that esbuild made. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build, type BuildOptions } from 'esbuild';
import fc from 'fast-check';
import { mergeChunks } from '../scripts/packages/merge-chunks.ts';

const MODULES = 16;
const OPTIONS = {
  bundle: true,
  splitting: true,
  metafile: true,
  platform: 'node',
  format: 'esm',
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'silent',
} satisfies BuildOptions;

/** A module. It imports only modules with higher numbers, so there are no cycles. */
interface Source {
  readonly imports: readonly number[];
  readonly lazy: readonly number[];
  /** Whether the module is too large to be merged. */
  readonly isLarge: boolean;
}

/** What happened: which large modules were loaded at each step, and the values that the modules computed. */
interface Run {
  readonly steps: readonly (readonly number[])[];
  readonly values: readonly unknown[];
}

function textOf({ imports, lazy, isLarge }: Source, at: number): string {
  const names = imports.map((each) => `m${each}`);
  return `
    ${imports.map((each) => `import { value as m${each} } from './m${each}.ts';`).join('\n')}
    globalThis.loadedModules.push(${at});
    export const value = { at: ${at}, parts: [${names.join()}], text: ${JSON.stringify(isLarge ? 'x'.repeat(5000) : '')} };
    export const lazy = [${lazy.map((each) => `() => import('./m${each}.ts')`).join()}];`;
}

/** Imports the first module, then follows the lazy imports in the given order. */
async function run(
  entry: string,
  sources: readonly Source[],
  picks: readonly number[],
): Promise<Run> {
  const loaded: number[] = [];
  Object.assign(globalThis, { loadedModules: loaded });
  const large = () => loaded.filter((at) => sources[at]!.isLarge).toSorted((a, b) => a - b);
  interface Loaded {
    readonly value: unknown;
    readonly lazy: readonly (() => Promise<Loaded>)[];
  }
  const first = (await import(pathToFileURL(entry).href)) as Loaded;
  const steps = [large()];
  const values = [first.value];
  const open = [...first.lazy];
  for (const pick of picks) {
    if (open.length === 0) break;
    const [next] = open.splice(pick % open.length, 1);
    const { value, lazy } = await next!();
    open.push(...lazy);
    steps.push(large());
    values.push(value);
  }
  return { steps, values };
}

const source = (at: number): fc.Arbitrary<Source> => {
  const later = Array.from({ length: MODULES - at - 1 }, (_, more) => at + 1 + more);
  return fc.record({
    imports: fc.subarray(later, { maxLength: Math.min(3, later.length) }),
    // As in the program, most lazy imports are in the first module.
    lazy: fc.subarray(later, { maxLength: Math.min(at === 0 ? 8 : 1, later.length) }),
    isLarge: fc.boolean(),
  });
};

const small = (imports: readonly number[], lazy: readonly number[] = []): Source => ({
  imports,
  lazy,
  isLarge: false,
});
const large: Source = { imports: [], lazy: [], isLarge: true };

/**
 * Module 6 is small, and modules 1 and 2 use it. Modules 1, 2 and 4 use the large module 8. If 6 were merged into 8,
 * then 4 would also load the large module 7, which it does not need.
 */
const LOADED_TOO_EARLY: Source[] = [
  small([], [1, 2, 3, 4, 5]),
  small([6, 8]),
  small([6, 8]),
  small([7]),
  small([8]),
  small([7]),
  small([7]),
  large,
  large,
];

test('a bundle with merged chunks has the same values, and loads no large module earlier', async (t) => {
  const root = fs.mkdtempSync(path.join(tmpdir(), 'parley-merge-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  let count = 0;
  let merged = 0;
  await fc.assert(
    fc.asyncProperty(
      fc
        .tuple(...Array.from({ length: MODULES }, (_, at) => source(at)))
        .map((each): Source[] => each),
      fc.array(fc.nat(), { minLength: 3, maxLength: 8 }),
      async (sources, picks) => {
        const folder = path.join(path.relative('', root), String(count++));
        fs.mkdirSync(folder);
        for (const [at, each] of sources.entries()) {
          fs.writeFileSync(path.join(folder, `m${at}.ts`), textOf(each, at));
        }
        const [from, to] = [path.join(folder, 'split'), path.join(folder, 'merged')];
        const entryPoints = { first: path.join(folder, 'm0.ts') };
        const { metafile } = await build({ ...OPTIONS, entryPoints, outdir: from });
        await mergeChunks(metafile, { from, to, first: 'first.js', options: OPTIONS });
        const before = await run(path.resolve(from, 'first.js'), sources, picks);
        assert.deepEqual(await run(path.resolve(to, 'first.js'), sources, picks), before);
        merged += filesIn(from) - filesIn(to);
      },
    ),
    { numRuns: 60, examples: [[LOADED_TOO_EARLY, [3]]] },
  );
  assert.ok(merged > 0, 'no chunk was merged, so the test shows nothing');
});

function filesIn(folder: string): number {
  const files = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.filter((each) => each.endsWith('.js')).length;
}
