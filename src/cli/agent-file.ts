/** An agent from a file of the user's: a module whose default export, or export `agent`, is an Agent. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../server/index.ts';
import { reasonOf, systemCode, usageError } from './exit.ts';

const HOW = "export default createAgent(…) of 'parley-a2a/server'";

export interface AgentFile {
  readonly agent: Agent;
  /** A name for its store that no other file's has. */
  readonly storeName: string;
}

/** Loads the agent. `name` is a path from the current folder. */
export async function loadAgentFile(name: string): Promise<AgentFile> {
  const file = path.resolve(name);
  if (!existsSync(file)) {
    throw usageError(
      `there is no agent "${name}": use echo, bench, conformance, or the path of a .ts or .js file`,
    );
  }
  lendPackage();
  const agent = agentOf(await importFile(name, file));
  if (!agent) throw usageError(`${name} exports no agent: it should ${HOW}`);
  const place = createHash('sha256').update(file).digest('hex').slice(0, 8);
  const base = path.basename(file, path.extname(file)).replaceAll(/[^\w.-]+/g, '-');
  return { agent, storeName: `${base}-${place}` };
}

async function importFile(name: string, file: string): Promise<object> {
  try {
    return (await import(pathToFileURL(file).href)) as object;
  } catch (error) {
    const kind = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : '';
    throw usageError(`cannot load ${name}: ${kind}${reasonOf(error)}`, { cause: error });
  }
}

function agentOf(module: object): Agent | undefined {
  const exported = module as { readonly default?: unknown; readonly agent?: unknown };
  return [exported.default, exported.agent].find(isAgent);
}

function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { profile, execute } = value as Partial<Agent>;
  return (
    typeof execute === 'function' &&
    typeof profile === 'object' &&
    typeof profile.name === 'string' &&
    typeof profile.description === 'string'
  );
}

/** A file that imports parley-a2a where it is not installed gets it from the program that runs it. */
function lendPackage(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (!/^parley-a2a(\/|$)/.test(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (systemCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}
