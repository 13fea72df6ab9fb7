/**
 * Collects data that arrives in chunks. The peer chooses the size of the chunks, and even a chunk of one byte needs
 * hundreds of bytes of memory. So the chunks are joined, and memory grows only with the size of the data.
 */

const FIRST_CAPACITY = 8 * 1024;
const NOTHING = new Uint8Array(0);

/** Collects bytes in one buffer. */
export class ByteCollector {
  /** The first chunk itself, or a buffer that begins with the collected bytes. */
  #bytes: Uint8Array = NOTHING;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length;
    if (this.#size === 0) {
      // Most bodies are a single chunk, which is not copied.
      this.#bytes = chunk;
    } else {
      if (size > this.#bytes.length) this.#grow(size);
      this.#bytes.set(chunk, this.#size);
    }
    this.#size = size;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#size);
  }

  #grow(size: number): void {
    const larger = new Uint8Array(Math.max(FIRST_CAPACITY, size * 2));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

/** Number of pieces that are joined into one string. */
const PIECES = 256;

/**
 * Collects text. Joins the pieces, because a string that is built with `+=` needs about 32 bytes for each piece until
 * it is read.
 */
export class TextCollector {
  readonly #joined: string[] = [];
  #pieces: string[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    if (piece === '') return;
    this.#length += piece.length;
    if (this.#pieces.push(piece) < PIECES) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  /** Returns the text and clears the collector. */
  take(): string {
    const text = this.#joined.join('') + this.#pieces.join('');
    this.#joined.length = 0;
    this.#pieces = [];
    this.#length = 0;
    return text;
  }
}
