/**
 * Builds `parley-a2a`, the library:
 *   the sources of package.json's exports and the files that they import, compiled by tsc
 *   bundled/  copies of the packages that the gateway always needs
 *   page/     the web page
 *   gateway.schema.json  the JSON Schema of the gateway's configuration file, for editors
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { build, type Metafile } from 'esbuild';
import { parseSync } from 'oxc-parser';
import { importsOf } from '../imports.ts';
import {
  LIBRARY_BUNDLED,
  LIBRARY_DEPENDENCIES,
  LIBRARY_PEERS,
  packageName,
  REQUIRE_BANNER,
  sourceOf,
  versionsOf,
  writeManifest,
  type Manifest,
  type Target,
} from './manifest.ts';
import { writeNotices } from './notices.ts';

/** The tests that every task store must pass. They are published as `parley-a2a/store/contract`. */
const CONTRACT = './test/contract/task-store';
const BUNDLED = 'bundled';
const DIST = './dist/parley-a2a/';

/** Compiles the library into a folder, without its page and its package.json. */
export async function compileLibrary(folder: string, manifest: Manifest): Promise<Metafile> {
  const sources = Object.values(manifest.exports).flatMap((target) => sourceOf(target) ?? []);
  const isContract = (source: string) => source.startsWith(CONTRACT);
  await emit(folder, {
    compilerOptions: { outDir: '.' },
    files: sources.filter((source) => !isContract(source)).map((source) => `../../${source}`),
  });
  // The store contract imports the library by the package's name, so it comes second.
  await emit(folder, {
    compilerOptions: {
      outDir: 'store-contract',
      rootDir: `../../${CONTRACT}`,
      paths: { 'parley-a2a/*': ['./*.d.ts'] },
    },
    files: sources.filter(isContract).map((source) => `../../${source}`),
  });
  removeUnreachableTypes(folder, manifest);
  return bundlePackages(folder);
}

export function writeLibrary(
  folder: string,
  manifest: Manifest,
  bundles: readonly Metafile[],
): void {
  checkImports(folder, manifest.name);
  writeNotices(folder, bundles);
  const { name, description, keywords } = manifest;
  writeManifest(folder, manifest, {
    name,
    description,
    keywords,
    exports: Object.fromEntries(
      Object.entries(manifest.exports).map(([subpath, target]) => [subpath, published(target)]),
    ),
    browser: Object.fromEntries(
      Object.keys(manifest.browser)
        .filter((file) => file.startsWith(DIST))
        .map((file) => [file.replace(DIST, './'), false]),
    ),
    dependencies: versionsOf(manifest, LIBRARY_DEPENDENCIES, '^'),
    peerDependencies: versionsOf(manifest, LIBRARY_PEERS, '^'),
    peerDependenciesMeta: Object.fromEntries(
      LIBRARY_PEERS.map((peer) => [peer, { optional: true }]),
    ),
  });
}

async function emit(folder: string, options: { compilerOptions: object; files: string[] }) {
  const config = path.join(folder, 'tsconfig.json');
  const whole = { extends: '../../tsconfig.build.json', include: [], ...options };
  fs.writeFileSync(config, JSON.stringify(whole));
  await run('node_modules/.bin/tsc', ['--project', config]);
  fs.rmSync(config);
}

async function run(command: string, args: string[]): Promise<void> {
  // The child's standard output goes to our standard error.
  const child = spawn(command, args, { stdio: ['ignore', 2, 2] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${path.basename(command)} failed (${code})`);
}

/** Removes the declaration files that no entry point mentions. These are more than half of all. */
function removeUnreachableTypes(folder: string, { exports }: Manifest): void {
  const reachable = new Set<string>();
  const follow = (file: string): void => {
    if (reachable.has(file)) return;
    reachable.add(file);
    for (const specifier of importsOf(file, fs.readFileSync(file, 'utf8'))) {
      if (!specifier.startsWith('.')) continue;
      const target = path.join(path.dirname(file), specifier);
      follow(target.replace(/(?:\.d)?\.[jt]s$/, '.d.ts'));
    }
  };
  for (const target of Object.values(exports)) {
    const types = published(target);
    if (typeof types !== 'string' && types['types']) follow(path.join(folder, types['types']));
  }
  for (const file of fs.globSync(path.join(folder, '**/*.d.ts'))) {
    if (!reachable.has(file)) fs.rmSync(file);
  }
}

/** Copies the bundled packages into the library, and makes its files import the copies. */
async function bundlePackages(folder: string): Promise<Metafile> {
  const names = new Map(LIBRARY_BUNDLED.map((each) => [each, new Set<string>()]));
  for (const file of fs.globSync(path.join(folder, '**/*.js'))) {
    const source = fs.readFileSync(file, 'utf8');
    let rewritten = source;
    // From the end, so that the positions of earlier imports stay valid.
    for (const node of parseSync(file, source).program.body.toReversed()) {
      if (node.type !== 'ImportDeclaration') continue;
      const imported = names.get(node.source.value);
      if (!imported) continue;
      for (const specifier of node.specifiers) {
        if (specifier.type !== 'ImportSpecifier' || specifier.imported.type !== 'Identifier') {
          throw new Error(`${file} must import ${node.source.value} by names, to bundle it`);
        }
        imported.add(specifier.imported.name);
      }
      const copy = path.join(folder, BUNDLED, `${node.source.value}.js`);
      const to = path.relative(path.dirname(file), copy);
      const { start, end } = node.source;
      rewritten = `${rewritten.slice(0, start)}'${to.startsWith('.') ? to : `./${to}`}'${rewritten.slice(end)}`;
    }
    if (rewritten !== source) fs.writeFileSync(file, rewritten);
  }
  const entries = path.join(folder, '.entries');
  fs.mkdirSync(entries);
  for (const [name, imported] of names) {
    const list = [...imported].toSorted().join(', ');
    fs.writeFileSync(path.join(entries, `${name}.js`), `export { ${list} } from '${name}';\n`);
  }
  const { metafile } = await build({
    entryPoints: LIBRARY_BUNDLED.map((name) => path.join(entries, `${name}.js`)),
    outdir: path.join(folder, BUNDLED),
    bundle: true,
    metafile: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'esm',
    target: 'node24',
    minify: true,
    banner: REQUIRE_BANNER,
    legalComments: 'none',
    logLevel: 'warning',
  });
  fs.rmSync(entries, { recursive: true });
  return metafile;
}

/**
 * Throws if the library imports a package that a consumer may not have. Types may import only required packages, because
 * an optional one may be missing.
 */
function checkImports(folder: string, self: string): void {
  const code = new Set([...LIBRARY_DEPENDENCIES, ...LIBRARY_PEERS, self]);
  const types = new Set([...LIBRARY_DEPENDENCIES, self]);
  for (const file of fs.globSync(path.join(folder, '**/*.{js,d.ts}'))) {
    const place = path.relative(folder, file);
    if (/^(page|bundled)\//.test(place)) continue;
    const allowed = file.endsWith('.d.ts') ? types : code;
    for (const specifier of importsOf(file, fs.readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.') || isBuiltin(specifier)) continue;
      if (allowed.has(packageName(specifier))) continue;
      throw new Error(
        `${place} imports ${specifier}, which a consumer of the library does not have: ` +
          'see scripts/packages/manifest.ts, and mark what is not public with @internal',
      );
    }
  }
}

function published(target: Target): Target {
  if (typeof target === 'string') return target;
  const conditions = Object.entries(target).filter(([condition]) => condition !== 'parley-source');
  return Object.fromEntries(
    conditions.map(([condition, file]) => [condition, file.replace(DIST, './')]),
  );
}
