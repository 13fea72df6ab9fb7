/**
 * Loads an agent from a module file. The agent is the default export of the module, or the export `agent`. The agent
 * may be made with the framework (`parley-a2a/agent`) or with `createAgent` of the server. Its kind is recognized by
 * its properties, not by `instanceof`, because the file and this program may use different copies of the package.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Agent as FrameworkAgent, Model } from '../../agent/index.ts';
import type { A2AAgent } from '../../tasks/index.ts';
import { reasonOf, systemCode } from '../../base/index.ts';
import { usageError } from '../program/exit.ts';
import type { Environment } from '../program/flags.ts';
import { sessionsFile, type StoreLocation } from '../program/store-location.ts';

const HOW = 'export default llmAgent(…) or createAgent(…)';

/**
 * Loads the agent. `name` is a path relative to the current folder. Also returns the absolute path, and the name of the
 * agent's store, which is unique to this file.
 */
export async function loadAgentFile(name: string) {
  const file = path.resolve(name);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
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
    `${name} exports ${kindOf(candidates[0])}, which is not an agent: it should ${HOW}`,
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
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

/** Returns the file of the error and, if known, the line. */
function placeOf(error: unknown, name: string, file: string): string {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  // The stack of some syntax errors starts with the file and the line. The stack of most other errors has a frame in
  // the user's file. The stack of a syntax error in plain JavaScript contains neither (see `checkedLine`).
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

/**
 * Returns the line of a syntax error in plain JavaScript, which only `node --check` reports. Returns undefined if the
 * error is in another file.
 */
function checkedLine(file: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', file], {
    encoding: 'utf8',
    timeout: 5000,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return /^.+:(\d+)\n/.exec(stderr)?.[1];
}

/** Lets the agent's file import this program's copies of parley-a2a and zod if they are not installed for the file. */
function lendPackages(): void {
  registerHooks({
    resolve(specifier, context, next) {
      if (!LENT.test(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (systemCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
        return next(ownCopyOf(specifier), context);
      }
    },
  });
}

/** The packages that an agent's file may import without having them installed. */
const LENT = /^(parley-a2a|zod)(\/|$)/;

/**
 * Returns the URL of this program's own copy of a package in LENT. The published program has the copies in a folder of
 * its own (`imports` in its package.json). In the repository, these packages are resolved like other packages.
 */
function ownCopyOf(specifier: string): string {
  try {
    return import.meta.resolve(`#own/${specifier}`);
  } catch (error) {
    if (systemCode(error) !== 'ERR_PACKAGE_IMPORT_NOT_DEFINED') throw error;
    return import.meta.resolve(specifier);
  }
}

interface FrameworkOptions {
  /** The file that the agent came from. */
  readonly file: string;
  /** The default model, or undefined if the environment determines it. */
  readonly model: string | undefined;
  readonly environment: Environment;
  readonly place: StoreLocation;
}

/**
 * Prepares an agent of the framework for the server. Wraps it in the bridge, and opens its sessions and artifacts next
 * to the task store. Sets a default model for agents without a model.
 *
 * Loads the framework from the copy of the package that the agent's file uses, so that the agent, the runner and the
 * bridge have the same version.
 */
export async function bridge(agent: FrameworkAgent, options: FrameworkOptions) {
  const { file, environment, place } = options;
  const open = new AsyncDisposableStack();
  const close = (): Promise<void> => open.disposeAsync();
  try {
    const { defaultModelName, model } = await load<Framework>('parley-a2a/agent', file);
    const { toA2AAgent } = await load<Bridge>('parley-a2a/bridge', file);
    const agents = [...withSubAgents(agent)];
    const defaultModel = model(options.model ?? defaultModelName(environment), {
      env: environment,
    });
    for (const each of [defaultModel, ...agents.map(modelOf)]) each?.check?.();
    for (const toolset of agents.flatMap(({ tools = [] }) => tools)) {
      if ('tools' in toolset) open.defer(() => toolset.close?.());
    }
    if (place.kind === 'memory') return { agent: toA2AAgent(agent, { defaultModel }), close };
    if (place.kind === 'postgres') {
      const stores = await load<Postgres>('parley-a2a/agent/postgres', file);
      const sessions = await stores.postgresSessions(place.url);
      open.defer(() => sessions.close());
      const artifacts = await stores.postgresArtifacts(place.url);
      open.defer(() => artifacts.close());
      return { agent: toA2AAgent(agent, { defaultModel, sessions, artifacts }), close };
    }
    const stores = await load<Sqlite>('parley-a2a/agent/sqlite', file);
    // Sessions and artifacts share a file.
    const sessionFile = sessionsFile(place.file);
    const { durability } = place;
    const sessions = stores.sqliteSessions(sessionFile, { durability });
    open.defer(() => sessions.close());
    const artifacts = stores.sqliteArtifacts(sessionFile, { durability });
    open.defer(() => artifacts.close());
    return { agent: toA2AAgent(agent, { defaultModel, sessions, artifacts }), close };
  } catch (error) {
    await close();
    throw usageError(`cannot serve ${agent.name}: ${reasonOf(error)}`, { cause: error });
  }
}

type Framework = typeof import('../../agent.ts');
type Bridge = typeof import('../../bridge.ts');
type Sqlite = typeof import('../../agent-sqlite.ts');
type Postgres = typeof import('../../agent-postgres.ts');

/**
 * Loads the module that the file would import under this name. If the package is not installed for the file, loads this
 * program's own copy.
 */
async function load<Module>(specifier: string, file: string): Promise<Module> {
  let url: string;
  try {
    url = pathToFileURL(createRequire(file).resolve(specifier)).href;
  } catch (error) {
    if (systemCode(error) === 'ERR_PACKAGE_PATH_NOT_EXPORTED') {
      const message = `the installed parley-a2a has no ${specifier}: install a newer version`;
      throw new Error(message, { cause: error });
    }
    if (systemCode(error) !== 'MODULE_NOT_FOUND') throw error;
    url = ownCopyOf(specifier);
  }
  return (await import(url)) as Module;
}

/** Returns the agent and all its direct and indirect sub-agents. */
function withSubAgents(root: FrameworkAgent): Set<FrameworkAgent> {
  const found = new Set([root]);
  for (const agent of found) for (const child of agent.subAgents) found.add(child);
  return found;
}

function modelOf(agent: FrameworkAgent & { readonly model?: Model }): Model | undefined {
  return agent.model;
}
