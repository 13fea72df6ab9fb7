/**
 * Confirmations that come while a turn is under way, or about to be: a call that waits beside others that run takes them
 * at once. It is there from the moment on at which the message is taken that begins or continues the turn.
 */
import type { Answer, Question, AnswerInbox } from '../../agent/index.ts';
import type { ToolCallConfirmation } from '../../protocol/development-tool/index.ts';
import { answerFor } from '../approval/confirmations.ts';

export class Inbox implements AnswerInbox {
  readonly #said = new Map<string, ToolCallConfirmation>();
  readonly #listeners = new Set<() => void>();
  #open = true;
  /** The turn has been taken up: it closes the inbox when it ends. */
  begun = false;
  /** Told of each answer that is taken. */
  onAnswer: (answer: Answer) => void = () => {};

  /** False: the turn is about to end, and would not look again. */
  get open(): boolean {
    return this.#open;
  }

  get empty(): boolean {
    return this.#said.size === 0;
  }

  put(confirmations: readonly ToolCallConfirmation[]): void {
    for (const confirmation of confirmations) {
      this.#said.set(confirmation.tool_call_id, confirmation);
    }
    for (const arrived of this.#listeners) arrived();
  }

  take(question: Question): Answer | undefined {
    const said = this.#said.get(question.id);
    if (!said) return undefined;
    this.#said.delete(question.id);
    const answer = answerFor(question, said);
    this.onAnswer(answer);
    return answer;
  }

  listen(arrived: () => void): Disposable {
    this.#listeners.add(arrived);
    return { [Symbol.dispose]: () => void this.#listeners.delete(arrived) };
  }

  close(): void {
    this.#open = false;
  }
}
