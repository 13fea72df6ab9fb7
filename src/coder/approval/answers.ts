/**
 * What a message says in answer to a question: it confirms or declines a call by one of the offered options, or it
 * answers in words. Words in answer to a confirmation are yes, no, or a reason to decline, which the model hears.
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

/** The confirmations in a message. Throws if one is not as the extension has it. */
export function confirmationsIn({ parts }: Message): ToolCallConfirmation[] {
  const found: ToolCallConfirmation[] = [];
  for (const part of parts) {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) continue;
    found.push(parseWith(ToolCallConfirmation, part.data, 'ToolCallConfirmation'));
  }
  return found;
}

/** The answer that a message gives to a question. A message with confirmations is not read as words. */
export function answerIn(message: Message, question: Question): Answer | undefined {
  const confirmations = confirmationsIn(message);
  if (confirmations.length === 0) return wordsAnswer(question, textOf(message.parts));
  const chosen = confirmations.find(({ tool_call_id }) => tool_call_id === question.id);
  return chosen && answerFor(question, chosen);
}

/**
 * The answer to a question that the messages of a task contain. The run may not have heard it if the process died in
 * between. Only a message after the request counts: the same call may have asked before.
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

/** A slash command that is typed while a question waits does not answer it. */
export function isCommand({ parts }: Message): boolean {
  return textOf(parts).startsWith('/');
}

/** The answer that a confirmation gives to its question. */
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

/** The fingerprint goes back with the approval, so that the tool can tell whether the files have changed. */
function approval(question: Question, choice: Readonly<Record<string, JsonValue>>): Answer {
  const { fingerprint } = requestOf(question);
  const value = { ...choice, ...(fingerprint !== undefined && { fingerprint }) };
  return { questionId: question.id, confirmed: true, value };
}

/** The id of the option that a person chose. */
export function chosenOption(answer: Answer | undefined): string | undefined {
  const value = answer?.value;
  if (!isObject(value)) return undefined;
  const id: unknown = value['selected_option_id'];
  return typeof id === 'string' ? id : undefined;
}
