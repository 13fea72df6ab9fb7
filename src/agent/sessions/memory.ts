/**
 * Keeps sessions in memory.
 *
 * An event is kept as JSON text until it is first read, and as a frozen object after that. So a caller cannot change a
 * stored event through an object that it has appended or read. A `get` parses only new events.
 *
 * When there are too many sessions, or their total size is too large, the store removes the least recently changed
 * sessions. The state of users and apps is never removed to make room. When this state fills the store, appends are
 * refused.
 */
import type { JsonValue } from '../../base/index.ts';
import type { Event } from '../event.ts';
import {
  SessionNotFound,
  type Session,
  type SessionKey,
  type SessionStore,
  type SessionSummary,
  type State,
} from '../session.ts';
import { deepFreeze } from './freeze.ts';
import {
  checkSize,
  MAX_SESSION_SIZE,
  keyText,
  pageLimit,
  prepareEvents,
  type Owner,
  type SessionPage,
  type PreparedEvent,
} from './prepare.ts';
import { storedChanges, type StoredScope } from './state.ts';
import { checkKey, checkOwner, StorageError, toJson } from '../storage-error.ts';

/** The limits of `memorySessions`. */
export interface MemorySessionsOptions {
  /**
   * Maximum number of sessions. If there are more, the least recently changed session is removed. Default: 100,000.
   */
  readonly maxSessions?: number;
  /**
   * Maximum total size, in characters of JSON. If it is exceeded, the least recently changed sessions are removed.
   * Default: 256 Mi.
   */
  readonly maxSize?: number;
  /**
   * Maximum size of the events and the state of one session, in characters of JSON. Appends that would exceed it are
   * refused. Default: 64 Mi.
   */
  readonly maxSessionSize?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Returns a store that keeps sessions in the memory of this process.
 *
 *   const runner = createRunner({ agent, sessions: memorySessions({ maxSessions: 1000 }) });
 */
export function memorySessions(options: MemorySessionsOptions = {}): SessionStore {
  return new MemorySessions(options);
}

class MemorySessions implements SessionStore {
  /** All sessions, the least recently changed one first. The sessions in `#owners` have the same order. */
  readonly #sessions = new Map<string, StoredSession>();
  readonly #owners = new Map<string, Map<string, StoredSession>>();
  /** The state of users and apps. */
  readonly #shared = new Map<string, ScopeState>();
  readonly #maxSessions: number;
  readonly #maxSize: number;
  readonly #maxSessionSize: number;
  readonly #now: () => number;
  #size = 0;
  #sharedSize = 0;
  #closed = false;

  constructor(options: MemorySessionsOptions) {
    this.#maxSessions = options.maxSessions ?? 100_000;
    this.#maxSize = options.maxSize ?? 2 ** 28;
    this.#maxSessionSize = options.maxSessionSize ?? MAX_SESSION_SIZE;
    this.#now = options.now ?? Date.now;
  }

  async open(key: SessionKey, state?: State): Promise<Session> {
    const known = this.#find(key);
    if (known) return this.#show(known);
    const session = new StoredSession(key, this.#now());
    this.#write(session, [], changesOf([state]));
    return this.#show(session);
  }

  async get(key: SessionKey): Promise<Session | undefined> {
    const session = this.#find(key);
    return session && this.#show(session);
  }

  async append(key: SessionKey, events: readonly Event[]): Promise<number> {
    const session = this.#find(key);
    if (!session) throw new SessionNotFound(key);
    const fresh = prepareEvents(events).filter(({ id }) => !session.ids.has(id));
    if (fresh.length === 0) return 0;
    const changes = changesOf(fresh.map(({ event }) => event.actions.stateDelta));
    session.updatedAt = this.#write(session, fresh, changes);
    return fresh.length;
  }

  async list(owner: Owner, page: SessionPage = {}): Promise<readonly SessionSummary[]> {
    this.#check();
    checkOwner(owner);
    const limit = pageLimit(page.limit);
    const sessions = [...(this.#owners.get(ownerKey(owner))?.values() ?? [])].toReversed();
    let from = 0;
    if (page.before !== undefined) {
      from = sessions.findIndex(({ key }) => key.id === page.before) + 1;
      if (from === 0) throw new SessionNotFound({ ...owner, id: page.before });
    }
    return sessions.slice(from, from + limit).map((session) => session.summary());
  }

  async delete(key: SessionKey): Promise<boolean> {
    const session = this.#find(key);
    if (session) this.#forget(session);
    return session !== undefined;
  }

  async prune(app: string, before: number): Promise<number> {
    this.#check();
    const old = [...this.#sessions.values()].filter(
      ({ key, updatedAt }) => key.app === app && updatedAt < before,
    );
    for (const session of old) this.#forget(session);
    return old.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sessions.clear();
    this.#owners.clear();
    this.#shared.clear();
  }

  #check(): void {
    if (this.#closed) throw new StorageError('closed', 'the session store is closed');
  }

  #find(key: SessionKey): StoredSession | undefined {
    this.#check();
    checkKey(key);
    return this.#sessions.get(keyText(key));
  }

  /** Writes events and state. All checks are made before the first change. Returns the time of the change. */
  #write(session: StoredSession, events: readonly PreparedEvent[], changes: Changes): number {
    let size = 0;
    for (const { json } of events) size += json.length;
    const own = session.size + size + session.state.growth(changes.session);
    checkSize(session.key, own, this.#maxSessionSize);
    const user = this.#shared.get(ownerKey(session.key)) ?? new ScopeState();
    const app = this.#shared.get(appKey(session.key)) ?? new ScopeState();
    const shared = user.growth(changes.user) + app.growth(changes.app);
    if (this.#sharedSize + shared + own > this.#maxSize) {
      throw new StorageError(
        'full',
        'the session store is full: increase maxSize, or use sqliteSessions',
      );
    }

    if (changes.user.size > 0) this.#shared.set(ownerKey(session.key), user);
    if (changes.app.size > 0) this.#shared.set(appKey(session.key), app);
    user.apply(changes.user);
    app.apply(changes.app);
    session.state.apply(changes.session);
    for (const event of events) session.add(event);
    this.#sharedSize += shared;
    this.#size += own - session.size;
    session.size = own;
    this.#moveToEnd(session);
    this.#makeRoom();
    return this.#now();
  }

  #moveToEnd(session: StoredSession): void {
    const key = keyText(session.key);
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    const owner = ownerKey(session.key);
    let sessions = this.#owners.get(owner);
    if (!sessions) this.#owners.set(owner, (sessions = new Map()));
    sessions.delete(session.key.id);
    sessions.set(session.key.id, session);
  }

  /**
   * Removes the least recently changed sessions until the limits are met. The session that was just written is never
   * removed, because it is the most recently changed session and is within the limits.
   */
  #makeRoom(): void {
    for (const session of this.#sessions.values()) {
      const fits = this.#size + this.#sharedSize <= this.#maxSize;
      if ((fits && this.#sessions.size <= this.#maxSessions) || this.#sessions.size === 1) return;
      this.#forget(session);
    }
  }

  #forget(session: StoredSession): void {
    this.#size -= session.size;
    this.#sessions.delete(keyText(session.key));
    const owner = ownerKey(session.key);
    const sessions = this.#owners.get(owner);
    sessions?.delete(session.key.id);
    if (sessions?.size === 0) this.#owners.delete(owner);
  }

  #show(session: StoredSession): Session {
    const app = this.#shared.get(appKey(session.key));
    const user = this.#shared.get(ownerKey(session.key));
    return {
      ...session.summary(),
      // The keys have different prefixes, so no scope overwrites another.
      state: Object.fromEntries([
        ...(app?.entries() ?? []),
        ...(user?.entries() ?? []),
        ...session.state.entries(),
      ]),
      events: session.events(),
    };
  }
}

class StoredSession {
  readonly key: SessionKey;
  readonly createdAt: number;
  updatedAt: number;
  readonly ids = new Set<string>();
  readonly state = new ScopeState();
  size = 0;
  readonly #parsed: Event[] = [];
  /** The events that were not parsed yet, as JSON text. They follow the parsed events. */
  #texts: string[] = [];

  constructor({ app, user, id }: SessionKey, now: number) {
    this.key = { app, user, id };
    this.createdAt = now;
    this.updatedAt = now;
  }

  add({ id, json }: PreparedEvent): void {
    this.ids.add(id);
    this.#texts.push(json);
  }

  events(): readonly Event[] {
    for (const json of this.#texts) this.#parsed.push(deepFreeze(JSON.parse(json)));
    this.#texts = [];
    return this.#parsed.slice();
  }

  summary(): SessionSummary {
    return { ...this.key, createdAt: this.createdAt, updatedAt: this.updatedAt };
  }
}

/** The changes by scope and key. A value is JSON text, or undefined if the key is removed. */
type Changes = Readonly<Record<StoredScope, ReadonlyMap<string, string | undefined>>>;

function changesOf(deltas: readonly (State | undefined)[]): Changes {
  const changes = {
    session: new Map<string, string | undefined>(),
    user: new Map<string, string | undefined>(),
    app: new Map<string, string | undefined>(),
  };
  for (const delta of deltas) {
    for (const [scope, key, value] of storedChanges(delta)) {
      changes[scope].set(key, value === null ? undefined : toJson('state', value));
    }
  }
  return changes;
}

class ScopeState {
  readonly #values = new Map<string, { readonly value: JsonValue; readonly size: number }>();

  /** Returns the number of characters by which the changes would increase the size. */
  growth(changes: ReadonlyMap<string, string | undefined>): number {
    let growth = 0;
    for (const [key, json] of changes) {
      growth -= this.#values.get(key)?.size ?? 0;
      if (json !== undefined) growth += key.length + json.length;
    }
    return growth;
  }

  apply(changes: ReadonlyMap<string, string | undefined>): void {
    for (const [key, json] of changes) {
      if (json === undefined) {
        this.#values.delete(key);
      } else {
        const value: JsonValue = deepFreeze(JSON.parse(json));
        this.#values.set(key, { value, size: key.length + json.length });
      }
    }
  }

  *entries(): Generator<[string, JsonValue]> {
    for (const [key, { value }] of this.#values) yield [key, value];
  }
}

function ownerKey({ app, user }: Owner): string {
  return JSON.stringify([app, user]);
}

function appKey({ app }: Pick<SessionKey, 'app'>): string {
  return JSON.stringify([app]);
}
