/**
 * What a remote agent asks, as questions of the run; and what the person says to them, as a message to the remote.
 *
 * Any remote asks in words. Parley's also say it as data (question.ts): then each question is passed on as one, with
 * its options and, in `detail`, whatever else the remote says of it. All of it is shown to people and means nothing to
 * programs here: a remote's tool is not one of ours.
 */
import { type JsonValue, isObject } from '../../base/index.ts';
import * as z from 'zod';
import type { Answer, Question } from '../../agent/index.ts';
import { textOf, type Part as A2APart } from '../../protocol/index.ts';
import { withCall } from '../question.ts';
import type { RemoteNote } from './note.ts';

export interface RemoteQuestion {
  /** The remote's own name for it. */
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

/** What the remote asks with these parts. There is always a question, if need be with words of ours. */
export function remoteQuestions(parts: readonly A2APart[], auth: boolean): RemoteQuestion[] {
  for (const part of parts) {
    const asked = part.kind === 'data' ? Asked.safeParse(part.data).data : undefined;
    if (asked) return asked.questions.map(passedOn);
  }
  const said = textOf(parts).trim();
  const data = parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []));
  const text = said || (auth ? 'An authorization is wanted.' : 'More input is wanted.');
  const question = { kind: auth ? 'auth' : 'input', text: cut(text) } as const;
  return [{ remote: undefined, question: { ...question, ...detailed(data) } }];
}

function passedOn({ id, kind, text, tool, args, options, detail }: Asked): RemoteQuestion {
  const words = withCall({ kind, text: text || 'May this be done?', tool, args });
  const about = { tool, args, detail };
  const more = Object.values(about).some((value) => value !== undefined) ? [about] : [];
  return {
    remote: id,
    question: {
      kind,
      text: cut(words),
      ...(options !== undefined && { options }),
      ...detailed(more),
    },
  };
}

/** What comes from a codec is JSON, though its schema calls it unknown; through JSON, undefined is absent. */
function detailed([detail]: readonly unknown[]): { readonly detail?: JsonValue } {
  const json = detail === undefined ? '' : JSON.stringify(detail);
  return json === '' || json.length > MAX_DETAIL ? {} : { detail: JSON.parse(json) as JsonValue };
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…`.toWellFormed() : text;
}

/** What the remote is told. */
export function remoteAnswers(
  questions: NonNullable<RemoteNote['questions']>,
  answerTo: (id: string) => Answer | undefined,
): A2APart[] {
  return questions.flatMap(({ id, remote }) => {
    const answer = answerTo(id);
    if (!answer) return [];
    return [remote === undefined ? inWords(answer) : asData(answer, remote)];
  });
}

function asData({ confirmed, args, value }: Answer, questionId: string): A2APart {
  const given = {
    ...(confirmed !== undefined && { confirmed }),
    ...(args !== undefined && { args }),
    ...(value !== undefined && { value }),
  };
  // Nothing said is no, as it is for our own tools.
  const data = Object.keys(given).length > 0 ? given : { confirmed: false };
  return { kind: 'data', data: { questionId, ...data } };
}

function inWords({ value, confirmed }: Answer): A2APart {
  if (isObject(value)) return { kind: 'data', data: value };
  if (typeof value === 'string' && value !== '') return { kind: 'text', text: value };
  if (value !== undefined && value !== null && value !== '') {
    return { kind: 'text', text: JSON.stringify(value) };
  }
  return { kind: 'text', text: confirmed === true ? 'yes' : 'no' };
}
