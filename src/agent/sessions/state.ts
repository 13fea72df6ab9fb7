/**
 * The rules of the four scopes, without any store.
 *
 * A key says its scope by its prefix and keeps it everywhere: `user:name` is stored under the user as `user:name`. Any
 * string is a key, `__proto__` too: so scopes are Maps inside, and objects are made of them with own properties only.
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

/** What a delta changes in the stored scopes; null removes the key. `temp:` is left out. */
export function* storedChanges(
  delta: State | undefined,
): Generator<readonly [scope: StoredScope, key: string, value: JsonValue]> {
  for (const [key, value] of Object.entries(delta ?? {})) {
    const scope = stateScopeOf(key);
    // The type has no undefined, but an object literal easily does; JSON would drop it.
    if (scope !== 'temp' && value !== undefined) yield [scope, key, value];
  }
}

/** The event as a store keeps it: undefined for a partial one, without `temp:` keys for any other. */
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
