/** A run that will not go on, to those who have left a part of it to others. */
import type { Event } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

export interface CanceledRun {
  readonly runId: string;
  readonly session: SessionKey;
  /** The session's, those of the run included. */
  readonly events: readonly Event[];
  readonly sessions: SessionStore;
  readonly signal: AbortSignal;
}
