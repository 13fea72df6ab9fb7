/** The context that the bindings, routes and adapters share. */
import type { A2AError, AgentCard, AgentExtension, ProtocolVersion } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';
import type { Admission } from './admission.ts';
import type { Mounts } from './mounts.ts';
import type { OwnMethod, RouteReply, RouteTable } from './own-routes.ts';
import type { StreamCounter } from './stream-limits.ts';

export interface AppContext {
  readonly handler: RequestHandler;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly streams: StreamCounter;
  /** The supported protocol versions, oldest first. */
  readonly versions: readonly ProtocolVersion[];
  readonly extensions: readonly AgentExtension[];
  readonly extensionOf: ((uri: string) => string | undefined) | undefined;
  /** The agent's own methods and routes, if it has any. */
  readonly methods: ReadonlyMap<string, OwnMethod> | undefined;
  readonly routes: RouteTable | undefined;
  /** Returns the agent's card for clients that use the address `base`. */
  readonly cardAt: (base: string) => AgentCard;
  /** Returns the profile from which the card is made. If the card changes, this must be a different object. */
  readonly profile: () => object;
  /** Other agents with the same handler, each at its own path. */
  readonly mounts: Mounts | undefined;
  /** Formats an error on a path outside the protocol. */
  readonly describe: ((error: A2AError) => RouteReply | undefined) | undefined;
}
