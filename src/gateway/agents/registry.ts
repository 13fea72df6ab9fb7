/**
 * The agents that callers registered. They are stored in the register (the gateway's database), and all of them are
 * kept in memory. With SQLite, each access checks whether the register has changed. With PostgreSQL, the agents are
 * read again when the register reports a change.
 */
import * as z from 'zod';
import { andThen, type MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { SecretBox } from '../../store/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { type Register, type Row, statement, type Steps } from '../register/register.ts';
import { AgentConfig, type AgentInput } from './config.ts';
import type { AgentRoute } from './dialler.ts';
import { RemoteAgent } from './remote.ts';

const MAX_AGENTS = 200;
const StoredHeaders = z.record(z.string(), z.string());

interface Options {
  readonly register: Register;
  /** Encrypts the agents' headers. If undefined, agents with headers are refused. */
  readonly secrets: SecretBox | undefined;
  readonly logger: Logger;
  readonly route: AgentRoute;
}

const SQL = {
  all: statement('SELECT workspace, name, settings, headers, updated_at FROM agents'),
  insert: statement(`
    INSERT INTO agents (workspace, name, settings, headers, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`),
  update: statement(
    'UPDATE agents SET settings = ?, headers = ?, updated_at = ? WHERE workspace = ? AND name = ?',
  ),
  remove: statement('DELETE FROM agents WHERE workspace = ? AND name = ?'),
  count: statement('SELECT count(*) AS count FROM agents WHERE workspace = ?'),
};

interface Known {
  readonly agent: RemoteAgent;
  /** The stored settings and headers (`rowText`). */
  readonly row: string;
}

export function createAgentRegistry({ register, secrets, route, logger }: Options) {
  /** The agents by workspace and name. After a read, an unchanged agent keeps its object, with its card and health. */
  let known = new Map<string, Known>();
  /** The agents whose stored headers cannot be decrypted. */
  const unreadable = new Set<string>();
  let version: number | undefined;
  let loading: Promise<void> | undefined;

  function use(rows: readonly Row[]): void {
    const next = new Map<string, Known>();
    for (const { workspace, name, settings, headers } of rows) {
      if (typeof workspace !== 'string' || typeof name !== 'string') continue;
      const sealed = headers instanceof Uint8Array ? headers : undefined;
      const row = rowText(String(settings), sealed);
      const key = keyOf(workspace, name);
      const before = known.get(key);
      const agent =
        before?.row === row
          ? before.agent
          : new RemoteAgent({
              name,
              source: 'api',
              settings: {
                ...AgentConfig.parse(JSON.parse(String(settings))),
                ...opened(workspace, name, sealed),
              },
              route,
            });
      next.set(key, { agent, row });
    }
    known = next;
  }

  /**
   * Reads the register if it has changed. With PostgreSQL, must be called before the first access and after each
   * change.
   */
  function load(): MaybePromise<void> {
    // The register may have changed since the read in progress began. So `load` runs again when this read has ended.
    if (loading) return loading.then(load);
    const seen = register.changed();
    if (seen === version) return undefined;
    const read = andThen(
      register.read(() => SQL.all.all()),
      (rows) => {
        use(rows);
        version = seen;
      },
    );
    if (!(read instanceof Promise)) return undefined;
    loading = read.finally(() => (loading = undefined));
    return loading.then(load);
  }

  /**
   * Returns the agents. With SQLite, reads them first if they have changed. With PostgreSQL, returns those that the
   * last `load` read.
   */
  function agents(): Map<string, Known> {
    if (register.kind === 'sqlite') void load();
    return known;
  }

  register.onChange(() => {
    Promise.resolve()
      .then(load)
      .catch((error: unknown) => logger.warn({ err: error }, 'failed to read the agents again'));
  });

  /**
   * Returns the decrypted headers. If they cannot be decrypted, returns none, and the agent gets requests without them.
   */
  function opened(workspace: string, name: string, sealed: Uint8Array | undefined) {
    const text = sealed && secrets?.open(sealed, placeOf(workspace, name));
    unreadable.delete(keyOf(workspace, name));
    if (text !== undefined) return { headers: StoredHeaders.parse(JSON.parse(text)) };
    if (sealed) {
      unreadable.add(keyOf(workspace, name));
      logger.error(
        { workspace, agent: name },
        'cannot decrypt the headers of an agent, which gets requests without them: set PARLEY_PREVIOUS_SECRET_KEY to the key that encrypted them',
      );
    }
    return {};
  }

  function seal(text: string, place: string): Uint8Array {
    try {
      if (secrets) return secrets.seal(text, place);
    } catch (error) {
      logger.error({ err: error }, 'cannot encrypt the headers of an agent: set PARLEY_SECRET_KEY');
    }
    throw new A2AError(
      'invalidParams',
      'headers: this gateway has no key to store secrets: send no headers, or ask the operator to set PARLEY_SECRET_KEY',
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
  async function reseal(): Promise<void> {
    const box = secrets;
    if (!box?.hasOldKeys) return;
    await register.change(function* () {
      const rows = yield* SQL.all.all();
      for (const { workspace, name, settings, headers, updated_at: at } of rows) {
        if (!(headers instanceof Uint8Array)) continue;
        const names = [String(workspace), String(name)] as const;
        const place = placeOf(...names);
        const found = box.openAny(headers, place);
        if (!found?.isOld) continue;
        const sealed = box.seal(found.text, place);
        yield* SQL.update.run(String(settings), sealed, Number(at), ...names);
      }
    });
  }

  reseal().catch((error: unknown) =>
    logger.error({ err: error }, 'failed to encrypt the headers of agents with the new key'),
  );

  return {
    find: (workspace: string, name: string) => agents().get(keyOf(workspace, name))?.agent,
    list: (workspace: string) =>
      [...agents()].flatMap(([key, { agent }]) =>
        key.startsWith(`${workspace}\0`) ? [agent] : [],
      ),
    all: () => [...agents().values()].map(({ agent }) => agent),
    /**
     * Creates an agent without storing it. Throws `invalidParams` if headers cannot be stored. If `input` has no
     * headers, the agent keeps its stored headers. In this case, throws `invalidParams` if they cannot be decrypted, or
     * if they would be sent to other origins than before.
     */
    draft(workspace: string, name: string, input: AgentInput, before: RemoteAgent | undefined) {
      if (input.headers === undefined && before && unreadable.has(keyOf(workspace, name))) {
        throw new A2AError(
          'invalidParams',
          'headers: the stored headers cannot be decrypted. Send the headers again, or {} for no headers',
        );
      }
      const headers = headersFor(input, before);
      const headerNames = Object.keys(headers);
      const { headers: _, ...shown } = input;
      const sealed =
        headerNames.length > 0 ? seal(JSON.stringify(headers), placeOf(workspace, name)) : null;
      const text = JSON.stringify(shown);
      const settings = headerNames.length > 0 ? { ...shown, headers } : shown;
      return {
        agent: new RemoteAgent({ name, source: 'api', settings, route }),
        row: rowText(text, sealed ?? undefined),
        headerNames,
        /**
         * Stores the agent. Must run inside the caller's `register.change`. With `create`, throws `conflict` if the
         * agent already exists or the workspace has too many agents. Without `create`, returns false if the agent does
         * not exist.
         */
        *save(create: boolean): Steps<boolean> {
          const now = Date.now();
          if (!create) return (yield* SQL.update.run(text, sealed, now, workspace, name)) > 0;
          if (Number((yield* SQL.count.get(workspace))?.['count']) >= MAX_AGENTS) {
            throw new A2AError('conflict', `A workspace can have at most ${MAX_AGENTS} agents`);
          }
          const added = yield* SQL.insert.run(workspace, name, text, sealed, now, now);
          if (added === 0) throw new A2AError('conflict', `The agent ${name} already exists`);
          return true;
        },
      };
    },
    /** Removes the agent. Must run inside the caller's `register.change`. Returns false if the agent does not exist. */
    *remove(workspace: string, name: string): Steps<boolean> {
      return (yield* SQL.remove.run(workspace, name)) > 0;
    },
    load,
    /**
     * Uses the draft's object for the stored agent, because this object may already have the agent's card. Does nothing
     * if the agent has been changed or removed since the draft was stored.
     */
    remember(workspace: string, { agent, row }: Known): void {
      const key = keyOf(workspace, agent.name);
      if (agents().get(key)?.row === row) known.set(key, { agent, row });
    },
  };
}

/** Returns the origins that receive the headers. */
function reach({ url, allowOrigins = [] }: AgentInput): string {
  return JSON.stringify([url, ...allowOrigins].map((address) => new URL(address).origin));
}

/** Returns one text for the stored settings and headers, to recognize a change. */
function rowText(settings: string, sealed: Uint8Array | undefined): string {
  return `${settings}\0${sealed ? Buffer.from(sealed).toString('base64') : ''}`;
}

function keyOf(workspace: string, name: string): string {
  return `${workspace}\0${name}`;
}

function placeOf(workspace: string, name: string): string {
  return `agent ${workspace} ${name}`;
}
