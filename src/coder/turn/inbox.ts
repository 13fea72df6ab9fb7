/**
 * Confirmations that arrive while a turn runs, or is about to: a call that waits while others run gets its answer at
 * once. The inbox exists from the moment a message is accepted that begins or continues the turn.
 */
import type { Answer, AnswerInbox, Question } from '../../agent/index.ts';
import type { ToolCallConfirmation } from '../../protocol/development-tool/index.ts';
import { answerFor } from '../approval/answers.ts';

export class Inbox implements AnswerInbox {
  readonly #confirmations = new Map<string, ToolCallConfirmation>();
  readonly #listeners = new Set<() => void>();
  #open = true;
  /** The turn has started, and closes the inbox when it ends. */
  begun = false;

  /** False once the turn is about to end and takes no more answers. */
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
