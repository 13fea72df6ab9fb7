/** A pseudo-random generator for one case. The same seed and case always give the same numbers. */
export class Random {
  #state: [number, number, number, number];

  constructor(seed: number, number: number) {
    this.#state = [seed | 0, number | 0, Math.floor(seed / 2 ** 32) ^ 0x9e3779b9, 1];
    // The first numbers of similar seeds are similar.
    for (let at = 0; at < 12; at++) this.#step();
  }

  /** One step of sfc32: a whole number from 0 to 2³²−1. */
  #step(): number {
    const state = this.#state;
    const sum = (((state[0] + state[1]) | 0) + state[3]) | 0;
    state[3] = (state[3] + 1) | 0;
    state[0] = state[1] ^ (state[1] >>> 9);
    state[1] = (state[2] + (state[2] << 3)) | 0;
    state[2] = ((state[2] << 21) | (state[2] >>> 11)) + sum;
    state[2] |= 0;
    return sum >>> 0;
  }

  /** A whole number from 0 to `end` − 1. */
  int(end: number): number {
    return Math.floor((this.#step() / 2 ** 32) * end);
  }

  /** True once in `n` times. */
  once(n: number): boolean {
    return this.int(n) === 0;
  }

  pick<T>(list: readonly T[]): T {
    const item = list[this.int(list.length)];
    if (item === undefined && list.length === 0) throw new RangeError('nothing to pick from');
    return item as T;
  }

  /** A list of up to `max` made items. */
  list<T>(max: number, make: () => T): T[] {
    return Array.from({ length: this.int(max + 1) }, make);
  }
}
