/**
 * The text of a response that was stored before a crash. An agent function that runs again yields its whole answer
 * again. `StoredText` compares this answer with the stored text, so that clients get only the new text.
 */
import type { Part, Task } from '../../protocol/index.ts';

/** The parts to send, and whether they are appended to the stored text or replace it. */
export interface Unsent {
  readonly parts: Part[];
  readonly append: boolean;
}

export class StoredText {
  readonly #text: string;
  /** Length of the stored text that the function has yielded again so far. */
  #matched = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * Returns the text of the artifact. Returns undefined if the artifact is missing or is not exactly one plain text.
   */
  static of({ artifacts = [] }: Task, artifactId: string): StoredText | undefined {
    const { parts = [] } = artifacts.find((artifact) => artifact.artifactId === artifactId) ?? {};
    const [part] = parts;
    return parts.length === 1 && part && isPlainText(part) ? new StoredText(part.text) : undefined;
  }

  /** Returns the parts to send for the next yielded part, or undefined if the stored text already contains it. */
  unsent(part: Part): Unsent | undefined {
    if (!isPlainText(part)) return this.#followedBy(part);
    const { text } = part;
    if (this.#text.startsWith(text, this.#matched)) {
      this.#matched += text.length;
      return undefined;
    }
    const rest = this.#text.slice(this.#matched);
    if (text.startsWith(rest)) return { parts: [textPart(text.slice(rest.length))], append: true };
    return { parts: [textPart(this.#again + text)], append: false };
  }

  /** Whether the function has yielded only a part of the stored text so far. */
  get isPartial(): boolean {
    return this.#matched > 0 && this.#matched < this.#text.length;
  }

  /**
   * Called when the function ends or asks a question after it has yielded only stored text. Returns the chunk that
   * makes the stored text the same as the yielded text. Returns undefined if no text was yielded.
   */
  end(): Unsent | undefined {
    if (this.#matched === 0) return undefined;
    const append = this.#matched === this.#text.length;
    return { parts: [textPart(append ? '' : this.#again)], append };
  }

  #followedBy(part: Part): Unsent {
    if (this.#matched === this.#text.length) return { parts: [part], append: true };
    return { parts: this.#matched === 0 ? [part] : [textPart(this.#again), part], append: false };
  }

  get #again(): string {
    return this.#text.slice(0, this.#matched);
  }
}

/** Returns whether the part has only a text. Parts with other fields are not joined with their neighbours. */
function isPlainText(part: Part): part is Extract<Part, { kind: 'text' }> {
  return part.kind === 'text' && Object.keys(part).length === 2;
}

function textPart(text: string): Part {
  return { kind: 'text', text };
}
