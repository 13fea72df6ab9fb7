/** What a remote agent has to do next in a run: hear what is new, get an answer, or be followed where it works. */
import type { RunContext } from '../agent/agent.ts';
import type { Question } from '../agent/event.ts';
import { isInterrupted, isSettled, type Part as A2APart } from '../protocol/index.ts';
import { noteOf, parseNote, type RemoteNote } from './remote-note.ts';
import { messageIdFor, unseen } from './remote-outgoing.ts';
import { remoteAnswers } from './remote-question.ts';
import type { Expected } from './remote-reading.ts';

export interface RemoteTurn extends Expected {
  /** What to send. Absent: the task is under way already, begun by a process that is gone. */
  readonly parts: readonly A2APart[] | undefined;
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
  const messageId = messageIdFor(context, own?.id);
  const noted = parseNote(context.checkpoint());
  const { parts, seen } = unseen(events, agent);

  if (noted?.questions && isInterrupted(noted.state)) {
    const answers = remoteAnswers(noted.questions, (id) => context.answer(id));
    return { ...going(noted), parts: [...answers, ...parts], messageId, seen, fresh: false };
  }
  if (context.resumed && noted?.taskId !== undefined && !isSettled(noted.state)) {
    const turn = { ...going(noted), before: undefined };
    return { ...turn, parts: undefined, messageId, seen: noted.seen, fresh: false };
  }
  if (parts.length === 0) return undefined;
  const last = lastNote(context, agent);
  const open =
    last && (isInterrupted(last.state) || (continues && last.state === 'completed'))
      ? going(last)
      : anew(last?.contextId);
  return { ...open, parts, messageId, seen, fresh: true };
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
