/**
 * Converts a remote agent's questions to questions of the run, and the answers to a message for the remote agent.
 *
 * Most remote agents ask in text. gemini-cli's server asks about calls (`callQuestions`). Parley's agents also send
 * their questions as data (../question.ts). Then each question keeps its kind, its text and its options, and all other
 * data is in `detail`. A tool that `detail` names is a tool of the remote agent and is never called here.
 */
import { defined, isObject, shorten, type JsonValue } from '../../base/index.ts';
import * as z from 'zod';
import type { Answer, Question } from '../../agent/index.ts';
import {
  callText,
  OPTION,
  type ConfirmationOption,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { textOf, type Part as A2APart } from '../../protocol/index.ts';
import { withCall } from '../question.ts';
import { yesOrNo } from '../yes-no.ts';
import type { RemoteNote } from './note.ts';

export interface RemoteQuestion {
  /** The remote agent's own id of the question, or undefined if the agent has not sent an id. */
  readonly remote: string | undefined;
  /** The options of the call that the question is about. If they are set, the answer selects one of them. */
  readonly options?: ConfirmationOption[] | undefined;
  readonly question: Pick<Question, 'kind' | 'text'> &
    Pick<Partial<Question>, 'options' | 'detail'>;
}

const MAX_QUESTIONS = 50;
const MAX_TEXT = 8000;
const MAX_OPTIONS = 50;
const MAX_OPTION = 200;
const MAX_DETAIL = 64 * 1024;

const Asked = z.object({
  questions: z
    .array(
      z.object({
        id: z.string().min(1).max(256),
        kind: z.enum(['confirmation', 'input', 'auth']).catch('input'),
        text: z.string(),
        tool: z.string().optional(),
        args: z.record(z.string(), z.unknown()).optional(),
        options: z.array(z.string().max(MAX_OPTION)).max(MAX_OPTIONS).optional(),
        detail: z.unknown().optional(),
      }),
    )
    .min(1)
    .max(MAX_QUESTIONS),
});
type Asked = z.infer<typeof Asked>['questions'][number];

/** The texts of questions that the remote agent has sent without a text. */
const DEFAULT_TEXTS: Readonly<Record<Question['kind'], string>> = {
  confirmation: 'Allow this?',
  input: 'The agent requires more input.',
  auth: 'The agent requires authorization.',
};

/**
 * Returns the questions in the first data part that contains questions. If there is no such part, returns one question.
 * Its text is the text of the parts, or a default text if they have none. Its detail is the first data part.
 */
export function remoteQuestions(parts: readonly A2APart[], auth: boolean): RemoteQuestion[] {
  for (const part of parts) {
    const asked = part.kind === 'data' ? Asked.safeParse(part.data).data : undefined;
    if (asked) return asked.questions.map(passedOn);
  }
  const said = textOf(parts).trim();
  const data = parts.find((part) => part.kind === 'data')?.data;
  const kind = auth ? 'auth' : 'input';
  const question = { kind, text: shorten(said || DEFAULT_TEXTS[kind], MAX_TEXT) } as const;
  return [{ remote: undefined, question: { ...question, ...detailed(data) } }];
}

/**
 * Returns the questions about calls, for an agent that uses the dialect of gemini-cli's server. Each question has the
 * options of its call.
 */
export function callQuestions(calls: readonly ToolCall[]): RemoteQuestion[] {
  return calls.slice(0, MAX_QUESTIONS).map((call) => {
    const { tool_call_id: remote, confirmation_request } = call;
    const { options = [] } = confirmation_request ?? {};
    const names = options.map(({ name }) => shorten(name, MAX_OPTION));
    const question = {
      kind: 'input',
      text: shorten(callText(call), MAX_TEXT),
      options: names,
    } as const;
    // Even if the call is too long to be included, the detail shows that the question asks to approve a call.
    const detail = { detail: { confirmation_request: {} }, ...detailed(call) };
    return { remote, options, question: { ...question, ...detail } };
  });
}

function passedOn({ id, kind, text, tool, args, options, detail }: Asked): RemoteQuestion {
  const words = withCall({ kind, text: text || DEFAULT_TEXTS[kind], tool, args });
  const about = defined({ tool, args, detail });
  const more = Object.keys(about).length > 0 ? about : undefined;
  const asked = { kind, text: shorten(words, MAX_TEXT), ...defined({ options }) };
  return { remote: id, question: { ...asked, ...detailed(more) } };
}

/**
 * Returns the detail as plain JSON, which has no undefined members. Returns an empty object if there is no detail or it
 * is too long.
 */
function detailed(detail: unknown): { readonly detail?: JsonValue } {
  const json = detail === undefined ? '' : JSON.stringify(detail);
  return json === '' || json.length > MAX_DETAIL ? {} : { detail: JSON.parse(json) as JsonValue };
}

/** Converts the answers to parts of a message for the remote agent. Questions without an answer are left out. */
export function remoteAnswers(
  questions: NonNullable<RemoteNote['questions']>,
  answerTo: (id: string) => Answer | undefined,
): A2APart[] {
  return questions.flatMap(({ id, remote, options }): A2APart[] => {
    const answer = answerTo(id);
    if (!answer) return [];
    if (options && remote !== undefined) {
      return [{ kind: 'data', data: { callId: remote, outcome: outcomeOf(answer, options) } }];
    }
    return [remote === undefined ? asText(answer) : asData(answer, remote)];
  });
}

/**
 * Returns the id of the option that an answer selects. Without a selected option, a yes means `OPTION.once`. Every
 * other answer, and every answer with `confirmed: false`, rejects the call.
 */
function outcomeOf({ value, confirmed }: Answer, options: readonly ConfirmationOption[]): string {
  const said = typeof value === 'string' ? value.trim().toLowerCase() : '';
  const isNamed = (word: string) => said !== '' && word.toLowerCase() === said;
  const chosen = options.find(({ id, name }) => isNamed(id) || isNamed(shorten(name, MAX_OPTION)));
  if (chosen && confirmed !== false) return chosen.id;
  return (confirmed ?? yesOrNo(said)) === true ? OPTION.once : OPTION.cancel;
}

function asData({ confirmed, args, value }: Answer, questionId: string): A2APart {
  const given = defined({ confirmed, args, value });
  // An empty answer means no, as for our own tools.
  const data = Object.keys(given).length > 0 ? given : { confirmed: false };
  return { kind: 'data', data: { questionId, ...data } };
}

function asText({ value, confirmed }: Answer): A2APart {
  if (isObject(value)) return { kind: 'data', data: value };
  if (typeof value === 'string' && value !== '') return { kind: 'text', text: value };
  if (value !== undefined && value !== null && value !== '') {
    return { kind: 'text', text: JSON.stringify(value) };
  }
  return { kind: 'text', text: confirmed === true ? 'yes' : 'no' };
}
