/** What all of the transport shares. */
import type { AgentCard, AgentExtension, ProtocolVersion } from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../server/index.ts';
import type { Admission } from './admission.ts';
import type { StreamCounter } from './stream-limits.ts';

export interface AppContext {
  readonly handler: RequestHandler;
  readonly logger: Logger;
  readonly admission: Admission;
  readonly streams: StreamCounter;
  /** The versions that are spoken, oldest first. */
  readonly versions: readonly ProtocolVersion[];
  readonly extensions: readonly AgentExtension[];
  /** The card of the agent as it is reached at `base`. */
  readonly cardAt: (base: string) => AgentCard;
}
