/**
 * Confirmations that arrive while a turn runs or is about to run. A call that waits gets its answer at once, even while
 * other calls run. If a message continues a waiting turn, the inbox is created when this message is accepted. For any
 * other turn, the inbox is created when the turn starts.
 */
import type { Answer, AnswerInbox, Question } from '../../agent/index.ts';
import { readMessage } from '../../protocol/development-tool/index.ts';
import type { Message } from '../../protocol/index.ts';
import { answerIn } from '../approval/answers.ts';

export class Inbox implements AnswerInbox {
  /** The accepted messages, by the ids of the calls that they answer. */
  readonly #messages = new Map<string, Message>();
  /**
   * The messages that are not stored yet. An answer takes effect only after it is stored, so that a crash cannot undo
   * it.
   */
  readonly #arriving = new Set<Promise<void>>();
  readonly #listeners = new Set<() => void>();
  /** False after the turn has stopped accepting answers. */
  open = true;
  /** True after the turn has started. The turn closes the inbox when it ends. */
  begun = false;

  get empty(): boolean {
    return this.#messages.size === 0 && this.#arriving.size === 0;
  }

  /** Adds a message as soon as it has been stored. */
  put(message: Message, stored: Promise<void>): void {
    const arrival = stored.then(
      () => this.#add(message),
      // The message was not stored. The runtime reports this to the sender.
      () => undefined,
    );
    this.#arriving.add(arrival);
    void arrival.then(() => this.#arriving.delete(arrival));
  }

  /**
   * Returns a promise that waits for the messages that are being stored at this moment. It resolves even if some of
   * them could not be stored. Returns undefined if no message is being stored.
   */
  arriving(): Promise<unknown> | undefined {
    return this.#arriving.size > 0 ? Promise.all(this.#arriving) : undefined;
  }

  #add(message: Message): void {
    for (const fact of readMessage(message)) {
      if (fact.kind === 'answer') this.#messages.set(fact.confirmation.tool_call_id, message);
    }
    for (const arrived of this.#listeners) arrived();
  }

  take(question: Question): Answer | undefined {
    const message = this.#messages.get(question.id);
    this.#messages.delete(question.id);
    return message && answerIn(message, question);
  }

  listen(arrived: () => void): Disposable {
    this.#listeners.add(arrived);
    return { [Symbol.dispose]: () => void this.#listeners.delete(arrived) };
  }

  close(): void {
    this.open = false;
  }
}
