/**
 * Conversations and what is remembered beside them. One interface, held by test/contract/session-store.ts.
 *
 * State has four scopes, named by the key's prefix: none is the session's, `user:` is shared by the user's sessions in
 * the app, `app:` by all of the app's, `temp:` lives as long as the run and is never stored.
 */
import type { JsonValue } from '../base/index.ts';
import type { Event } from './event.ts';

export interface SessionKey {
  readonly app: string;
  readonly user: string;
  readonly id: string;
}

export type State = Readonly<Record<string, JsonValue>>;

export interface SessionSummary extends SessionKey {
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Session extends SessionSummary {
  /** All scopes but `temp:`, with their prefixes. */
  readonly state: State;
  /** In the order in which they were appended. */
  readonly events: readonly Event[];
}

export interface SessionStore {
  /** Makes the session where there is none, with this state at first, and returns it as it is. */
  open(key: SessionKey, state?: State): Promise<Session>;
  get(key: SessionKey): Promise<Session | undefined>;
  /**
   * Stores the events and their state deltas, all or none, in the order in which calls come. When it comes back they
   * are stored. An id that the session has is passed over; the result is the number of events that were stored. Partial events and `temp:` keys are left out. Costs the
   * same for the ten-thousandth event as for the first.
   */
  append(key: SessionKey, events: readonly Event[]): Promise<number>;
  /** The user's sessions, the latest first; `before` is the last one of the page before. */
  list(
    owner: Pick<SessionKey, 'app' | 'user'>,
    page?: { readonly limit?: number; readonly before?: string },
  ): Promise<readonly SessionSummary[]>;
  /** True when there was one. The user's and the app's state stay. */
  delete(key: SessionKey): Promise<boolean>;
  /** Deletes the app's sessions, of all users, whose last change was before this time. Says how many there were. */
  prune?(app: string, before: number): Promise<number>;
  close(): Promise<void>;
}

/** The session is not there (any more). */
export class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound';
  constructor(key: SessionKey) {
    super(`there is no session ${key.id}`);
  }
}
