// Builds dist/, the folder that is packed and published:
//   the library   compiled by tsc: the sources of package.json's exports and the files that they import
//   the program   an esbuild bundle of src/cli/main.ts, with chunks for lazy imports
//   page/         the web page, built by scripts/page.ts
//   settings.schema.json, gateway.schema.json  JSON Schemas of the configuration files, for editors
//   package.json  the root package.json, with paths relative to dist/ and only the dependencies that are needed
// Skips the build when nothing has changed since the last one, unless --force is given.
// Prints only errors and notes, on standard error: with `npm start`, standard output is for the program.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { settingsJsonSchema } from '../src/coder/settings/schema.ts';
import { configJsonSchema } from '../src/gateway/config.ts';
import { importsOf } from './imports.ts';
import { buildPage } from './page.ts';

type Target = string | Record<string, string>;
interface Manifest {
  name: string;
  version: string;
  description: string;
  keywords: string[];
  license: string;
  author: string;
  type: string;
  sideEffects: boolean;
  engines: Record<string, string>;
  bin: Record<string, string>;
  exports: Record<string, Target>;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, unknown>;
}

/** Packages with native code or data files. They are not bundled, so they must be installed. */
const NATIVE_PACKAGES = ['@lydell/node-pty', '@vscode/ripgrep', 'pg-native'];
/** Optional packages that Ink tries to load. */
const OPTIONAL_PACKAGES = ['react-devtools-core'];
const CLI = 'src/cli/main.ts';
/** The tests that every task store must pass. They are published as `parley-a2a/store/contract`. */
const CONTRACT = './test/contract/task-store';
const STAMP = '.stamp';

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

const root = path.resolve(import.meta.dirname, '..');
process.chdir(root);
const manifest: Manifest = JSON.parse(fs.readFileSync('package.json', 'utf8'));

const stamp = stampOfInputs();
if (process.argv.includes('--force') || readIfThere(path.join('dist', STAMP)) !== stamp) {
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
  const exported = exportsWithSource();
  // `allSettled`, because both writers must have stopped before the folder is removed.
  const [library, program, page] = await Promise.allSettled([
    emitLibrary(staging, exported),
    bundleProgram(staging),
    buildPage(path.join(staging, 'page')),
  ]);
  if (library.status === 'rejected') throw library.reason;
  if (program.status === 'rejected') throw program.reason;
  if (page.status === 'rejected') throw page.reason;
  writePackage(staging, exported, program.value);
}

function readIfThere(file: string): string | undefined {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

function stampOfInputs(): string {
  const hash = createHash('sha256').update(process.version);
  const inputs = fs.globSync([
    '{src,bin,test/contract/task-store}/**/*.*',
    'scripts/{build,page}.ts',
    '{package,package-lock,tsconfig,tsconfig.build}.json',
    '{README.md,LICENSE}',
  ]);
  for (const file of inputs.toSorted()) hash.update(`\0${file}\0`).update(fs.readFileSync(file));
  return hash.digest('hex');
}

/** Returns the exports of package.json whose source exists. */
function exportsWithSource(): Record<string, Target> {
  const entries = Object.entries(manifest.exports).filter(([subpath, target]) => {
    const source = sourceOf(target);
    const there = source === undefined || fs.existsSync(source);
    if (!there)
      process.stderr.write(`build: skipped ${subpath}, because ${source} does not exist\n`);
    return there;
  });
  return Object.fromEntries(entries);
}

function sourceOf(target: Target): string | undefined {
  return typeof target === 'string' ? undefined : target['parley-source'];
}

/** Emits the library, then the store contract, which imports the library by the package's name. */
async function emitLibrary(staging: string, exported: Record<string, Target>): Promise<void> {
  const sources = Object.values(exported).flatMap((target) => sourceOf(target) ?? []);
  const isContract = (source: string) => source.startsWith(CONTRACT);
  await emit(staging, {
    compilerOptions: { outDir: '.' },
    files: sources.filter((source) => !isContract(source)).map((source) => `../${source}`),
  });
  await emit(staging, {
    compilerOptions: {
      outDir: 'store-contract',
      rootDir: `../${CONTRACT}`,
      paths: { 'parley-a2a/*': ['./*.d.ts'] },
    },
    files: sources.filter(isContract).map((source) => `../${source}`),
  });
}

async function emit(staging: string, options: { compilerOptions: object; files: string[] }) {
  const config = path.join(staging, 'tsconfig.json');
  const whole = { extends: '../tsconfig.build.json', include: [], ...options };
  fs.writeFileSync(config, JSON.stringify(whole));
  await run('node_modules/.bin/tsc', ['--project', config]);
  fs.rmSync(config);
}

function run(command: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // The child's standard output goes to our standard error.
    const child = spawn(command, args, { stdio: ['ignore', 2, 2] });
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${path.basename(command)} failed (${code})`));
    });
  });
}

/** Bundles the program. Returns the packages that are not bundled, or undefined if there is no program. */
async function bundleProgram(staging: string): Promise<Set<string> | undefined> {
  if (!fs.existsSync(CLI)) {
    process.stderr.write(`build: skipped the program, because ${CLI} does not exist\n`);
    return undefined;
  }
  const { metafile } = await build({
    entryPoints: { parley: CLI },
    outdir: path.join(staging, 'cli'),
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    metafile: true,
    platform: 'node',
    // jsonc-parser's CommonJS file hides its imports from the bundler; its ES module does not.
    mainFields: ['module', 'main'],
    format: 'esm',
    target: 'node24',
    external: [...NATIVE_PACKAGES, ...OPTIONAL_PACKAGES],
    minifyWhitespace: true,
    minifySyntax: true,
    plugins: [YOGA_WITHOUT_FETCH],
    define: { 'process.env.NODE_ENV': '"production"' },
    // CommonJS packages in an ES module bundle still call require for Node's own modules.
    banner: {
      js: "import{createRequire as bundleRequire}from'node:module';const require=bundleRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  return new Set(
    imports.filter((each) => each.external && !isBuiltin(each.path)).map((each) => each.path),
  );
}

function writePackage(
  staging: string,
  exported: Record<string, Target>,
  bundled: Set<string> | undefined,
): void {
  for (const file of ['README.md', 'LICENSE']) {
    if (fs.existsSync(file)) fs.copyFileSync(file, path.join(staging, file));
  }
  if (bundled) {
    fs.cpSync('bin', path.join(staging, 'bin'), { recursive: true });
    const schemas = { settings: settingsJsonSchema(), gateway: configJsonSchema() };
    for (const [subject, schema] of Object.entries(schemas)) {
      const text = `${JSON.stringify(schema, null, 2)}\n`;
      fs.writeFileSync(path.join(staging, `${subject}.schema.json`), text);
    }
  }

  const { name, version, description, keywords, license, author, type, sideEffects, engines } =
    manifest;
  const library = new Set([...packagesImportedBy(staging)].map(packageName));
  // The store contract imports the package by its own name.
  library.delete(name);
  const used = new Set([...library, ...[...(bundled ?? [])].map(packageName)]);
  const pick = (from: Record<string, string> = {}) => {
    const picked = Object.entries(from).filter(([dependency]) => used.has(dependency));
    return picked.length > 0 ? Object.fromEntries(picked) : undefined;
  };
  const published = {
    name,
    version,
    description,
    keywords,
    license,
    author,
    type,
    sideEffects,
    engines,
    bin: bundled && manifest.bin,
    exports: Object.fromEntries(
      Object.entries(exported).map(([subpath, target]) => [subpath, publishedTarget(target)]),
    ),
    files: fs.readdirSync(staging).toSorted(),
    dependencies: pick(manifest.dependencies),
    optionalDependencies: pick(manifest.optionalDependencies),
    peerDependencies: manifest.peerDependencies,
    peerDependenciesMeta: manifest.peerDependenciesMeta,
  };
  // All packages that the library imports must be dependencies. The program may import packages that are not installed:
  // pg tries to load pg-native.
  for (const dependency of library) {
    const sections = [
      published.dependencies,
      published.optionalDependencies,
      published.peerDependencies,
    ];
    if (!sections.some((section) => section && dependency in section)) {
      throw new Error(`the published files import ${dependency}, which is not a dependency`);
    }
  }
  fs.writeFileSync(path.join(staging, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
  fs.writeFileSync(path.join(staging, STAMP), stamp);
}

function publishedTarget(target: Target): Target {
  if (typeof target === 'string') return target;
  const conditions = Object.entries(target).filter(([condition]) => condition !== 'parley-source');
  return Object.fromEntries(
    conditions.map(([condition, file]) => [condition, file.replace(/^\.\/dist\//, './')]),
  );
}

/**
 * Returns the packages that the library's files import. Imports of types are included, because a consumer must install
 * those packages too.
 */
function packagesImportedBy(staging: string): Set<string> {
  const files = fs
    .globSync('**/*.{js,d.ts}', { cwd: staging })
    .filter((file) => !/^(cli|bin|page)\//.test(file));
  const specifiers = files.flatMap((file) =>
    importsOf(file, fs.readFileSync(path.join(staging, file), 'utf8')),
  );
  return new Set(specifiers.filter((each) => !each.startsWith('.') && !isBuiltin(each)));
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** Replaces the old folder with the finished one. If two builds run at once, the result of the first is kept. */
function swapIn(staging: string): void {
  const old = `${staging}-old`;
  try {
    if (fs.existsSync('dist')) fs.renameSync('dist', old);
    fs.renameSync(staging, 'dist');
  } catch (error) {
    if (!fs.existsSync(path.join('dist', STAMP))) throw error;
  }
  fs.rmSync(old, { recursive: true, force: true });
}
