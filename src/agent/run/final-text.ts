/**
 * Determines the text of a run's result. The bridge to A2A, agents that run as tools, and `runToEnd` all use this
 * module, so the result is the same everywhere.
 */
import { contentText } from '../content.ts';
import { isFinalResponse, type Event } from '../event.ts';
import { isVisible } from './branches.ts';

interface Utterance {
  /** The id of the complete event. Its chunks have the same id. */
  readonly id: string;
  /** The number of utterances that began before this one. */
  readonly order: number;
}

/**
 * Collects the last answer of a run. If agents ran in parallel, collects the last answer of each agent. The answers
 * are in the order in which they began, separated by empty lines.
 */
export class FinalText {
  readonly #answers = new Map<string | undefined, Utterance & { readonly text: string }>();
  readonly #begun = new Map<string | undefined, Utterance>();
  #count = 0;

  /**
   * Reads one event of the run. An answer replaces earlier answers of the same branch, of enclosing branches and of
   * nested branches.
   */
  note(event: Event): void {
    const { id, branch, partial, content } = event;
    if (partial !== true && !isFinalResponse(event)) return;
    const text = contentText(content);
    if (text === '') return;
    const begun = this.#begun.get(branch);
    const utterance = begun?.id === id ? begun : { id, order: this.#count++ };
    this.#begun.set(branch, utterance);
    if (partial === true) return;
    for (const other of this.#answers.keys()) {
      if (isVisible(other, branch)) this.#answers.delete(other);
    }
    this.#answers.set(branch, { ...utterance, text });
  }

  get text(): string {
    const answers = [...this.#answers.values()].toSorted((a, b) => a.order - b.order);
    return answers.map(({ text }) => text).join('\n\n');
  }
}
