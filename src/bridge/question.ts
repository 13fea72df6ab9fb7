/**
 * Makes the message that asks a person, and reads the answers from the person's reply.
 *
 * The message contains the question as text, with its options. For a confirmation, the text also shows the tool and
 * its arguments. For programs, the message has a data part:
 * `{ "questions": [{ id, kind, text, agent, tool?, args?, options?, detail? }] }`.
 *
 * The next message to the task can answer in two ways:
 *
 * - With a data part for each question. For a confirmation, the data is `{ "questionId": …, "confirmed": true }`, and
 *   `args` can change the arguments of the call. For any other question, the data is
 *   `{ "questionId": …, "value": … }`.
 * - Without a question id, if exactly one question is open. A confirmation is answered with the text yes or no. Any
 *   other question is answered with any text. Without a text, the data or the files of the message are the answer.
 *
 * If a message answers a question, its files are added to the conversation. So models see the files, and tools find
 * them in the history.
 *
 * If a reply to a confirmation is neither a clear yes nor a clear no, the question is asked again. If several
 * questions are open, a reply without a question id is not accepted, because it is unclear which question it answers.
 */
import { randomUUIDv7 } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue, shorten } from '../base/index.ts';
import { type Message, type Part as A2APart, textOf } from '../protocol/index.ts';
import type { Answer, Question } from '../agent/index.ts';
import { fromA2AParts, type ReceivedPart } from './converter.ts';
import type { ReadAnswers } from './turn.ts';
import { yesOrNo } from './yes-no.ts';

/** Maximum length of the arguments in the text, in characters. The data part contains the complete arguments. */
const MAX_ARGS_TEXT = 2000;

/** Returns the message that asks these questions. `problem` is the reason why the last answer was not accepted. */
export function questionMessage(questions: readonly Question[], problem?: string): Message {
  const several = questions.length > 1;
  const lines = questions.map((question, index) =>
    several ? `${index + 1}. ${inWords(question)}\nQuestion id: ${question.id}` : inWords(question),
  );
  if (problem !== undefined) lines.unshift(problem);
  if (several) {
    lines.push(
      'Answer each question with a data part: {"questionId": …, "confirmed": true or false} or {"questionId": …, "value": …}.',
    );
  }
  return {
    kind: 'message',
    messageId: randomUUIDv7(),
    role: 'agent',
    parts: [
      { kind: 'text', text: lines.join('\n\n') },
      { kind: 'data', data: { questions } },
    ],
  };
}

function inWords(question: Question): string {
  const { kind, options } = question;
  const lines = [withCall(question)];
  if (options?.length) lines.push(`Options: ${options.join(', ')}`);
  if (kind === 'confirmation') lines.push('Answer yes or no.');
  return lines.join('\n');
}

interface CallQuestion extends Pick<Question, 'kind' | 'text'> {
  readonly tool?: string | undefined;
  readonly args?: object | undefined;
}

/**
 * Returns the question's text. For a confirmation, appends the tool and its arguments. For any other question, appends
 * the arguments if the text names the tool. Does not repeat a tool or arguments that the text already contains.
 */
export function withCall({ kind, text, tool, args }: CallQuestion): string {
  const lines = [text];
  const named = tool !== undefined && text.includes(tool);
  const given = args === undefined ? '' : JSON.stringify(args);
  if (kind === 'confirmation' && tool !== undefined && !named) lines.push(`Tool: ${tool}`);
  if ((kind === 'confirmation' || named) && !text.includes(given)) {
    lines.push(`Arguments: ${shorten(given, MAX_ARGS_TEXT)}`);
  }
  return lines.join('\n');
}

/** Reads the answers to open questions from a message. */
export function readAnswers(message: Message, open: readonly Question[]): ReadAnswers {
  const parts = fromA2AParts(message.parts);
  const files = parts.filter((part) => part.kind === 'blob' || part.kind === 'file');
  const given = parts.flatMap((part) =>
    part.kind === 'data' && typeof part.data['questionId'] === 'string' ? [part.data] : [],
  );
  if (given.length > 0) return { files, ...structured(given, open) };
  const [question, ...others] = open;
  if (!question) return { answers: [], files };
  if (others.length > 0) {
    const problem =
      'Several questions are open. Answer with a data part that contains the "questionId" of the question.';
    return { answers: [], files, problem };
  }
  const text = textOf(message.parts).trim();
  const answer = question.kind === 'confirmation' ? yesOrNo(text) : spoken(text, parts);
  if (answer === undefined) return { answers: [], files, problem: unclear(question) };
  const said =
    typeof answer === 'boolean' ? { confirmed: answer } : { value: chosen(answer, question) };
  return { answers: [{ questionId: question.id, ...said }], files };
}

/**
 * Returns whether a message without a task id answers the question in `asked`. Returns false if `asked` does not
 * contain exactly one question.
 *
 * - An approval (`isApproval`) is answered by a text that is the name or id of one of its options.
 * - Any other question of the kind `input` is answered by any content.
 * - A question of another kind is answered by yes or no, or by an option that means yes or no.
 *
 * A message that is not an answer may be a new request.
 */
export function answersQuestion(message: Message, asked: Message | undefined): boolean {
  const [question, ...others] = (asked?.parts ?? []).flatMap(questionsIn);
  if (!question || others.length > 0) return false;
  const text = textOf(message.parts).trim();
  const isPlain = message.parts.every(({ kind }) => kind === 'text');
  const isOffered = (words: readonly string[]): boolean =>
    isPlain && words.some((each) => each.toLowerCase() === text.toLowerCase());
  if (question.isApproval) return isOffered(question.options);
  if (question.kind === 'input') return text !== '' || !isPlain;
  return yesOrNo(text) !== undefined && isOffered([...question.options, 'yes', 'no']);
}

interface AskedQuestion {
  readonly kind: unknown;
  /** The names of the options, and their ids if they have any. */
  readonly options: readonly string[];
  /**
   * Whether a remote agent asks for the approval of a call. The answer to such a question selects one of the options.
   */
  readonly isApproval: boolean;
}

/** Returns the questions in a data part of `questionMessage`. */
function questionsIn(part: A2APart): AskedQuestion[] {
  const questions: unknown =
    part.kind === 'data' && isObject(part.data) ? part.data['questions'] : undefined;
  if (!Array.isArray(questions)) return [];
  return questions.filter(isObject).map(({ kind, options, detail }) => {
    const request =
      kind === 'input' && isObject(detail) ? detail['confirmation_request'] : undefined;
    const isApproval = isObject(request);
    const ids = isApproval
      ? asArray(request['options']).map((each) => isObject(each) && each['id'])
      : [];
    const words = [...asArray(options), ...ids].filter((each) => typeof each === 'string');
    return { kind, options: words, isApproval };
  });
}

function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function structured(
  given: readonly JsonObject[],
  open: readonly Question[],
): Omit<ReadAnswers, 'files'> {
  const answers = new Map<string, Answer>();
  let problem: string | undefined;
  for (const data of given) {
    const question = open.find(({ id }) => id === data['questionId']);
    if (!question) {
      problem ??= 'The answer is for a question that is not open.';
      continue;
    }
    const answer = answerOf(data, question);
    if (!answer) problem ??= unclear(question);
    else if (!answers.has(question.id)) answers.set(question.id, answer);
  }
  return answers.size > 0 || problem === undefined
    ? { answers: [...answers.values()] }
    : { answers: [], problem };
}

function answerOf(data: JsonObject, question: Question): Answer | undefined {
  const { value, args } = data;
  const questionId = question.id;
  if (question.kind !== 'confirmation') {
    return value === undefined ? undefined : { questionId, value: chosen(value, question) };
  }
  const word = typeof value === 'string' ? yesOrNo(value) : undefined;
  const said = data['confirmed'] ?? word;
  if (typeof said !== 'boolean' || (args !== undefined && !isObject(args))) return undefined;
  return {
    questionId,
    confirmed: said,
    ...(args !== undefined && { args }),
    // `value` is the reason for the decision. It is omitted if it is the decision itself.
    ...(value !== undefined && word === undefined && { value }),
  };
}

/**
 * Returns the text. If there is no text, returns the data. If there is no data, returns the names of the files. Returns
 * undefined if there are no files either.
 */
function spoken(text: string, parts: readonly ReceivedPart[]): JsonValue | undefined {
  if (text !== '') return text;
  const data = parts.find((part) => part.kind === 'data')?.data;
  const names = parts.flatMap((part) => {
    if (part.kind === 'blob') return [part.name ?? part.mediaType];
    return part.kind === 'file' ? [part.name ?? part.uri] : [];
  });
  return data ?? (names.length > 0 ? names.join(', ') : undefined);
}

/**
 * Returns the option that the answer names, ignoring the case of the letters. If there is no such option, returns the
 * answer.
 */
function chosen(value: JsonValue, { options = [] }: Question): JsonValue {
  if (typeof value !== 'string') return value;
  const named = value.trim().toLowerCase();
  return options.find((option) => option.toLowerCase() === named) ?? value;
}

function unclear({ kind }: Question): string {
  return kind === 'confirmation'
    ? 'The answer was neither a clear yes nor a clear no, or its "args" were not an object. Nothing was done.'
    : 'The message contains no answer.';
}
