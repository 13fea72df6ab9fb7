/**
 * Builds the web page of src/console/page into a folder: the scripts and the style sheet with a hash in their names, and
 * files.json, from which src/console/files.ts serves them. A script that only some pages need is loaded when one of
 * them is opened.
 *
 *   node scripts/page.ts dist/parley-a2a/page
 */
import * as fs from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';

const SOURCE = path.resolve(import.meta.dirname, '../src/console/page');

export async function buildPage(folder: string): Promise<Metafile> {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    entryPoints: { app: path.join(SOURCE, 'main.tsx'), style: path.join(SOURCE, 'style.css') },
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    target: ['es2024', 'chrome120', 'firefox121', 'safari17.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    define: { 'process.env.NODE_ENV': '"production"' },
    // Set before any schema is made. Otherwise zod would try `eval`, which the page's Content-Security-Policy forbids.
    banner: { js: 'globalThis.__zod_globalConfig={jitless:true};' },
    legalComments: 'none',
    logLevel: 'warning',
  });
  const names = Object.keys(metafile.outputs).map((each) => path.basename(each));
  const named = (extension: RegExp) => names.find((each) => extension.test(each)) ?? '';
  const script = named(/^app-\w+\.js$/);
  const page = fs
    .readFileSync(path.join(SOURCE, 'index.html'), 'utf8')
    .replace('%PRELOADS%', preloads(metafile, script))
    .replace('%SCRIPT%', script)
    .replace('%STYLE%', named(/\.css$/));
  for (const name of names) {
    const file = path.join(folder, name);
    fs.writeFileSync(`${file}.gz`, gzipSync(fs.readFileSync(file), { level: 9 }));
  }
  fs.copyFileSync(path.join(SOURCE, 'icon.svg'), path.join(folder, 'icon.svg'));
  fs.writeFileSync(
    path.join(folder, 'files.json'),
    `${JSON.stringify({ page, files: [...names, 'icon.svg'] }, null, 2)}\n`,
  );
  return metafile;
}

/** Returns links that preload the imports of the first script, so that all these scripts load at the same time. */
function preloads({ outputs }: Metafile, script: string): string {
  const imported = new Set<string>();
  const follow = (name: string): void => {
    const output = Object.entries(outputs).find(([each]) => path.basename(each) === name)?.[1];
    for (const { path: target, kind } of output?.imports ?? []) {
      const found = path.basename(target);
      if (kind !== 'import-statement' || imported.has(found)) continue;
      imported.add(found);
      follow(found);
    }
  };
  follow(script);
  return [...imported].map((name) => `<link rel="modulepreload" href="%FILES%${name}" />`).join('');
}

if (import.meta.main) await buildPage(process.argv[2] ?? 'dist/parley-a2a/page');
