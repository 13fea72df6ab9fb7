/**
 * Conversations and their state. Every store must pass the tests in test/contract/session-store.ts.
 *
 * State has four scopes. The prefix of a key determines its scope:
 * - no prefix: this session
 * - `user:`: all sessions of the user in the app
 * - `app:`: all sessions of the app
 * - `temp:`: the current run; keys with this prefix are never stored
 */
import type { JsonValue } from '../base/index.ts';
import type { Event } from './event.ts';

/** Identifies a session: `{ app: 'weather', user: 'ann', id: 's1' }`. */
export interface SessionKey {
  readonly app: string;
  readonly user: string;
  readonly id: string;
}

/** The values of the state by key. Each key includes the prefix of its scope. */
export type State = Readonly<Record<string, JsonValue>>;

/** A session without its events and state. Times are in milliseconds. */
export interface SessionSummary extends SessionKey {
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** A session with its events and state. */
export interface Session extends SessionSummary {
  /** The state of all scopes except `temp:`. Each key includes the prefix of its scope. */
  readonly state: State;
  /** The events, in the order in which they were appended. */
  readonly events: readonly Event[];
}

/**
 * A store for sessions. Create one with `memorySessions()`, with `sqliteSessions(path)` from `parley-a2a/agent/sqlite`,
 * or with `postgresSessions(url)` from `parley-a2a/agent/postgres`.
 *
 *   const runner = createRunner({ agent, sessions: sqliteSessions('agent.db') });
 */
export interface SessionStore {
  /** Returns the session. If it does not exist, creates it with this initial state. */
  open(key: SessionKey, state?: State): Promise<Session>;
  get(key: SessionKey): Promise<Session | undefined>;
  /**
   * Stores the events and their state deltas, either all of them or none. If a store object gets concurrent calls for
   * one session, they take effect in the order in which they were made. The events are stored when the promise
   * resolves. An event whose id is already in the session is skipped. Partial events and `temp:` keys are not stored.
   * Returns the number of stored events. Throws SessionNotFound if the session does not exist. The cost of a call does
   * not depend on the number of events in the session.
   */
  append(key: SessionKey, events: readonly Event[]): Promise<number>;
  /**
   * Returns the user's sessions, the most recently changed session first. `limit` is 50 by default and at most 1,000.
   * `before` is the id of the last session on the previous page. Throws SessionNotFound if that session does not exist.
   */
  list(
    owner: Pick<SessionKey, 'app' | 'user'>,
    page?: { readonly limit?: number; readonly before?: string },
  ): Promise<readonly SessionSummary[]>;
  /** Deletes the session, but not the state of the user and the app. Returns whether the session existed. */
  delete(key: SessionKey): Promise<boolean>;
  /**
   * Deletes the sessions of the app whose last change was before this time. May skip a session that is being changed.
   * Returns the number of deleted sessions.
   */
  prune?(app: string, before: number): Promise<number>;
  close(): Promise<void>;
}

/** The error for a session that does not exist or was deleted. */
export class SessionNotFound extends Error {
  override readonly name = 'SessionNotFound';
  constructor(key: SessionKey) {
    super(`session ${key.id} does not exist`);
  }
}
