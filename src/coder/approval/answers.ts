/**
 * Reads the answer to a question from a message. A message selects one of the offered options, or answers with text. A
 * text answer to a confirmation is yes, no, or a reason for declining, which is passed to the model.
 */
import type { Answer, Question } from '../../agent/index.ts';
import { isObject, type JsonValue } from '../../base/index.ts';
import { yesOrNo } from '../../bridge/index.ts';
import {
  looksLikeConfirmation,
  readMessage,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { parseWith, textOf, type Message } from '../../protocol/index.ts';
import { CANCEL, requestOf } from './confirmation-request.ts';

/** Returns the confirmations in a message. Throws if a confirmation does not have the extension's format. */
export function confirmationsIn({ parts }: Message): ToolCallConfirmation[] {
  const found: ToolCallConfirmation[] = [];
  for (const part of parts) {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) continue;
    found.push(parseWith(ToolCallConfirmation, part.data, 'ToolCallConfirmation'));
  }
  return found;
}

/**
 * Returns the answer that a message gives to a question. If the message contains confirmations, its text is ignored.
 */
export function answerIn(message: Message, question: Question): Answer | undefined {
  const confirmations = confirmationsIn(message);
  if (confirmations.length === 0) return wordsAnswer(question, textOf(message.parts));
  const chosen = confirmations.find(({ tool_call_id }) => tool_call_id === question.id);
  return chosen && answerFor(question, chosen);
}

/**
 * Finds the answer to a question in the messages of a task. If the process died, the run may not have received this
 * answer. Only messages after the request are read, because the same call may have asked before.
 */
export function unheardAnswer(
  messages: readonly Message[],
  question: Question,
): Answer | undefined {
  const { correlationId } = requestOf(question);
  const asked = messages.findLastIndex((message) =>
    readMessage(message).some(
      (fact) => fact.kind === 'call' && fact.call.correlationId === correlationId,
    ),
  );
  if (asked < 0) return undefined;
  for (const message of messages.slice(asked + 1)) {
    if (message.role !== 'user' || isCommand(message)) continue;
    const answer = answerIn(message, question);
    if (answer) return answer;
  }
  return undefined;
}

/** Returns whether the message is a slash command. A slash command does not answer an open question. */
function isCommand(message: Message): boolean {
  return textOf(message.parts).startsWith('/') && confirmationsIn(message).length === 0;
}

/** Returns the answer that a confirmation gives to its question. */
export function answerFor(question: Question, confirmation: ToolCallConfirmation): Answer {
  const { selected_option_id, file_details, reason } = confirmation;
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    if (selected_option_id !== CANCEL.id) return { questionId, value: selected_option_id };
    return { questionId, value: reason ?? 'The person gave no answer.' };
  }
  if (selected_option_id === CANCEL.id) {
    return { questionId, confirmed: false, ...(reason !== undefined && { value: reason }) };
  }
  return approval(question, {
    selected_option_id,
    ...(file_details && { new_content: file_details.new_content }),
  });
}

function wordsAnswer(question: Question, text: string): Answer {
  const said = text.trim();
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    const option = question.options?.find((each) => each.toLowerCase() === said.toLowerCase());
    return { questionId, value: option ?? said };
  }
  const decision = yesOrNo(said);
  if (decision === true) return approval(question, { selected_option_id: 'proceed_once' });
  const isReason = decision === undefined && said !== '';
  return { questionId, confirmed: false, ...(isReason && { value: said }) };
}

/**
 * Returns an approval. It contains the fingerprint of the preview, so that the tool can detect whether the files have
 * changed.
 */
function approval(question: Question, choice: Readonly<Record<string, JsonValue>>): Answer {
  const { fingerprint } = requestOf(question);
  const value = { ...choice, ...(fingerprint !== undefined && { fingerprint }) };
  return { questionId: question.id, confirmed: true, value };
}

/** Returns the id of the option that a person selected. */
export function chosenOption(answer: Answer | undefined): string | undefined {
  const value = answer?.value;
  if (!isObject(value)) return undefined;
  const id: unknown = value['selected_option_id'];
  return typeof id === 'string' ? id : undefined;
}
