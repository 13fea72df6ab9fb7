/** The context that the bindings, routes and adapters share. */
import type { SigningKeys } from '../base/signing/index.ts';
import type { A2AError, AgentCard, AgentExtension, ProtocolVersion } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';
import type { Admission } from './admission.ts';
import type { Mounts } from './mounts.ts';
import type { FailedRequest, OwnMethod, RouteReply, RouteTable } from './own-routes.ts';
import type { PendingBytes } from './pending-bytes.ts';
import type { SignedHosts } from './signed-hosts.ts';
import type { StreamCounter } from './stream-limits.ts';

export interface AppContext {
  readonly handler: RequestHandler;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly streams: StreamCounter;
  readonly pending: PendingBytes;
  /** The keys that the server publishes. */
  readonly signing: SigningKeys;
  /** Whether the keys in `signing` also sign the cards. */
  readonly signsCards: boolean;
  /** Limits the number of Host headers for which cards are signed. */
  readonly signedHosts: SignedHosts;
  /** The supported protocol versions, oldest first. */
  readonly versions: readonly ProtocolVersion[];
  readonly extensions: readonly AgentExtension[];
  readonly extensionOf: ((uri: string) => string | undefined) | undefined;
  /** The agent's own methods and routes, if it has any. */
  readonly methods: ReadonlyMap<string, OwnMethod> | undefined;
  readonly routes: RouteTable | undefined;
  /** Returns the page for a browser that opens the server's address, or undefined for the usual text. */
  readonly home: ((request: FailedRequest) => RouteReply | undefined) | undefined;
  /** Returns the agent's card for clients that use the address `base`. */
  readonly cardAt: (base: string) => AgentCard;
  /**
   * Returns an object that identifies the current card. After every change of the card, it must be a different object.
   */
  readonly profile: () => object;
  /** Other agents with the same handler, each at its own path. */
  readonly mounts: Mounts | undefined;
  /** Returns the response for an error on a path that is not part of A2A, or undefined for the default response. */
  readonly describe:
    | ((error: A2AError, request: FailedRequest) => RouteReply | undefined)
    | undefined;
}
