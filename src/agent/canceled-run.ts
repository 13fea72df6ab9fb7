/** A canceled run: the text that later prompts show, and the data for agents that have delegated part of it. */
import type { Event } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

/** The log has this text after the canceled request, as a message of the user. */
export const CANCELED_REQUEST = '[The user canceled this request.]';

/** The run that was canceled, for `cancel` of an agent or a tool. */
export interface CanceledRun {
  readonly runId: string;
  readonly session: SessionKey;
  /** The session's events, including those of the run. */
  readonly events: readonly Event[];
  readonly sessions: SessionStore;
  readonly signal: AbortSignal;
}
