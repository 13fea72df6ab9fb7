/**
 * Numbers the chunks of a turn's text. A turn may have several executions, each with its own presenter. They continue
 * the numbers in the task's log.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  isQuestionInWords,
  messagesOf,
  textId,
  textPlace,
  type TextPlace,
} from '../../protocol/development-tool/index.ts';
import { textOf, type Message } from '../../protocol/index.ts';
import type { ExecutionContext } from '../../tasks/index.ts';

export class AnswerText {
  /** The place of the next chunk. */
  #next: TextPlace;
  /** The text that earlier executions of this turn have sent, as far as it has not been recalled. */
  #sent = '';
  #isOver = false;
  /** Whether an earlier version of the program has sent text in this turn. It did not number its chunks. */
  #isEarly = false;

  constructor({ task, turn }: Pick<ExecutionContext, 'task' | 'turn'>) {
    const messages = messagesOf(task);
    const begins = messages.findLastIndex(({ messageId }) => messageId === turn[0]?.messageId);
    let last: TextPlace | undefined;
    for (const message of messages.slice(begins + 1)) {
      const place = textPlace(message);
      if (place) this.#sent += textOf(message.parts);
      else this.#isEarly ||= isEarlyText(message);
      last = place ?? last;
    }
    this.#isOver = last?.isLast === true;
    this.#next = last
      ? { ...last, paragraph: last.paragraph + 1, chunk: 0 }
      : { answerId: `response-${randomUUIDv7()}`, paragraph: 0, chunk: 0, isLast: false };
  }

  /** Returns the id of the message with the next chunk. */
  next(isLast = false): string {
    const place = this.#next;
    this.#next = { ...place, chunk: place.chunk + 1 };
    return textId({ ...place, isLast });
  }

  /** The next chunk starts a paragraph, because the agent has done something else than to speak. */
  pause(): void {
    const { paragraph, chunk } = this.#next;
    if (chunk > 0) this.#next = { ...this.#next, paragraph: paragraph + 1, chunk: 0 };
  }

  /**
   * Takes the next text of the run, which may have been sent before the process died. Returns the rest to send, or
   * undefined if all of it was sent.
   */
  unsent(text: string, isLast: boolean): string | undefined {
    if (this.#isEarly) return undefined;
    if (this.#sent.startsWith(text)) {
      this.#sent = this.#sent.slice(text.length);
      return isLast && !this.#isOver ? '' : undefined;
    }
    if (!text.startsWith(this.#sent)) return undefined;
    const rest = text.slice(this.#sent.length);
    this.#sent = '';
    return rest;
  }
}

function isEarlyText(message: Message): boolean {
  const isText = message.parts.every(({ kind }) => kind === 'text');
  return message.role === 'agent' && isText && !isQuestionInWords(message);
}
