/** The large programs that `npm run test:clients` tries, and where they are installed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Program {
  /** The name of its folder in the cache. */
  readonly name: string;
  /** Its packages, with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
}

export const programs = {
  adk: { name: 'adk', packages: { '@google/adk': '2.0.0', express: '5.3.0' } },
  mastra: { name: 'mastra', packages: { '@mastra/core': '1.71.0' } },
  aiSdk: { name: 'ai-sdk', packages: { ai: '6.0.326', 'a2a-ai-provider': '0.5.0-alpha.1' } },
  agUi: {
    name: 'ag-ui',
    packages: { '@ag-ui/a2a': '0.0.6', '@ag-ui/client': '1.0.0', '@ag-ui/core': '1.0.0' },
  },
  acpx: { name: 'acpx', packages: { acpx: '0.19.1' } },
  geminiCli: { name: 'gemini-cli', packages: { '@google/gemini-cli': '0.61.0' } },
  geminiServer: {
    name: 'gemini-cli-a2a-server',
    packages: { '@google/gemini-cli-a2a-server': '0.25.2' },
  },
  langChain: {
    name: 'langchain',
    packages: { '@langchain/core': '1.2.13', '@langchain/openai': '1.6.0' },
  },
  openaiAgents: { name: 'openai-agents', packages: { '@openai/agents': '0.20.0', zod: '4.6.7' } },
  qwenCode: { name: 'qwen-code', packages: { '@qwen-code/qwen-code': '0.24.4' } },
  claudeCode: { name: 'claude-code', packages: { '@anthropic-ai/claude-code': '2.1.325' } },
  codex: { name: 'codex', packages: { '@openai/codex': '0.166.0' } },
  opencode: { name: 'opencode', packages: { 'opencode-ai': '1.18.33' } },
} satisfies Record<string, Program>;

const CACHE = resolve(process.env['PARLEY_CLIENTS_CACHE'] ?? 'node_modules/.cache/parley-clients');

/** A module in the program's folder that imports the program's packages, because imports start from a file. */
const LOADER = 'load.js';

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
  writeFileSync(join(folder, LOADER), 'export const load = (name) => import(name);\n');
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  const { status } = spawnSync('npm', ['install', ...flags], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm could not install ${program.name}`);
  writeFileSync(mark, wanted);
}

/** Imports a module of a program's package. */
export async function importFrom<T>(program: Program, module: string): Promise<T> {
  const loader = (await import(pathToFileURL(join(folderOf(program), LOADER)).href)) as {
    load(name: string): Promise<T>;
  };
  return loader.load(module);
}

/** Returns the path of a command that a program brings. */
export function binOf(program: Program, command: string): string {
  return join(folderOf(program), 'node_modules', '.bin', command);
}
