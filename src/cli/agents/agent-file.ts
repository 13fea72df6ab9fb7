/**
 * An agent from a file of the user's: a module whose default export, or export `agent`, is one. It may be an agent of
 * the framework (`parley-a2a/agent`) or of the server (`createAgent`); what it is shows in its shape, because the file
 * may use another copy of the package than this program.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { reasonOf, systemCode } from '../../base/index.ts';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Agent as FrameworkAgent } from '../../agent/index.ts';
import type { A2AAgent } from '../../tasks/index.ts';
import { usageError } from '../program/exit.ts';

const HOW = 'export default llmAgent(…) or createAgent(…)';

export interface AgentFile {
  readonly agent: A2AAgent | FrameworkAgent;
  /** Its absolute path. */
  readonly file: string;
  /** A name for its store that no other file's has. */
  readonly storeName: string;
}

/** Loads the agent. `name` is a path from the current folder. */
export async function loadAgentFile(name: string): Promise<AgentFile> {
  const file = path.resolve(name);
  if (!existsSync(file)) {
    throw usageError(
      `there is no agent "${name}": use coder, echo, bench, conformance, or the path of a .ts or .js file`,
    );
  }
  lendPackages();
  const agent = agentOf(name, await importFile(name, file));
  const place = createHash('sha256').update(file).digest('hex').slice(0, 8);
  const base = path.basename(file, path.extname(file)).replaceAll(/[^\w.-]+/g, '-');
  return { agent, file, storeName: `${base}-${place}` };
}

export function isFrameworkAgent(value: unknown): value is FrameworkAgent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, description, subAgents, run } = value as Partial<FrameworkAgent>;
  return (
    typeof run === 'function' &&
    typeof name === 'string' &&
    typeof description === 'string' &&
    Array.isArray(subAgents)
  );
}

function isServerAgent(value: unknown): value is A2AAgent {
  if (typeof value !== 'object' || value === null) return false;
  const { profile, execute } = value as Partial<A2AAgent>;
  return (
    typeof execute === 'function' &&
    typeof profile === 'object' &&
    typeof profile.name === 'string' &&
    typeof profile.description === 'string'
  );
}

function agentOf(name: string, module: object): A2AAgent | FrameworkAgent {
  const exported = module as { readonly default?: unknown; readonly agent?: unknown };
  const candidates = [exported.default, exported.agent].filter((each) => each !== undefined);
  for (const each of candidates) if (isServerAgent(each) || isFrameworkAgent(each)) return each;
  if (candidates.length === 0) throw usageError(`${name} has no default export: ${HOW}`);
  throw usageError(
    `${name} exports no agent but ${kindOf(candidates[0])}: it should ${HOW}, not what makes or runs one`,
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'another object' : `a ${typeof value}`;
}

async function importFile(name: string, file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    const kind = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : '';
    throw usageError(`cannot load ${placeOf(error, name, file)}: ${kind}${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** The file with the line where it went wrong, as far as that can be told. */
function placeOf(error: unknown, name: string, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  // Syntax errors begin with the place; of others, the frame in the user's own file counts.
  let [, at, line] = /^(.+):(\d+)\n/.exec(stack) ?? [];
  if (at === undefined) {
    line = stack.split(`${pathToFileURL(file).href}:`)[1]?.match(/^\d+/)?.[0];
    if (line === undefined && error instanceof SyntaxError) line = checkedLine(file);
  } else if (at.startsWith('file:')) {
    at = fileURLToPath(at);
  }
  const where = at === undefined || at === file ? name : path.relative('', at);
  return line === undefined ? where : `${where}:${line}`;
}

/** Only Node's own report has the line of a slip in plain JavaScript. */
function checkedLine(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', file], {
    encoding: 'utf8',
    timeout: 5000,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return /^.+:(\d+)\n/.exec(stderr)?.[1];
}

/** A file that imports parley-a2a or zod where it is not installed gets it from the program that runs it. */
function lendPackages(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^(parley-a2a|zod)(\/|$)/.test(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (systemCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
