/** The agents that callers registered. They are stored in the register. */
import type { Dispatcher } from 'undici';
import * as z from 'zod';
import { A2AError } from '../../protocol/index.ts';
import type { SecretBox } from '../../store/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Register } from '../register/register.ts';
import { AgentConfig, type AgentInput } from './config.ts';
import { RemoteAgent } from './remote.ts';

export interface AgentRegistry {
  find(workspace: string, name: string): RemoteAgent | undefined;
  list(workspace: string): RemoteAgent[];
  all(): RemoteAgent[];
  /** Creates an agent without storing it. Throws if the agent's headers cannot be stored. */
  draft(workspace: string, name: string, input: AgentInput, before: RemoteAgent | undefined): Draft;
  /** Removes the agent in the caller's transaction. Returns false if the agent does not exist. */
  remove(workspace: string, name: string): boolean;
  /** Marks the agents in memory as outdated, so that the next call reads the register again. */
  drop(): void;
  /** Caches this object for the stored agent, because the object may already have the agent's card. */
  remember(workspace: string, agent: RemoteAgent): void;
}

export interface Draft {
  readonly agent: RemoteAgent;
  readonly headerNames: readonly string[];
  /**
   * Stores the agent in the caller's transaction. With `create`, throws `conflict` if the agent already exists. Without
   * `create`, returns false if the agent does not exist.
   */
  save(create: boolean): boolean;
}

const MAX_AGENTS = 200;
const StoredHeaders = z.record(z.string(), z.string());

interface Options {
  readonly register: Register;
  /** Encrypts the agents' headers. If undefined, agents with headers are refused. */
  readonly secrets: SecretBox | undefined;
  readonly logger: Logger;
  readonly dispatcher: Dispatcher;
}

export function createAgentRegistry({
  register,
  secrets,
  dispatcher,
  logger,
}: Options): AgentRegistry {
  const { db } = register;
  const selectAll = db.prepare('SELECT workspace, name, settings, headers, updated_at FROM agents');
  const insert = db.prepare('INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING');
  const update = db.prepare(
    'UPDATE agents SET settings = ?, headers = ?, updated_at = ? WHERE workspace = ? AND name = ?',
  );
  const remove = db.prepare('DELETE FROM agents WHERE workspace = ? AND name = ?');
  const count = db.prepare('SELECT count(*) AS count FROM agents WHERE workspace = ?');
  /** The agents by workspace and name. The object of an unchanged agent is kept, with its card and health. */
  let known = new Map<string, { agent: RemoteAgent; row: string }>();
  let version: number | undefined;

  function read(): Map<string, { agent: RemoteAgent; row: string }> {
    const now = register.changed();
    if (now === version) return known;
    const next = new Map<string, { agent: RemoteAgent; row: string }>();
    for (const row of register.read(() => selectAll.all())) {
      const { workspace, name, settings, headers } = row;
      if (typeof workspace !== 'string' || typeof name !== 'string') continue;
      const sealed = headers instanceof Uint8Array ? headers : undefined;
      const text = `${String(settings)}\0${sealed ? Buffer.from(sealed).toString('base64') : ''}`;
      const key = keyOf(workspace, name);
      const before = known.get(key);
      const agent =
        before?.row === text
          ? before.agent
          : new RemoteAgent({
              name,
              source: 'api',
              settings: {
                ...AgentConfig.parse(JSON.parse(String(settings))),
                ...opened(workspace, name, sealed),
              },
              dispatcher,
            });
      next.set(key, { agent, row: text });
    }
    known = next;
    version = now;
    return known;
  }

  /** Returns the decrypted headers. Leaves out headers that cannot be decrypted. The agent then refuses requests. */
  function opened(workspace: string, name: string, sealed: Uint8Array | undefined) {
    const text = sealed && secrets?.open(sealed, placeOf(workspace, name));
    return text === undefined ? {} : { headers: StoredHeaders.parse(JSON.parse(text)) };
  }

  function seal(text: string, place: string): Uint8Array {
    try {
      if (secrets) return secrets.seal(text, place);
    } catch (error) {
      logger.error({ err: error }, 'cannot encrypt the headers of an agent: set PARLEY_SECRET_KEY');
    }
    throw new A2AError(
      'invalidParams',
      'headers: this gateway has no key to store secrets. To enable this, the operator can set PARLEY_SECRET_KEY',
    );
  }

  function headersFor(input: AgentInput, before: RemoteAgent | undefined): Record<string, string> {
    if (input.headers !== undefined) return input.headers;
    const kept = before?.settings.headers ?? {};
    if (Object.keys(kept).length === 0) return {};
    // A caller who does not know the headers must not be able to send them to another address.
    if (reach(input) === reach(before!.settings)) return kept;
    throw new A2AError(
      'invalidParams',
      'headers: required if the address or allowOrigins change. Use {} for no headers',
    );
  }

  /** Re-encrypts headers that were encrypted with an older key, so that the older key can be removed. */
  function reseal(): void {
    if (!secrets?.hasOldKeys) return;
    register.transaction(() => {
      for (const { workspace, name, settings, headers, updated_at: at } of selectAll.all()) {
        if (!(headers instanceof Uint8Array)) continue;
        const place = placeOf(String(workspace), String(name));
        const found = secrets.openAny(headers, place);
        if (!found?.isOld) continue;
        const sealed = secrets.seal(found.text, place);
        update.run(String(settings), sealed, Number(at), String(workspace), String(name));
      }
    });
  }

  try {
    reseal();
  } catch (error) {
    logger.error({ err: error }, 'failed to encrypt the headers of agents with the new key');
  }

  return {
    find: (workspace, name) => read().get(keyOf(workspace, name))?.agent,
    list: (workspace) =>
      [...read()].flatMap(([key, { agent }]) => (key.startsWith(`${workspace}\0`) ? [agent] : [])),
    all: () => [...read().values()].map(({ agent }) => agent),
    draft(workspace, name, input, before) {
      const headers = headersFor(input, before);
      const headerNames = Object.keys(headers);
      const { headers: _, ...shown } = input;
      const sealed =
        headerNames.length > 0 ? seal(JSON.stringify(headers), placeOf(workspace, name)) : null;
      const settings = headerNames.length > 0 ? { ...shown, headers } : shown;
      return {
        agent: new RemoteAgent({ name, source: 'api', settings, dispatcher }),
        headerNames,
        save(create) {
          const now = Date.now();
          const text = JSON.stringify(shown);
          if (!create) {
            return Number(update.run(text, sealed, now, workspace, name).changes) > 0;
          }
          if (Number(count.get(workspace)?.['count']) >= MAX_AGENTS) {
            throw new A2AError('conflict', `A workspace can have at most ${MAX_AGENTS} agents`);
          }
          const { changes } = insert.run(workspace, name, text, sealed, now, now);
          if (changes === 0) throw new A2AError('conflict', `The agent ${name} already exists`);
          return true;
        },
      };
    },
    remove: (workspace, name) => Number(remove.run(workspace, name).changes) > 0,
    drop() {
      version = undefined;
    },
    remember(workspace, agent) {
      const key = keyOf(workspace, agent.name);
      const entry = read().get(key);
      if (entry) known.set(key, { ...entry, agent });
    },
  };
}

/** Returns the origins that receive the headers. */
function reach({ url, allowOrigins = [] }: AgentInput): string {
  return JSON.stringify([url, ...allowOrigins].map((address) => new URL(address).origin));
}

function keyOf(workspace: string, name: string): string {
  return `${workspace}\0${name}`;
}

function placeOf(workspace: string, name: string): string {
  return `agent ${workspace} ${name}`;
}
