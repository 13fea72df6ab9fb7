/**
 * A map whose entries are added and deleted all the time, such as the requests in progress.
 *
 * V8 gives a Map a new table after a number of changes. The old table points to the new one, and still contains the
 * entries that it had. If an old table has reached the old generation of the heap, it stays there until the next full
 * garbage collection. Until then, it keeps the entries of all later tables alive, even deleted ones. So the entries of
 * nearly every request would be copied to the old generation, which takes more time than all other garbage collection.
 * Instead, this class copies the entries to a new Map, to which no old table points.
 */
export class ChurnMap<Key, Value> {
  #entries = new Map<Key, Value>();
  /** The number of calls of `set` since the Map was last replaced. */
  #added = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    // A Map with many entries is replaced less often, so that an addition copies at most one entry on average.
    if (++this.#added > Math.max(MIN_ADDED, this.#entries.size)) {
      this.#entries = new Map(this.#entries);
      this.#added = 0;
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }
}

/** The number of additions after which a small Map is replaced. */
const MIN_ADDED = 256;
