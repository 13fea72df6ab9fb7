/**
 * Conversations and their state. Every store passes test/contract/session-store.ts.
 *
 * State has four scopes, given by the key's prefix: no prefix is the session, `user:` is shared by the user's sessions in
 * the app, `app:` by all sessions of the app, and `temp:` lasts for the run and is never stored.
 */
import type { JsonValue } from '../base/index.ts';
import type { Event } from './event.ts';

/** Identifies a session: `{ app: 'weather', user: 'ann', id: 's1' }`. */
export interface SessionKey {
  readonly app: string;
  readonly user: string;
  readonly id: string;
}

/** State by key, with the prefixes of the scopes. */
export type State = Readonly<Record<string, JsonValue>>;

/** A session without its events and state. Times are in milliseconds. */
export interface SessionSummary extends SessionKey {
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A session with its events and state. */
export interface Session extends SessionSummary {
  /** All scopes except `temp:`, with their prefixes. */
  readonly state: State;
  /** In the order in which they were appended. */
  readonly events: readonly Event[];
}

/**
 * Keeps sessions: `memorySessions()`, or `sqliteSessions(path)` of `parley-a2a/agent/sqlite`.
 *
 *   const runner = createRunner({ agent, sessions: sqliteSessions('agent.db') });
 */
export interface SessionStore {
  /** Returns the session. If it does not exist, creates it with this initial state. */
  open(key: SessionKey, state?: State): Promise<Session>;
  get(key: SessionKey): Promise<Session | undefined>;
  /**
   * Stores the events and their state deltas, all or none, in the order of the calls. They are stored when the promise
   * resolves. Events whose id the session already has are skipped; the result is the number of stored events. Partial
   * events and `temp:` keys are not stored. The cost does not depend on the number of events in the session.
   */
  append(key: SessionKey, events: readonly Event[]): Promise<number>;
  /** The user's sessions, latest first. `before` is the last session of the previous page. */
  list(
    owner: Pick<SessionKey, 'app' | 'user'>,
    page?: { readonly limit?: number; readonly before?: string },
  ): Promise<readonly SessionSummary[]>;
  /** Returns whether there was such a session. The user's and the app's state are kept. */
  delete(key: SessionKey): Promise<boolean>;
  /** Deletes the app's sessions, of all users, whose last change was before this time. Returns their number. */
  prune?(app: string, before: number): Promise<number>;
  close(): Promise<void>;
}

/** The session does not exist, or was deleted. */
export class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound';
  constructor(key: SessionKey) {
    super(`session ${key.id} does not exist`);
  }
}
