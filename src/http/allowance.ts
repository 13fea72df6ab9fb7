/** Limits how often something may happen: `burst` times at once, and `perSecond` times per second after that. */
export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #since = performance.now();

  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  /**
   * Counts one event. Returns false if there were too many events. Events for which it returns false are counted too.
   * Before the event is counted, `more` is added to the allowance, which never exceeds `burst`.
   */
  take(more = 0): boolean {
    const now = performance.now();
    const earned = ((now - this.#since) / 1000) * this.#perSecond + more;
    this.#since = now;
    this.#left = Math.min(this.#burst, this.#left + earned) - 1;
    return this.#left >= 0;
  }
}
