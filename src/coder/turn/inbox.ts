/**
 * Confirmations that arrive while a turn runs or is about to run. A call that waits gets its answer at once, even while
 * other calls run. The inbox is created when a message that continues a turn is accepted, or else when the turn starts.
 */
import type { Answer, AnswerInbox, Question } from '../../agent/index.ts';
import type { ToolCallConfirmation } from '../../protocol/development-tool/index.ts';
import { answerFor } from '../approval/answers.ts';

export class Inbox implements AnswerInbox {
  readonly #confirmations = new Map<string, ToolCallConfirmation>();
  readonly #listeners = new Set<() => void>();
  #open = true;
  /** True after the turn has started. The turn closes the inbox when it ends. */
  begun = false;

  /** False after the turn has stopped accepting answers. */
  get open(): boolean {
    return this.#open;
  }

  get empty(): boolean {
    return this.#confirmations.size === 0;
  }

  put(confirmations: readonly ToolCallConfirmation[]): void {
    for (const confirmation of confirmations) {
      this.#confirmations.set(confirmation.tool_call_id, confirmation);
    }
    for (const arrived of this.#listeners) arrived();
  }

  take(question: Question): Answer | undefined {
    const confirmation = this.#confirmations.get(question.id);
    this.#confirmations.delete(question.id);
    return confirmation && answerFor(question, confirmation);
  }

  listen(arrived: () => void): Disposable {
    this.#listeners.add(arrived);
    return { [Symbol.dispose]: () => void this.#listeners.delete(arrived) };
  }

  close(): void {
    this.#open = false;
  }
}
