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
import {
  checkSize,
  deepFreeze,
  MAX_SESSION_SIZE,
  keyText,
  pageLimit,
  prepareEvents,
  type Owner,
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
  const { maxSessions = 100_000, maxSize = 2 ** 28, now = Date.now } = options;
  const { maxSessionSize = MAX_SESSION_SIZE } = options;
  /** All sessions, the least recently changed one first. The sessions in `owners` have the same order. */
  const sessions = new Map<string, StoredSession>();
  const owners = new Map<string, Map<string, StoredSession>>();
  /** The state of users and apps. */
  const sharedStates = new Map<string, ScopeState>();
  let totalSize = 0;
  let sharedSize = 0;
  let closed = false;

  function check(): void {
    if (closed) throw new StorageError('closed', 'the session store is closed');
  }

  function find(key: SessionKey): StoredSession | undefined {
    check();
    checkKey(key);
    return sessions.get(keyText(key));
  }

  /** Writes events and state. All checks are made before the first change. Returns the time of the change. */
  function write(
    session: StoredSession,
    events: readonly PreparedEvent[],
    changes: Changes,
  ): number {
    let size = 0;
    for (const { json } of events) size += json.length;
    const own = session.size + size + session.state.growth(changes.session);
    checkSize(session.key, own, maxSessionSize);
    const user = sharedStates.get(ownerKey(session.key)) ?? new ScopeState();
    const app = sharedStates.get(appKey(session.key)) ?? new ScopeState();
    const shared = user.growth(changes.user) + app.growth(changes.app);
    if (sharedSize + shared + own > maxSize) {
      throw new StorageError(
        'full',
        'the session store is full: increase maxSize, or use sqliteSessions',
      );
    }

    if (changes.user.size > 0) sharedStates.set(ownerKey(session.key), user);
    if (changes.app.size > 0) sharedStates.set(appKey(session.key), app);
    user.apply(changes.user);
    app.apply(changes.app);
    session.state.apply(changes.session);
    for (const event of events) session.add(event);
    sharedSize += shared;
    totalSize += own - session.size;
    session.size = own;
    moveToEnd(session);
    makeRoom();
    return now();
  }

  function moveToEnd(session: StoredSession): void {
    const key = keyText(session.key);
    sessions.delete(key);
    sessions.set(key, session);
    const owner = ownerKey(session.key);
    const ofOwner = owners.get(owner) ?? new Map<string, StoredSession>();
    owners.set(owner, ofOwner);
    ofOwner.delete(session.key.id);
    ofOwner.set(session.key.id, session);
  }

  /**
   * Removes the least recently changed sessions until the limits are met. The session that was just written is never
   * removed, because it is the most recently changed session and is within the limits.
   */
  function makeRoom(): void {
    for (const session of sessions.values()) {
      const fits = totalSize + sharedSize <= maxSize;
      if ((fits && sessions.size <= maxSessions) || sessions.size === 1) return;
      forget(session);
    }
  }

  function forget(session: StoredSession): void {
    totalSize -= session.size;
    sessions.delete(keyText(session.key));
    const owner = ownerKey(session.key);
    const ofOwner = owners.get(owner);
    ofOwner?.delete(session.key.id);
    if (ofOwner?.size === 0) owners.delete(owner);
  }

  function show(session: StoredSession): Session {
    const app = sharedStates.get(appKey(session.key));
    const user = sharedStates.get(ownerKey(session.key));
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

  return {
    async open(key, state) {
      const known = find(key);
      if (known) return show(known);
      const session = new StoredSession(key, now());
      write(session, [], changesOf([state]));
      return show(session);
    },
    async get(key) {
      const session = find(key);
      return session && show(session);
    },
    async append(key, events) {
      const session = find(key);
      if (!session) throw new SessionNotFound(key);
      const fresh = prepareEvents(events).filter(({ id }) => !session.ids.has(id));
      if (fresh.length === 0) return 0;
      const changes = changesOf(fresh.map(({ event }) => event.actions.stateDelta));
      session.updatedAt = write(session, fresh, changes);
      return fresh.length;
    },
    async list(owner, page = {}) {
      check();
      checkOwner(owner);
      const limit = pageLimit(page.limit);
      const own = [...(owners.get(ownerKey(owner))?.values() ?? [])].toReversed();
      let from = 0;
      if (page.before !== undefined) {
        from = own.findIndex(({ key }) => key.id === page.before) + 1;
        if (from === 0) throw new SessionNotFound({ ...owner, id: page.before });
      }
      return own.slice(from, from + limit).map((session) => session.summary());
    },
    async delete(key) {
      const session = find(key);
      if (session) forget(session);
      return session !== undefined;
    },
    async prune(app, before) {
      check();
      const old = [...sessions.values()].filter(
        ({ key, updatedAt }) => key.app === app && updatedAt < before,
      );
      for (const session of old) forget(session);
      return old.length;
    },
    async close() {
      closed = true;
      sessions.clear();
      owners.clear();
      sharedStates.clear();
    },
  };
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
