/**
 * The texts that inform models about a canceled run, and the data for the `cancel` methods of agents and tools.
 */
import type { Event } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

/** The reason in the responses to open calls of a canceled run. */
export const STOPPED_BY_USER = 'stopped by the user';

/** The user message that follows a canceled request in the conversation for models. */
export const CANCELED_REQUEST = '[The user canceled this request.]';

/** The data that the `cancel` method of an agent or a tool receives about a canceled run. */
export interface CanceledRun {
  readonly runId: string;
  readonly session: SessionKey;
  /** The session's events, including those of the run, as they were before the run was ended. */
  readonly events: readonly Event[];
  readonly sessions: SessionStore;
  readonly signal: AbortSignal;
}
