/** The large programs that `npm run test:clients` tries, and where they are installed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Program {
  /** The name of its folder in the cache. */
  readonly name: string;
  /** Its packages, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
}

export const programs = {
  adk: { name: 'adk', packages: { '@google/adk': '2.0.0' } },
  mastra: { name: 'mastra', packages: { '@mastra/core': '1.71.0' } },
  acpx: { name: 'acpx', packages: { acpx: '0.19.1' } },
  geminiCli: { name: 'gemini-cli', packages: { '@google/gemini-cli': '0.61.0' } },
  geminiServer: {
    name: 'gemini-cli-a2a-server',
    packages: { '@google/gemini-cli-a2a-server': '0.25.2' },
  },
} satisfies Record<string, Program>;

const CACHE = resolve(process.env['PARLEY_CLIENTS_CACHE'] ?? 'node_modules/.cache/parley-clients');

/** Returns the folder of a program. */
export function folderOf({ name }: Program): string {
  return join(CACHE, name);
}

/** Installs a program, unless the cache has it already. Install scripts of the packages do not run. */
export function install(program: Program): void {
  const folder = folderOf(program);
  const wanted = JSON.stringify(program.packages);
  const mark = join(folder, 'installed.json');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return;
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, type: 'module', dependencies: program.packages };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  const { status } = spawnSync('npm', ['install', ...flags], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm could not install ${program.name}`);
  writeFileSync(mark, wanted);
}

/** Imports a module of a program's package. */
export async function importFrom<T>(program: Program, module: string): Promise<T> {
  const from = createRequire(join(folderOf(program), 'package.json'));
  return (await import(pathToFileURL(from.resolve(module)).href)) as T;
}

/** Returns the path of a command that a program brings. */
export function binOf(program: Program, command: string): string {
  return join(folderOf(program), 'node_modules', '.bin', command);
}
