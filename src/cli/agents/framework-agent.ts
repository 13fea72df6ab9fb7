/**
 * Prepares an agent of the framework for the server. Wraps it in the bridge, and opens its sessions and artifacts next
 * to the task store. Sets a default model for agents without a model.
 *
 * The framework is loaded from the copy of the package that the agent's file uses, so that the agent, the runner and
 * the bridge have the same version.
 */
import { createRequire } from 'node:module';
import { reasonOf, systemCode } from '../../base/index.ts';
import { pathToFileURL } from 'node:url';
import type { Agent as FrameworkAgent, Model } from '../../agent/index.ts';
import { usageError } from '../program/exit.ts';
import type { Environment } from '../program/flags.ts';
import { ownCopyOf } from './agent-file.ts';
import { sessionsFile, type StoreLocation } from '../program/store-location.ts';

interface FrameworkOptions {
  /** The file that the agent came from. */
  readonly file: string;
  /** The default model, or undefined if the environment determines it. */
  readonly model: string | undefined;
  readonly environment: Environment;
  readonly place: StoreLocation;
}

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
    const path = sessionsFile(place.file);
    const { durability } = place;
    const sessions = stores.sqliteSessions(path, { durability });
    open.defer(() => sessions.close());
    const artifacts = stores.sqliteArtifacts(path, { durability });
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
