/**
 * Serves several agents with one server and one handler. Each agent has its own path and card:
 *
 *   serve(agent, { mounts: { path: '/agents', find: (name, user) => agents.get(name) }, authenticate, … });
 *
 * In this example, `/agents/weather` is an A2A agent with a card, and with JSON-RPC and REST in both versions. Requests
 * for the card are authenticated too, because `find` may return different agents for different callers. `authenticate`
 * gets the agent's path (`request.mount`). The agents share the tasks of the handler. The user that `authenticate`
 * returns determines which of these tasks are visible.
 */
import type { MaybePromise } from '../base/index.ts';
import { A2AError, type AgentCard, type User } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import type { TransportRequest } from './request.ts';

/** An agent that is served at its own path. */
export interface MountedAgent {
  /**
   * The profile from which the card is made. If the card changes, `find` must return a different MountedAgent object.
   */
  readonly profile: AgentProfile;
  readonly card?: Partial<AgentCard>;
}

/** The options for agents that are served below one path. */
export interface MountOptions {
  /** The path under which the agents are mounted by name. */
  readonly path: string;
  /** Returns the agent with this name, or undefined if it does not exist or the caller may not see it. */
  find(name: string, user: User | undefined): MaybePromise<MountedAgent | undefined>;
  /**
   * Returns the name of the agent whose card is at `PATH/.well-known/agent-card.json`, or undefined if there is no such
   * agent. Some clients resolve the card's path relative to the address `PATH/NAME`. If this address has no trailing
   * slash, they request this card instead of the agent's own card.
   */
  unnamed?(user: User | undefined): string | undefined;
  /**
   * Returns the user of a call that selects an agent by the field `tenant` of its parameters. Calls over gRPC do this,
   * because they have no path. The tenant is the agent's path without the first slash, for example `agents/weather`.
   * Without this function, agents cannot be selected in this way.
   */
  userOf?(tenant: string, user: User | undefined): User;
}

export interface Mounts extends MountOptions {
  cardAt(mounted: MountedAgent, base: string): AgentCard;
}

/**
 * Returns the agent's name in a URL, and the length of the agent's path. Returns undefined if the URL is not below the
 * path of the mounts, or has no name there.
 */
export function mountAt(
  { path: root }: MountOptions,
  url: string,
): { readonly name: string; readonly length: number } | undefined {
  if (!url.startsWith(root) || url[root.length] !== '/') return undefined;
  const from = root.length + 1;
  const found = url.slice(from).search(/[/?]/);
  const length = found < 0 ? url.length : from + found;
  const name = url.slice(from, length);
  return name === '' ? undefined : { name, length };
}

/** Returns the tenant that selects the agent at the address `base`, or undefined if tenants do not select agents. */
export function tenantOf(mounts: MountOptions, base: string): string | undefined {
  return mounts.userOf && base.slice(base.lastIndexOf(`${mounts.path}/`) + 1);
}

/** A call that selects a mounted agent by its tenant. */
export interface SelectedAgent {
  readonly agent: MountedAgent;
  readonly user: User;
  readonly request: TransportRequest;
}

/**
 * Returns the agent that a tenant selects. Returns undefined if tenants do not select agents, or if the tenant is not
 * the path of a mount. Throws `notFound` if there is no such agent for the user.
 */
export async function selectAgent(
  mounts: MountOptions | undefined,
  tenant: string,
  request: TransportRequest,
  user: User | undefined,
): Promise<SelectedAgent | undefined> {
  const mount = `/${tenant}`;
  const found = mounts?.userOf && mountAt(mounts, mount);
  if (!found || found.length !== mount.length) return undefined;
  const agent = await mounts?.find(found.name, user);
  if (!agent || !mounts?.userOf) throw new A2AError('notFound', 'No such agent');
  const mounted = new MountedRequest(request, 0, mount);
  return { agent, user: mounts.userOf(tenant, user), request: mounted };
}

/** A request to a mounted agent. Its `url` does not contain the mount path. */
export class MountedRequest implements TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly mount: string;
  readonly #outer: TransportRequest;

  /** `length` is the length of the prefix to remove from the request's URL. Default of `mount`: this prefix. */
  constructor(outer: TransportRequest, length: number, mount = outer.url.slice(0, length)) {
    this.#outer = outer;
    this.method = outer.method;
    this.mount = mount;
    const rest = outer.url.slice(length);
    this.url = rest.startsWith('/') ? rest : `/${rest}`;
  }

  header(name: string): string | undefined {
    return this.#outer.header(name);
  }

  get base(): string {
    return this.#outer.base + this.mount;
  }

  get repeated(): string | undefined {
    return this.#outer.repeated;
  }

  get remote(): string {
    return this.#outer.remote;
  }

  get local(): boolean {
    return this.#outer.local;
  }

  get connection(): TransportRequest['connection'] {
    return this.#outer.connection;
  }

  get signal(): AbortSignal {
    return this.#outer.signal;
  }
}
