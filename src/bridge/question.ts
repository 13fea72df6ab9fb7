/**
 * What a run asks a person, as a message; and what the person says to it, as answers.
 *
 * The message says in words what is asked, with the answers to choose from, and the tool and its arguments where the
 * question is whether a call may be made; and it has a data part for programs:
 * `{ "questions": [{ id, kind, text, agent, tool?, args?, options?, detail? }] }`.
 *
 * The next message on the task answers, in one of two ways:
 *
 * - a data part for each question: `{ "questionId": …, "confirmed": true }` for a confirmation, with `args` when the
 *   call is to be made with others; `{ "questionId": …, "value": … }` for anything else;
 * - words, when one question is open: yes or no to a confirmation, anything to another; a file is an answer too.
 *
 * Files that come with an answer are said beside it: models see them, tools have them in their history.
 *
 * What is neither a clear yes nor a clear no confirms nothing and denies nothing: it is asked again. So is what comes
 * as words when several questions are open, since nobody can tell which one is meant.
 */
import { type JsonObject, type JsonValue, isObject } from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import { type Message, textOf } from '../protocol/index.ts';
import type { Answer, Question, BlobPart, FileContentPart } from '../agent/index.ts';
import { fromA2AParts, type ReceivedPart } from './converter.ts';

const YES = new Set(
  'yes y yep yeah ok okay sure confirm confirmed approve approved allow accept proceed true'.split(
    ' ',
  ),
).add('go ahead');
const NO = new Set(
  'no n nope deny denied reject rejected refuse refused disallow cancel stop false'.split(' '),
).add("don't");

/** No yes and no no is longer; to look for its end in a text of any length could take for ever. */
const MAX_WORD = 100;
/** Longer arguments are cut in the words; the data part has them whole. */
const MAX_ARGS_TEXT = 2000;

/** What is asked, with a word about the last answer where it did not do. */
export function questionMessage(questions: readonly Question[], problem?: string): Message {
  const several = questions.length > 1;
  const lines = questions.map((question, index) =>
    several ? `${index + 1}. ${inWords(question)}\nQuestion id: ${question.id}` : inWords(question),
  );
  if (problem !== undefined) lines.unshift(problem);
  if (several) {
    lines.push(
      'Answer each with a data part: {"questionId": …, "confirmed": true or false} or {"questionId": …, "value": …}.',
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

interface Asked extends Pick<Question, 'kind' | 'text'> {
  readonly tool?: string | undefined;
  readonly args?: object | undefined;
}

/** The question, and the call where that is what is asked about. Many a text says it already. */
export function withCall({ kind, text, tool, args }: Asked): string {
  const lines = [text];
  const named = tool !== undefined && text.includes(tool);
  const given = args === undefined ? '' : JSON.stringify(args);
  if (kind === 'confirmation' && tool !== undefined && !named) lines.push(`Tool: ${tool}`);
  if ((kind === 'confirmation' || named) && !text.includes(given)) {
    lines.push(`Arguments: ${shortened(given)}`);
  }
  return lines.join('\n');
}

function shortened(text: string): string {
  return text.length > MAX_ARGS_TEXT ? `${text.slice(0, MAX_ARGS_TEXT)}…` : text;
}

export interface ReadAnswers {
  /** Clear ones to open questions, at most one for each. */
  readonly answers: readonly Answer[];
  /** The files that came with them. */
  readonly files: readonly (BlobPart | FileContentPart)[];
  /** Where there is no answer: what is wrong, for whoever gave it. */
  readonly problem?: string;
}

/** What a message says to the questions that are open. */
export function readAnswers(message: Message, open: readonly Question[]): ReadAnswers {
  const parts = fromA2AParts(message.parts);
  const files = parts.filter((part) => part.kind === 'blob' || part.kind === 'file');
  const given = parts.flatMap((part) =>
    part.kind === 'data' && typeof part.data['questionId'] === 'string' ? [part.data] : [],
  );
  if (given.length > 0) return { files, ...structured(given, open) };
  const [question, ...others] = open;
  if (!question || others.length > 0) {
    return { answers: [], files, problem: 'Several questions are open; say which one you answer.' };
  }
  const text = textOf(message.parts).trim();
  const answer = question.kind === 'confirmation' ? confirmed(text) : spoken(text, parts);
  if (answer === undefined) return { answers: [], files, problem: unclear(question) };
  if (typeof answer === 'boolean') {
    return { answers: [{ questionId: question.id, confirmed: answer }], files };
  }
  return { answers: [{ questionId: question.id, value: chosen(answer, question) }], files };
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
      problem ??= 'A question that is not open was answered.';
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
  const word = typeof value === 'string' ? confirmed(value) : undefined;
  const said = data['confirmed'] ?? word;
  if (typeof said !== 'boolean' || (args !== undefined && !isObject(args))) return undefined;
  return {
    questionId,
    confirmed: said,
    ...(args !== undefined && { args }),
    // Beside the decision it is a reason; in its place it has said all.
    ...(value !== undefined && word === undefined && { value }),
  };
}

/** Undefined: neither a clear yes nor a clear no. */
function confirmed(text: string): boolean | undefined {
  const said = text.trim();
  if (said.length > MAX_WORD) return undefined;
  const words = said
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[.!]+$/, '')
    .replace(/,? (?:please|thanks|thank you)$/, '');
  if (YES.has(words)) return true;
  return NO.has(words) ? false : undefined;
}

/** An answer in words or, where there are none, in data or the names of files. */
function spoken(text: string, parts: readonly ReceivedPart[]): JsonValue | undefined {
  if (text !== '') return text;
  const data = parts.find((part) => part.kind === 'data')?.data;
  const names = parts.flatMap((part) => {
    if (part.kind === 'blob') return [part.name ?? part.mediaType];
    return part.kind === 'file' ? [part.name ?? part.uri] : [];
  });
  return data ?? (names.length > 0 ? names.join(', ') : undefined);
}

/** The option as it was offered, where the answer names one in its own spelling. */
function chosen(value: JsonValue, { options = [] }: Question): JsonValue {
  if (typeof value !== 'string') return value;
  const named = value.trim().toLowerCase();
  return options.find((option) => option.toLowerCase() === named) ?? value;
}

function unclear({ kind }: Question): string {
  return kind === 'confirmation'
    ? 'That was neither a clear yes nor a clear no; nothing was done.'
    : 'There was no answer in that.';
}
