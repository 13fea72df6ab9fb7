/** The text of a run's result. Its only owner, so that a run says the same over A2A, as a tool and in a program. */
import { contentText } from '../content.ts';
import { isFinalResponse, type Event } from '../event.ts';

/**
 * Collects the last answer of a run. If agents ran in parallel, this is the last answer of each of them, in the order in
 * which they were given, with an empty line between them.
 */
export class FinalText {
  readonly #byBranch = new Map<string, string>();

  /**
   * Reads one event of the run. An answer replaces earlier answers of the same branch, of the branches around it, and of
   * the branches inside it.
   */
  note(event: Event): void {
    const text = isFinalResponse(event) ? contentText(event.content) : '';
    if (text === '') return;
    const { branch = '' } = event;
    for (const other of this.#byBranch.keys()) {
      if (isWithin(other, branch) || isWithin(branch, other)) this.#byBranch.delete(other);
    }
    this.#byBranch.set(branch, text);
  }

  get text(): string {
    return [...this.#byBranch.values()].join('\n\n');
  }
}

function isWithin(branch: string, outer: string): boolean {
  return outer === '' || branch === outer || branch.startsWith(`${outer}.`);
}
