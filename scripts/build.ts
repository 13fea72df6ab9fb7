// Builds the two packages that are packed and published, dist/parley-a2a (the library) and dist/parley-cli (the program).
// scripts/packages/ has a file for each, and manifest.ts with their dependencies.
// Skips the build if nothing has changed since the last one, unless --force is given.
// Prints only to standard error, because with `npm start`, standard output is for the program.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import path from 'node:path';
import { settingsJsonSchema } from '../src/coder/settings/schema.ts';
import { configJsonSchema } from '../src/gateway/config.ts';
import { buildPage } from './page.ts';
import { compileLibrary, writeLibrary } from './packages/library.ts';
import { readManifest } from './packages/manifest.ts';
import { bundleProgram, writeProgram } from './packages/program.ts';

const STAMP = '.stamp';
const PACKAGES = ['parley-a2a', 'parley-cli'];

const root = path.resolve(import.meta.dirname, '..');
process.chdir(root);

const stamp = stampOfInputs();
const whole = PACKAGES.every((name) => fs.existsSync(path.join('dist', name, 'package.json')));
const current = whole && readIfThere(path.join('dist', STAMP)) === stamp;
if (process.argv.includes('--force') || !current) {
  const staging = fs.mkdtempSync('.dist-');
  try {
    await buildInto(staging);
    swapIn(staging);
  } catch (error) {
    process.stderr.write(`build: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
  }
}

async function buildInto(staging: string): Promise<void> {
  const manifest = readManifest();
  const [library, program] = PACKAGES.map((name) => path.join(staging, name));
  if (library === undefined || program === undefined) return;
  for (const folder of [library, program]) fs.mkdirSync(folder);
  // `allSettled`, because all writers must have stopped before the folder is removed.
  const [compiled, bundled, page] = await Promise.allSettled([
    compileLibrary(library, manifest),
    bundleProgram(program, manifest),
    buildPage(path.join(library, 'page')),
  ]);
  if (compiled.status === 'rejected') throw compiled.reason;
  if (bundled.status === 'rejected') throw bundled.reason;
  if (page.status === 'rejected') throw page.reason;
  fs.cpSync(path.join(library, 'page'), path.join(program, 'page'), { recursive: true });
  writeJson(path.join(program, 'settings.schema.json'), settingsJsonSchema());
  for (const folder of [library, program]) {
    writeJson(path.join(folder, 'gateway.schema.json'), configJsonSchema());
  }
  writeLibrary(library, manifest, [compiled.value, page.value]);
  writeProgram(program, manifest, [...bundled.value, page.value]);
  fs.writeFileSync(path.join(staging, STAMP), stamp);
}

function writeJson(file: string, value: object): void {
  fs.writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

function readIfThere(file: string): string | undefined {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

function stampOfInputs(): string {
  const hash = createHash('sha256').update(process.version);
  const inputs = fs.globSync([
    '{src,bin,packages,test/contract/task-store}/**/*.*',
    'scripts/{build,imports,page}.ts',
    'scripts/packages/*.ts',
    '{package,package-lock,tsconfig,tsconfig.build}.json',
    'LICENSE',
  ]);
  for (const file of inputs.toSorted()) hash.update(`\0${file}\0`).update(fs.readFileSync(file));
  return hash.digest('hex');
}

/** Replaces the old packages with the finished ones. If two builds run at once, the result of the first is kept. */
function swapIn(staging: string): void {
  const old = `${staging}-old`;
  fs.mkdirSync(old);
  fs.mkdirSync('dist', { recursive: true });
  try {
    // The stamp marks a complete build, so it is removed first and written last.
    for (const name of [STAMP, ...PACKAGES]) {
      const place = path.join('dist', name);
      if (fs.existsSync(place)) fs.renameSync(place, path.join(old, name));
    }
    for (const name of [...PACKAGES, STAMP]) {
      fs.renameSync(path.join(staging, name), path.join('dist', name));
    }
  } catch (error) {
    if (!fs.existsSync(path.join('dist', STAMP))) throw error;
  }
  fs.rmSync(old, { recursive: true, force: true });
}
