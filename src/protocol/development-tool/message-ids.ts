/**
 * The ids of the agent's messages in the log of a coding task. An id identifies the kind of its message, because a
 * message in a task's history does not have the metadata of its event. For clients of other vendors, these ids have no
 * meaning.
 *
 *   response-UUID.PARAGRAPH.CHUNK       a chunk of the answer's text; UUID is the same in the whole turn
 *   response-UUID.PARAGRAPH.CHUNK.end   the last chunk of the answer
 *   question-UUID                       the open questions as text, for the client that began or continued the turn
 *   question-UUID.other                 the open questions as text, only for other clients, because the client of the
 *                                       turn has the extension and received the calls themselves
 */
import type { Message } from '../message.ts';

const TEXT = /^(response-[0-9a-f-]{36})\.(\d{1,9})\.(\d{1,9})(\.end)?$/;
const QUESTION = /^question-[0-9a-f-]{36}(\.other)?$/;

/** The position of a chunk in the text of its turn. */
export interface TextPlace {
  /** The id of the turn's answer. */
  readonly answerId: string;
  /** The number of the paragraph. The first paragraph is 0. A tool call or a thought starts a new paragraph. */
  readonly paragraph: number;
  /** The number of the chunk in its paragraph. The first chunk is 0. */
  readonly chunk: number;
  /** Whether this is the last chunk of the answer. The last chunk may be empty. */
  readonly isLast: boolean;
}

/** Returns the id of the message for a chunk of text. */
export function textId({ answerId, paragraph, chunk, isLast }: TextPlace): string {
  return `${answerId}.${paragraph}.${chunk}${isLast ? '.end' : ''}`;
}

/** Returns the position of a message's text in its turn, or undefined if the message is not a chunk of an answer. */
export function textPlace({ messageId, role }: Message): TextPlace | undefined {
  const [, answerId, paragraph, chunk, end] =
    (role === 'agent' && messageId.startsWith('response-') && TEXT.exec(messageId)) || [];
  if (answerId === undefined) return undefined;
  return {
    answerId,
    paragraph: Number(paragraph),
    chunk: Number(chunk),
    isLast: end !== undefined,
  };
}

/**
 * Makes the id of a message with questions as text. `isOther` is true if only clients other than the client of the turn
 * need the message, because the client of the turn has the extension.
 */
export function questionId(isOther: boolean): string {
  return `question-${globalThis.crypto.randomUUID()}${isOther ? '.other' : ''}`;
}

/** Returns whether the message contains the open questions as text, for clients without the extension. */
export function isQuestionInWords({ messageId, role }: Message): boolean {
  return role === 'agent' && QUESTION.test(messageId);
}

/** Returns whether the client of the turn received the questions as text. */
export function wasAskedInWords({ messageId }: Message): boolean {
  return !messageId.endsWith('.other');
}
