/**
 * The rules for the four scopes of the state, which all stores follow.
 *
 * The prefix of a key determines its scope and is part of the stored key. For example, `user:name` is stored in the
 * user's state as `user:name`. Any string is a valid key, even `__proto__`. So stores keep scopes in Maps, and
 * convert them with `Object.fromEntries`, which makes `__proto__` an ordinary property.
 */
import type { JsonValue } from '../../base/index.ts';
import type { Event } from '../event.ts';
import type { State } from '../session.ts';

export type StateScope = 'session' | 'user' | 'app' | 'temp';
export type StoredScope = Exclude<StateScope, 'temp'>;

export function stateScopeOf(key: string): StateScope {
  if (key.startsWith('user:')) return 'user';
  if (key.startsWith('app:')) return 'app';
  return key.startsWith('temp:') ? 'temp' : 'session';
}

/**
 * Applies a delta to the state. Null removes a key. Undefined is ignored. The type does not allow undefined, but code
 * in JavaScript may still pass it.
 */
export function applyDelta(state: Map<string, JsonValue>, delta: State | undefined): void {
  for (const [key, value] of Object.entries(delta ?? {})) {
    if (value === null) state.delete(key);
    else if (value !== undefined) state.set(key, value);
  }
}

/** Returns a copy of the state with the delta applied. */
export function withDelta(state: State, delta: State | undefined): State {
  const changed = new Map(Object.entries(state));
  applyDelta(changed, delta);
  return Object.fromEntries(changed);
}

/**
 * Yields the changes of a delta in the stored scopes, which are all scopes except `temp:`. Null removes the key.
 * Undefined is left out.
 */
export function* storedChanges(
  delta: State | undefined,
): Generator<readonly [scope: StoredScope, key: string, value: JsonValue]> {
  for (const [key, value] of Object.entries(delta ?? {})) {
    const scope = stateScopeOf(key);
    if (scope !== 'temp' && value !== undefined) yield [scope, key, value];
  }
}

/** Returns the event as it is stored, without `temp:` keys. Returns undefined for a partial event. */
export function storedEvent(event: Event): Event | undefined {
  if (event.partial === true) return undefined;
  const { stateDelta, ...actions } = event.actions;
  if (!stateDelta || !Object.keys(stateDelta).some((key) => stateScopeOf(key) === 'temp'))
    return event;
  const kept = Object.entries(stateDelta).filter(([key]) => stateScopeOf(key) !== 'temp');
  return {
    ...event,
    actions: { ...actions, ...(kept.length > 0 && { stateDelta: Object.fromEntries(kept) }) },
  };
}
