/**
 * A map with a maximum size. When it is full, a new entry replaces the least recently used one. A lookup counts as a
 * use only if the map is at least half full. In an emptier map, no entry is replaced soon. So the uses need not be
 * recorded, which would take longer than the lookup itself.
 */
export class BoundedMap<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): Value | undefined {
    const value = this.#entries.get(name);
    if (value !== undefined && this.#entries.size * 2 >= this.#max) this.#put(name, value);
    return value;
  }

  set(name: string, value: Value): void {
    this.#put(name, value);
    if (this.#entries.size <= this.#max) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  values(): Iterable<Value> {
    return this.#entries.values();
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }

  clear(): void {
    this.#entries.clear();
  }

  #put(name: string, value: Value): void {
    this.#entries.delete(name);
    this.#entries.set(name, value);
  }
}
