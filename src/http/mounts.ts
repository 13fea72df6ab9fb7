/**
 * Several agents with one server and one handler, each with its own path and card:
 *
 *   serve(agent, { mounts: { path: '/agents', find: (name, user) => doors.get(name) }, authenticate, … });
 *
 * `/agents/weather` is then an A2A agent with JSON-RPC and REST in both versions, and a card. Callers are authenticated
 * for the card too, because `find` may return different agents to different callers. `authenticate` gets the mount, and
 * the user that it returns decides whose tasks are visible. A mount has no tasks of its own.
 */
import type { AgentCard, User } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import type { TransportRequest } from './request.ts';

/** An agent that is served at a path of its own. */
export interface MountedAgent {
  /** The profile from which the card is made. A changed card means another MountedAgent object. */
  readonly profile: AgentProfile;
  readonly card?: Partial<AgentCard>;
}

/** Finds the agents that are served at paths below one path. */
export interface MountOptions {
  /** The path under which the agents are mounted by name. */
  readonly path: string;
  /** Returns the agent of that name, if this caller may see it. */
  find(name: string, user: User | undefined): MountedAgent | undefined;
}

export interface Mounts extends MountOptions {
  cardAt(mounted: MountedAgent, base: string): AgentCard;
}

/** The agent's name in a URL under the mounts, and the length of the mount's path. Undefined: not under them. */
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

/** A request without the mount's path. */
export class MountedRequest implements TransportRequest {
  readonly method: string;
  readonly url: string;
  readonly mount: string;
  readonly #outer: TransportRequest;

  constructor(outer: TransportRequest, length: number) {
    this.#outer = outer;
    this.method = outer.method;
    this.mount = outer.url.slice(0, length);
    const rest = outer.url.slice(length);
    this.url = rest.startsWith('/') ? rest : `/${rest}`;
  }

  header(name: string): string | undefined {
    return this.#outer.header(name);
  }

  get base(): string {
    return this.#outer.base + this.mount;
  }

  get remote(): string {
    return this.#outer.remote;
  }

  get local(): boolean {
    return this.#outer.local;
  }

  get signal(): AbortSignal {
    return this.#outer.signal;
  }
}
