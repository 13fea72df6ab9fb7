/**
 * Numbers the chunks of a turn's text. A turn may have several executions, each with its own presenter. Each execution
 * continues the numbering after the last chunk in the task's log.
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
  /** The position of the next chunk. */
  #next: TextPlace;
  /** The position after the last chunk in the log. */
  readonly #after: TextPlace | undefined;
  /**
   * The paragraphs that earlier executions of this turn have sent, without those that `unsent` has already found in the
   * replayed text. Paragraphs of slash commands that ran while the turn waited are never found there.
   */
  #sent: string[] = [];
  #isOver = false;
  /** Whether the turn has text from an earlier version of the program, which did not number its chunks. */
  #isEarly = false;

  constructor({ task, turn }: Pick<ExecutionContext, 'task' | 'turn'>) {
    const messages = messagesOf(task);
    const begins = messages.findLastIndex(({ messageId }) => messageId === turn[0]?.messageId);
    let last: TextPlace | undefined;
    for (const message of messages.slice(begins + 1)) {
      const place = textPlace(message);
      if (!place) {
        this.#isEarly ||= isEarlyText(message);
        continue;
      }
      if (place.paragraph !== last?.paragraph) this.#sent.push('');
      this.#sent.push(`${this.#sent.pop()}${textOf(message.parts)}`);
      last = place;
    }
    this.#after = last && { ...last, chunk: last.chunk + 1 };
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

  /** Makes the next chunk start a new paragraph. Called when something other than text is sent, for example a call. */
  pause(): void {
    const { paragraph, chunk } = this.#next;
    if (chunk > 0) this.#next = { ...this.#next, paragraph: paragraph + 1, chunk: 0 };
  }

  /**
   * Called with each text of the replayed run, in order. The beginning of the text may have been sent before the
   * process died. Returns the part that was not sent, or undefined if nothing has to be sent. Returns an empty text if
   * the whole text was sent, but no chunk was marked as the last one.
   */
  unsent(text: string, isLast: boolean): string | undefined {
    if (this.#isEarly) return undefined;
    const rest = text === '' ? '' : this.#restOf(text);
    if (rest === '' && (!isLast || this.#isOver)) return undefined;
    if (rest.length < text.length) this.#goOn();
    return rest;
  }

  /** Makes the next chunk continue the last paragraph in the log. */
  #goOn(): void {
    const { paragraph, chunk } = this.#next;
    if (chunk === 0 && paragraph - 1 === this.#after?.paragraph) this.#next = this.#after;
  }

  /** Returns the part of a text that has not been sent yet. The text may have been sent as several paragraphs. */
  #restOf(text: string): string {
    for (const from of this.#sent.keys()) {
      let rest = text;
      for (let at = from; at < this.#sent.length && rest.startsWith(this.#sent[at]!); at++) {
        rest = rest.slice(this.#sent[at]!.length);
        const isEnd = at === this.#sent.length - 1;
        if (rest !== '' && !isEnd) continue;
        this.#sent = this.#sent.slice(at + 1);
        return rest;
      }
    }
    return text;
  }
}

function isEarlyText(message: Message): boolean {
  const isText = message.parts.every(({ kind }) => kind === 'text');
  return message.role === 'agent' && isText && !isQuestionInWords(message);
}
