/**
 * Reads the answer to a question from a message. A message selects one of the offered options, or answers with text. If
 * a call needs approval, the text can be the name or id of an option (except `modify`), or a plain yes or no. Any other
 * text rejects the call, and the model gets the text as the reason.
 */
import type { Answer, Question } from '../../agent/index.ts';
import { defined, isObject } from '../../base/index.ts';
import { yesOrNo } from '../../bridge/index.ts';
import {
  type ConfirmationOption,
  looksLikeConfirmation,
  OPTION,
  readConfirmation,
  readMessage,
  selectedOption,
  type ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, textOf, type Message } from '../../protocol/index.ts';
import { requestOf } from './confirmation-request.ts';
import { isQuoted, ownText } from './quoted.ts';

/**
 * Returns the confirmations in a message from a client. Throws if a confirmation does not have the extension's format,
 * or if two of them are about the same call.
 */
export function confirmationsIn({ parts }: Message): ToolCallConfirmation[] {
  const found = new Map<string, ToolCallConfirmation>();
  for (const part of parts) {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) continue;
    const confirmation = readConfirmation(part.data);
    const { tool_call_id: id } = confirmation;
    if (found.has(id)) {
      throw new A2AError('invalidParams', `tool_call_id: two answers to the call ${id}`);
    }
    found.set(id, confirmation);
  }
  return [...found.values()];
}

/**
 * Returns the answer that an accepted message gives to a question, or undefined if the message has only confirmations
 * for other questions.
 *
 * - If the message has no confirmations, its own text is the answer. The model also gets the quoted text (quoted.ts).
 * - If a confirmation selects the option `answer`, but has no field `answer`, the message's own text is its answer. In
 *   this case, the model does not get the quoted text.
 * - If the own text is not the answer of any confirmation, the model gets the own and the quoted text with the answer
 *   of the first confirmation.
 */
export function answerIn(message: Message, question: Question): Answer | undefined {
  const own = ownText(message.parts).trim();
  const confirmations = readMessage(message).filter((fact) => fact.kind === 'answer');
  if (confirmations.length === 0) {
    const quoted = textOf(message.parts.filter(isQuoted)).trim();
    return { ...wordsAnswer(question, own), ...(quoted !== '' && { words: quoted }) };
  }
  const chosen = confirmations.find(({ confirmation: { tool_call_id: id } }) => id === question.id);
  if (!chosen) return undefined;
  const answer = answerFor(question, chosen.confirmation, own);
  // The model gets the text only once, although the message may answer several questions.
  const isAnswer = confirmations.some(({ confirmation }) => takesWords(confirmation));
  const beside = chosen === confirmations[0] && !isAnswer ? textOf(message.parts).trim() : '';
  const { selected_option_id: option, reason = '' } = chosen.confirmation;
  // With `cancel`, the reason is already part of the answer, so it is not added here.
  const said = [option === OPTION.cancel ? '' : reason, beside].filter((text) => text !== '');
  return said.length > 0 ? { ...answer, words: said.join('\n') } : answer;
}

/** Returns whether the text of the message is the answer of this confirmation. */
function takesWords({ selected_option_id: option, answer }: ToolCallConfirmation): boolean {
  return option === OPTION.words && answer === undefined;
}

/** Returns the answer that a confirmation gives to a question. `beside` is the message's own text. */
function answerFor(question: Question, confirmation: ToolCallConfirmation, beside: string): Answer {
  const { file_details, reason } = confirmation;
  const { options } = requestOf(question).request;
  const option = selectedOption(confirmation, options);
  const questionId = question.id;
  if (question.kind === 'confirmation') {
    if (option === OPTION.cancel) return rejection(question, reason);
    const modified = option === OPTION.modify ? file_details : undefined;
    return approval(question, option, modified?.new_content);
  }
  if (option === OPTION.cancel) return rejection(question, reason ?? 'The person gave no answer.');
  if (option === OPTION.words) return { questionId, value: confirmation.answer ?? beside };
  return { questionId, value: options.find(({ id }) => id === option)?.name ?? option };
}

function wordsAnswer(question: Question, said: string): Answer {
  const { options } = requestOf(question).request;
  if (question.kind !== 'confirmation') {
    return { questionId: question.id, value: optionNamed(said, options)?.name ?? said };
  }
  const option = approvalIn(said, options);
  if (option !== undefined && option !== OPTION.cancel) return approval(question, option);
  return rejection(question, option === undefined && said !== '' ? said : undefined);
}

/**
 * Returns the id of the option that a text selects for a call that needs approval. The text is the name or id of an
 * option, or a plain yes or no. Returns undefined for any other text, and for the option `modify`.
 */
export function approvalIn(
  words: string,
  options: readonly ConfirmationOption[],
): string | undefined {
  const decision = yesOrNo(words);
  const plain = decision === undefined ? undefined : decision ? OPTION.once : OPTION.cancel;
  return exactOption(words, options) ?? plain;
}

/**
 * Returns the id of the option whose name or id equals the text, or undefined if there is none. Ignores case, and white
 * space around the text. Never returns the option `modify`, because it needs content.
 */
export function exactOption(
  words: string,
  options: readonly ConfirmationOption[],
): string | undefined {
  const said = words.trim().toLowerCase();
  const named = options.find(
    ({ id, name }) => id.toLowerCase() === said || name.toLowerCase() === said,
  );
  return named?.id === OPTION.modify ? undefined : named?.id;
}

/**
 * Returns the option whose name equals the text, or undefined if there is none. Ignores case, and white space around
 * the text. Never returns the options `answer` and `cancel`.
 */
export function optionNamed(
  words: string,
  options: readonly ConfirmationOption[],
): ConfirmationOption | undefined {
  const said = words.trim().toLowerCase();
  const choices = options.filter(({ id }) => id !== OPTION.words && id !== OPTION.cancel);
  return choices.find(({ name }) => name.toLowerCase() === said);
}

/** Returns an approval with the fingerprint of the preview. The tool uses the fingerprint to detect changed files. */
function approval(question: Question, selected_option_id: string, new_content?: string): Answer {
  const { fingerprint } = requestOf(question);
  const value = defined({ selected_option_id, new_content, fingerprint });
  return { questionId: question.id, confirmed: true, value };
}

function rejection({ id: questionId }: Question, reason: string | undefined): Answer {
  return { questionId, confirmed: false, ...defined({ value: reason }) };
}

/** Returns the id of the option with which a person approved a call, or undefined if the answer approves no call. */
export function chosenOption(answer: Answer | undefined): string | undefined {
  const id = isObject(answer?.value) ? answer.value['selected_option_id'] : undefined;
  return typeof id === 'string' ? id : undefined;
}
