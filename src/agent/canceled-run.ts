/** A run that will not go on: what prompts say of it, and what those are told who have left a part of it to others. */
import type { Event } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

/** What the log says behind the request, as the user's own words. */
export const CANCELED_REQUEST = '[The user canceled this request.]';

export interface CanceledRun {
  readonly runId: string;
  readonly session: SessionKey;
  /** The session's, those of the run included. */
  readonly events: readonly Event[];
  readonly sessions: SessionStore;
  readonly signal: AbortSignal;
}
