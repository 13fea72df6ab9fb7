/** Chances that depend on a seed and on what they are for, not on the order in which things happen to be asked. */
export interface Chance {
  /** A number below 1. */
  at(...key: readonly (string | number)[]): number;
  below(limit: number, ...key: readonly (string | number)[]): number;
  pick<T>(list: readonly T[], ...key: readonly (string | number)[]): T;
}

export function chanceFrom(seed: number): Chance {
  const at = (...key: readonly (string | number)[]): number => {
    let state = 0x811c9dc5;
    for (const char of `${seed} ${key.join(' ')}`) {
      state = Math.imul(state ^ char.codePointAt(0)!, 0x01000193);
    }
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32;
  };
  const below: Chance['below'] = (limit, ...key) => Math.floor(at(...key) * limit);
  return { at, below, pick: (list, ...key) => list[below(list.length, ...key)]! };
}
