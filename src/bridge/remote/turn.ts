/** What a remote agent has to do next in a run: hear what is new, get an answer, or be followed where it works. */
import type { RunContext, Question } from '../../agent/index.ts';
import { isInterrupted, isSettled, type Part as A2APart } from '../../protocol/index.ts';
import { noteOf, parseNote, type RemoteNote } from './note.ts';
import { messageIdFor, unseen } from './outgoing.ts';
import { remoteAnswers } from './question.ts';
import type { Expected } from './reading.ts';

export interface RemoteTurn extends Expected {
  /** What to send. Absent: the task is under way already, begun by a process that is gone. */
  readonly parts: readonly A2APart[] | undefined;
  /** Of the message; what the remote asks is named after it. */
  readonly messageId: string;
  /** The last event that the remote will have heard of. */
  readonly seen: string | undefined;
  /** The message would do as well as the first of a new task, should this one be over. */
  readonly fresh: boolean;
}

/** Undefined: nothing new was said. */
export function nextTurn(
  context: RunContext,
  agent: string,
  continues: boolean,
): RemoteTurn | undefined {
  const { events } = context;
  const own = events.findLast(({ author }) => author === agent);
  const noted = parseNote(context.checkpoint());
  const news = unseen(events, agent);
  const send = (to: Expected, parts: readonly A2APart[], fresh: boolean): RemoteTurn => {
    const messageId = messageIdFor(context, own?.id, parts);
    return { ...to, parts, messageId, seen: news.seen, fresh };
  };

  if (noted?.questions && isInterrupted(noted.state)) {
    const answers = remoteAnswers(noted.questions, (id) => context.answer(id));
    return send(going(noted), [...answers, ...news.parts], false);
  }
  if (context.resumed && noted?.taskId !== undefined && !isSettled(noted.state)) {
    const { seen } = noted;
    const messageId = messageIdFor(context, own?.id, []);
    return { ...going(noted), before: undefined, parts: undefined, messageId, seen, fresh: false };
  }
  if (news.parts.length === 0) return undefined;
  const last = lastNote(context, agent);
  const goesOn = last && (isInterrupted(last.state) || (continues && last.state === 'completed'));
  return send(goesOn ? going(last) : anew(last?.contextId), news.parts, true);
}

/** What the remote asked in this run and nobody has answered yet, under the names that we gave it. */
export function stillOpen(context: RunContext): [string, Question][] {
  const noted = parseNote(context.checkpoint());
  if (!noted?.questions || !isInterrupted(noted.state)) return [];
  const asked = context.events
    .filter(({ runId }) => runId === context.runId)
    .flatMap(({ actions }) => actions.questions ?? []);
  return noted.questions.flatMap(({ id }): [string, Question][] => {
    if (context.answer(id)) return [];
    // The run puts a prefix of its own before the names that agents give.
    const question = asked.findLast((each) => each.id === id || each.id.endsWith(`:${id}`));
    return question ? [[id, question]] : [];
  });
}

/** The same message, as the first of a new task in the same conversation. */
export function toNewTask(turn: RemoteTurn): RemoteTurn {
  return { ...turn, ...anew(turn.contextId) };
}

function anew(contextId: string | undefined): Expected {
  return { taskId: undefined, contextId, before: undefined, said: undefined };
}

function going({ taskId, contextId, state, said = {} }: RemoteNote): Expected {
  return { taskId, contextId, before: state, said };
}

function lastNote({ events }: RunContext, agent: string): RemoteNote | undefined {
  for (const event of events.toReversed()) {
    const note = event.author === agent ? noteOf(event) : undefined;
    if (note) return note;
  }
  return undefined;
}
