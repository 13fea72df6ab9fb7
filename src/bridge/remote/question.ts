/**
 * Converts a remote agent's questions into questions of the run, and the answers into a message to the remote.
 *
 * Every remote asks in text. Parley's agents also ask as data (question.ts): then each question is passed on with its
 * options and, in `detail`, everything else. All of it is only shown to people: a remote's tool is not one of our tools.
 */
import { type JsonValue, isObject, shorten } from '../../base/index.ts';
import * as z from 'zod';
import type { Answer, Question } from '../../agent/index.ts';
import { textOf, type Part as A2APart } from '../../protocol/index.ts';
import { withCall } from '../question.ts';
import type { RemoteNote } from './note.ts';

export interface RemoteQuestion {
  /** The remote's id of the question. */
  readonly remote: string | undefined;
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

/** The questions in these parts. There is always at least one, with a default text if the parts have none. */
export function remoteQuestions(parts: readonly A2APart[], auth: boolean): RemoteQuestion[] {
  for (const part of parts) {
    const asked = part.kind === 'data' ? Asked.safeParse(part.data).data : undefined;
    if (asked) return asked.questions.map(passedOn);
  }
  const said = textOf(parts).trim();
  const data = parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
  const text =
    said || (auth ? 'The agent requires authorization.' : 'The agent requires more input.');
  const question = { kind: auth ? 'auth' : 'input', text: shorten(text, MAX_TEXT) } as const;
  return [{ remote: undefined, question: { ...question, ...detailed(data) } }];
}

function passedOn({ id, kind, text, tool, args, options, detail }: Asked): RemoteQuestion {
  const words = withCall({ kind, text: text || 'Allow this?', tool, args });
  const about = { tool, args, detail };
  const more = Object.values(about).some((value) => value !== undefined) ? [about] : [];
  return {
    remote: id,
    question: {
      kind,
      text: shorten(words, MAX_TEXT),
      ...(options !== undefined && { options }),
      ...detailed(more),
    },
  };
}

/** The detail, if it is not too long. JSON drops members that are undefined. */
function detailed([detail]: readonly unknown[]): { readonly detail?: JsonValue } {
  const json = detail === undefined ? '' : JSON.stringify(detail);
  return json === '' || json.length > MAX_DETAIL ? {} : { detail: JSON.parse(json) as JsonValue };
}

/** The answers as parts of a message to the remote. */
export function remoteAnswers(
  questions: NonNullable<RemoteNote['questions']>,
  answerTo: (id: string) => Answer | undefined,
): A2APart[] {
  return questions.flatMap(({ id, remote }) => {
    const answer = answerTo(id);
    if (!answer) return [];
    return [remote === undefined ? asText(answer) : asData(answer, remote)];
  });
}

function asData({ confirmed, args, value }: Answer, questionId: string): A2APart {
  const given = {
    ...(confirmed !== undefined && { confirmed }),
    ...(args !== undefined && { args }),
    ...(value !== undefined && { value }),
  };
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
