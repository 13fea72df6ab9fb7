/**
 * Builds `parley-cli`, the program:
 *   cli/   an esbuild bundle of src/cli/main.ts, with chunks for lazy imports
 *   own/   the library and zod, bundled with everything that they import, for agents in files (`parley serve --agent FILE`)
 *          whose folder has no parley-a2a
 *   page/  the web page
 *   settings.schema.json, gateway.schema.json  JSON Schemas of the configuration files, for editors
 */
import * as fs from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import {
  packageName,
  PROGRAM_NATIVE,
  REQUIRE_BANNER,
  sourceOf,
  versionsOf,
  writeManifest,
  type Manifest,
} from './manifest.ts';
import { mergeChunks } from './merge-chunks.ts';
import { writeNotices } from './notices.ts';

/** Packages that Ink, pg and ws load if they are installed. They work without them. */
const NOT_INSTALLED = ['react-devtools-core', 'pg-native', 'bufferutil', 'utf-8-validate'];

/**
 * Hides `fetch` from Yoga. Otherwise Yoga would decode its embedded WebAssembly with `fetch`, and loading `fetch` would
 * double the start-up time.
 */
const YOGA_WITHOUT_FETCH: Plugin = {
  name: 'yoga-without-fetch',
  setup(esbuild) {
    esbuild.onLoad({ filter: /yoga-wasm-base64-esm\.js$/ }, ({ path: file }) => ({
      contents: `const fetch = undefined;\n${fs.readFileSync(file, 'utf8')}`,
    }));
  },
};

/** Leaves out zod's error messages in other languages: more than half of zod's code, which every command would load. */
const ZOD_IN_ENGLISH: Plugin = {
  name: 'zod-in-english',
  setup(esbuild) {
    esbuild.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

const OPTIONS = {
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  metafile: true,
  platform: 'node',
  // jsonc-parser's CommonJS file hides its imports from the bundler; its ES module does not.
  mainFields: ['module', 'main'],
  format: 'esm',
  target: 'node24',
  external: [...PROGRAM_NATIVE, ...NOT_INSTALLED],
  minifyWhitespace: true,
  minifySyntax: true,
  plugins: [YOGA_WITHOUT_FETCH],
  define: { 'process.env.NODE_ENV': '"production"' },
  banner: REQUIRE_BANNER,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

/** Bundles the program into a folder, without its page and its package.json. */
export async function bundleProgram(folder: string, { exports }: Manifest): Promise<Metafile[]> {
  const library = Object.entries(exports).flatMap(([subpath, target]) => {
    const source = sourceOf(target);
    const name = subpath === '.' ? 'index' : subpath.slice('./'.length);
    return source?.startsWith('./src/') ? [[`parley-a2a/${name}`, source] as const] : [];
  });
  const split = path.join(folder, 'split');
  const bundles = await Promise.all([
    build({
      ...OPTIONS,
      plugins: [YOGA_WITHOUT_FETCH, ZOD_IN_ENGLISH],
      entryPoints: { parley: 'src/cli/main.ts' },
      outdir: split,
    }),
    build({
      ...OPTIONS,
      entryPoints: { zod: 'zod', ...Object.fromEntries(library) },
      outdir: path.join(folder, 'own'),
    }),
  ]);
  const to = path.join(folder, 'cli');
  await mergeChunks(bundles[0].metafile, { from: split, to, first: 'parley.js', options: OPTIONS });
  fs.rmSync(split, { recursive: true });
  return bundles.map(({ metafile }) => metafile);
}

export function writeProgram(
  folder: string,
  manifest: Manifest,
  bundles: readonly Metafile[],
): void {
  for (const { outputs } of bundles) {
    for (const { path: specifier, external } of Object.values(outputs).flatMap(
      (each) => each.imports,
    )) {
      if (!external || isBuiltin(specifier)) continue;
      if ([...PROGRAM_NATIVE, ...NOT_INSTALLED].includes(packageName(specifier))) continue;
      throw new Error(`the program imports ${specifier}, which is not installed with it`);
    }
  }
  fs.cpSync('bin', path.join(folder, 'bin'), { recursive: true });
  writeNotices(folder, bundles);
  writeManifest(folder, manifest, {
    name: 'parley-cli',
    description:
      'A coding agent for your terminal, editor and phone, and a gateway, over the A2A protocol',
    keywords: [...manifest.keywords, 'cli', 'acp', 'gateway'],
    bin: { parley: 'bin/parley.js' },
    // What src/cli/agents/agent-file.ts resolves.
    imports: {
      '#own/zod': './own/zod.js',
      '#own/parley-a2a': './own/parley-a2a/index.js',
      '#own/parley-a2a/*': './own/parley-a2a/*.js',
    },
    exports: { './package.json': './package.json' },
    dependencies: versionsOf(manifest, PROGRAM_NATIVE),
  });
}
