/** A cache of values from the register (the gateway's database). It is emptied when the register changes. */
import { andThen, BoundedMap, type MaybePromise } from '../../base/index.ts';
import type { Register } from './register.ts';

/**
 * Returns a function that returns the value with this name. If it is not in the cache, calls `read`. A missing value
 * (undefined) is cached too.
 */
export function createRegisterCache<Value extends object>(register: Register, max: number) {
  /** The cached values, with null for missing values. */
  const known = new BoundedMap<Value | null>(max);
  let version = register.changed();
  return (
    name: string,
    read: () => MaybePromise<Value | undefined>,
  ): MaybePromise<Value | undefined> => {
    const seen = register.changed();
    if (seen !== version) {
      version = seen;
      known.clear();
    }
    const cached = known.get(name);
    if (cached !== undefined) return cached ?? undefined;
    return andThen(read(), (value) => {
      // If the register has changed since the read began, the value may be outdated and must not be cached.
      if (seen === register.changed()) known.set(name, value ?? null);
      return value;
    });
  };
}
