/** The text that tells models about a canceled run, and the data for agents that have delegated part of the run. */
import type { Event } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

/** The reason in the responses to the calls of a canceled run. */
export const STOPPED_BY_USER = 'stopped by the user';

/** When a request is canceled, this text is stored after it as a message of the user. */
export const CANCELED_REQUEST = '[The user canceled this request.]';

/** A canceled run, as an agent or a tool gets it in `cancel`. */
export interface CanceledRun {
  readonly runId: string;
  readonly session: SessionKey;
  /** The session's events, including those of the run. */
  readonly events: readonly Event[];
  readonly sessions: SessionStore;
  readonly signal: AbortSignal;
}
