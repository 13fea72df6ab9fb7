/**
 * Several agents behind one server and one handler, each at a path of its own, with its own card:
 *
 *   serve(agent, { mounts: { path: '/agents', find: (name, user) => doors.get(name) }, authenticate, … });
 *
 * `/agents/weather` is then an A2A agent like any other: JSON-RPC and REST in both versions, and its card. Who calls is
 * asked first, for the card too, because `find` may show different agents to different callers. What they say of the
 * user (`authenticate` is told the mount) decides whose tasks are seen: a mount has no tasks of its own.
 */
import type { AgentCard, User } from '../protocol/index.ts';
import type { AgentProfile } from '../tasks/index.ts';
import type { TransportRequest } from './request.ts';

/** An agent that is served at a path of its own. */
export interface MountedAgent {
  /** What the card is made of. A mount whose card has changed is another object. */
  readonly profile: AgentProfile;
  readonly card?: Partial<AgentCard>;
}

/** Finds the agents that are served at paths below one path. */
export interface MountOptions {
  /** Where they are, each under its name. */
  readonly path: string;
  /** The agent of that name, as far as this caller is concerned. */
  find(name: string, user: User | undefined): MountedAgent | undefined;
}

export interface Mounts extends MountOptions {
  cardAt(mounted: MountedAgent, base: string): AgentCard;
}

/** The name in a path under the mounts, and where the agent's own path begins. Undefined: it is not under them. */
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

/** A request as the mounted agent sees it. */
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
