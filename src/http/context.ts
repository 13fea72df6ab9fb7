/** What all of the transport shares. */
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
  /** The versions that are spoken, oldest first. */
  readonly versions: readonly ProtocolVersion[];
  readonly extensions: readonly AgentExtension[];
  readonly extensionOf: ((uri: string) => string | undefined) | undefined;
  /** What the agent offers beside the protocol; undefined: nothing. */
  readonly methods: ReadonlyMap<string, OwnMethod> | undefined;
  readonly routes: RouteTable | undefined;
  /** The card of the agent as it is reached at `base`. */
  readonly cardAt: (base: string) => AgentCard;
  /** What the card is made of: another object when the card has changed. */
  readonly profile: () => object;
  /** Other agents behind the same handler, each at a path of its own. */
  readonly mounts: Mounts | undefined;
  /** An error on a path that is not the protocol's, in words of the agent's own. */
  readonly describe: ((error: A2AError) => RouteReply | undefined) | undefined;
}
