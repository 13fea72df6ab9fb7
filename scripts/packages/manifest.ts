/** The two packages that are published from this tree, and what each takes from the root package.json. */
import * as fs from 'node:fs';
import path from 'node:path';

/** The target of an entry of `exports`: a file, or files by condition. */
export type Target = string | Record<string, string>;

/** The root package.json. */
export interface Manifest {
  name: string;
  version: string;
  description: string;
  keywords: string[];
  license: string;
  author: string;
  type: string;
  sideEffects: boolean;
  engines: Record<string, string>;
  exports: Record<string, Target>;
  /** Files that bundlers for browsers replace by an empty module. */
  browser: Record<string, false>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}

/** The packages that the library always needs. They are installed with it. */
export const LIBRARY_DEPENDENCIES = ['ws', 'zod'];

/** Packages that only some users of the library need. They install them; see src/base/optional-package.ts. */
export const LIBRARY_PEERS = [
  '@ai-sdk/anthropic',
  '@ai-sdk/google',
  '@ai-sdk/openai',
  '@ai-sdk/openai-compatible',
  '@bufbuild/protobuf',
  '@connectrpc/connect',
  '@connectrpc/connect-node',
  '@modelcontextprotocol/client',
  '@opentelemetry/api',
  'pg',
];

/** Packages that the gateway always needs. They are copied into the library, so that consumers need not install them. */
export const LIBRARY_BUNDLED = ['jose', 'jsonc-parser', 'undici'];

/** Packages with native code or data files. The program cannot contain them, so they are installed with it. */
export const PROGRAM_NATIVE = ['@lydell/node-pty', '@vscode/ripgrep'];

/**
 * The start of each chunk of a bundle. CommonJS packages in an ES module bundle still call require for Node's own modules.
 * The function is made when it is called, because most chunks do not need it.
 */
export const REQUIRE_BANNER = {
  js: "import{createRequire as bundleRequire}from'node:module';const require=id=>bundleRequire(import.meta.url)(id);",
};

export function readManifest(): Manifest {
  return JSON.parse(fs.readFileSync('package.json', 'utf8')) as Manifest;
}

export function sourceOf(target: Target): string | undefined {
  return typeof target === 'string' ? undefined : target['parley-source'];
}

/** Returns the name of the package that a specifier such as `@scope/name/sub` belongs to. */
export function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** Writes package.json, with what both packages have in common, and the files that every package has. */
export function writeManifest(
  folder: string,
  { version, license, author, type, sideEffects, engines }: Manifest,
  { name, ...own }: { name: string } & Record<string, unknown>,
): void {
  fs.copyFileSync('LICENSE', path.join(folder, 'LICENSE'));
  fs.copyFileSync(`packages/${name}/README.md`, path.join(folder, 'README.md'));
  const files = fs.readdirSync(folder).toSorted();
  const published = { name, version, license, author, type, sideEffects, engines, files, ...own };
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
}

/** Returns the versions of some packages, as the root package.json has them. */
export function versionsOf(
  { dependencies, devDependencies }: Manifest,
  names: readonly string[],
  prefix = '',
): Record<string, string> {
  const known = { ...devDependencies, ...dependencies };
  return Object.fromEntries(
    names.map((name) => {
      const version = known[name];
      if (version === undefined) throw new Error(`package.json has no version of ${name}`);
      return [name, prefix + version];
    }),
  );
}
