/**
 * Numbers the chunks of a turn's text, and finds updates that are missing in the task's log. A chunk has the number of
 * its paragraph, and its own number in the paragraph. An update that is not text, such as a call, ends the paragraph.
 *
 * A turn may have several executions, each with its own presenter. Each execution continues the numbering after the
 * last chunk in the task's log.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Question } from '../../agent/index.ts';
import {
  hasEnded,
  isQuestionInWords,
  messagesOf,
  readMessage,
  textId,
  textPlace,
  type TextPlace,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { textOf, type Message } from '../../protocol/index.ts';
import type { ExecutionContext, StatusEvent } from '../../tasks/index.ts';
import { requestOf } from '../approval/confirmation-request.ts';

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
   * the whole text was sent, but the answer's last chunk was not marked as the last one.
   */
  unsent(text: string, isLast: boolean): string | undefined {
    if (this.#isEarly) return undefined;
    const rest = text === '' ? '' : this.#restOf(text);
    if (rest === '' && (!isLast || this.#isOver)) return undefined;
    if (rest.length < text.length) this.#goOn();
    return rest;
  }

  /** Makes the next chunk continue the last paragraph in the log, unless a chunk was numbered after that paragraph. */
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

/**
 * Finds updates that are missing in a task's log. The process stored them in the session, but died before it wrote them
 * to the log.
 *
 * Returns a function that must be called with each update of the run, in order. It returns a list with the update if
 * the update is missing in the log, or else an empty list. For a text, the update contains only the missing part.
 * `calls` are the calls in the log. `questions` are the open questions of the session.
 */
export function missingUpdates(
  calls: ReadonlyMap<string, ToolCall>,
  questions: readonly Question[],
  answer: AnswerText,
): (event: StatusEvent) => StatusEvent[] {
  const open = new Set(questions.map((question) => requestOf(question).correlationId));

  function isMissing(call: ToolCall): boolean {
    const { tool_call_id, correlationId } = call;
    const told = calls.get(tool_call_id);
    if (hasEnded(call)) return told === undefined || !hasEnded(told);
    return correlationId === undefined ? told === undefined : open.has(correlationId);
  }

  return (event) => {
    const { message } = event;
    if (typeof message !== 'object') return [];
    const place = textPlace(message);
    if (place) {
      const text = answer.unsent(textOf(message.parts), place.isLast);
      if (text === undefined) return [];
      const messageId = answer.next(place.isLast);
      return [{ ...event, message: { ...message, messageId, parts: [{ kind: 'text', text }] } }];
    }
    const [fact] = readMessage(message);
    if (fact?.kind !== 'call' || !isMissing(fact.call)) return [];
    answer.pause();
    return [event];
  };
}
