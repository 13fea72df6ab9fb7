/**
 * The ids of the agent's messages in the log of a coding task. They say what a message is, because a message in a task's
 * history has no metadata of its event. For clients they are ids like any other.
 *
 *   response-UUID.PARAGRAPH.CHUNK       a chunk of the answer's text; UUID is the same in the whole turn
 *   response-UUID.PARAGRAPH.CHUNK.end   the last chunk of the answer
 *   question-UUID                       the open questions in words, shown to the client that began or continued the turn
 *   question-UUID.other                 the same, if this client has the extension, and got the calls themselves
 */
import type { Message } from '../message.ts';

const TEXT = /^(response-[0-9a-f-]{36})\.(\d{1,9})\.(\d{1,9})(\.end)?$/;
const QUESTION = /^question-[0-9a-f-]{36}(\.other)?$/;

/** The place of a chunk in the text of its turn. */
export interface TextPlace {
  /** The id of the turn's answer. */
  readonly answerId: string;
  /** Paragraphs are separated by a tool call or a thought. The first is 0. */
  readonly paragraph: number;
  /** The number of the chunk in its paragraph. The first is 0. */
  readonly chunk: number;
  /** Whether the agent has completed its answer. The chunk may be empty then. */
  readonly isLast: boolean;
}

/** Returns the id of the message with a chunk of text. */
export function textId({ answerId, paragraph, chunk, isLast }: TextPlace): string {
  return `${answerId}.${paragraph}.${chunk}${isLast ? '.end' : ''}`;
}

/** Returns the place of a message's text in its turn, or undefined if the message is not a chunk of an answer. */
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

/** Makes the id of a message with questions in words. `isOther`: for other clients than the one that is answered. */
export function questionId(isOther: boolean): string {
  return `question-${globalThis.crypto.randomUUID()}${isOther ? '.other' : ''}`;
}

/** Returns whether the message has the open questions in words, for clients without the extension. */
export function isQuestionInWords({ messageId, role }: Message): boolean {
  return role === 'agent' && QUESTION.test(messageId);
}

/** Returns whether the client whose request led to the questions got them in words. */
export function wasAskedInWords({ messageId }: Message): boolean {
  return !messageId.endsWith('.other');
}
