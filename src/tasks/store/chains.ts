/**
 * Doubly linked lists of numbers, newest first. Adding to the front and removing take constant time.
 *
 * The links are numbers in flat arrays. With objects as links, a store with 100,000 small tasks spent more garbage
 * collection time on the links than on all other data. Several chains may share a `ChainLinks` if no number is in more
 * than one of them.
 */
const NONE = -1;
const FIRST_CAPACITY = 256;

export class ChainLinks {
  newer = new Int32Array(FIRST_CAPACITY);
  older = new Int32Array(FIRST_CAPACITY);

  hold(number: number): void {
    while (number >= this.newer.length) {
      this.newer = widened(this.newer);
      this.older = widened(this.older);
    }
  }
}

function widened(array: Int32Array): Int32Array<ArrayBuffer> {
  const wide = new Int32Array(array.length * 2);
  wide.set(array);
  return wide;
}

export class Chain {
  #newest = NONE;
  #oldest = NONE;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get newest(): number | undefined {
    return this.#newest === NONE ? undefined : this.#newest;
  }

  get oldest(): number | undefined {
    return this.#oldest === NONE ? undefined : this.#oldest;
  }

  /** Returns the next older number in the chain, or undefined if there is none. */
  static older(links: ChainLinks, number: number): number | undefined {
    const older = links.older[number]!;
    return older === NONE ? undefined : older;
  }

  /** Returns the next newer number in the chain, or undefined if there is none. */
  static newer(links: ChainLinks, number: number): number | undefined {
    const newer = links.newer[number]!;
    return newer === NONE ? undefined : newer;
  }

  /** Adds a number to the front. The number must not be in the chain yet. */
  add(links: ChainLinks, number: number): void {
    links.hold(number);
    links.newer[number] = NONE;
    links.older[number] = this.#newest;
    if (this.#newest === NONE) this.#oldest = number;
    else links.newer[this.#newest] = number;
    this.#newest = number;
    this.#size++;
  }

  /** Removes a number. The number must be in the chain. */
  remove(links: ChainLinks, number: number): void {
    const newer = links.newer[number]!;
    const older = links.older[number]!;
    if (newer === NONE) this.#newest = older;
    else links.older[newer] = older;
    if (older === NONE) this.#oldest = newer;
    else links.newer[older] = newer;
    this.#size--;
  }
}
