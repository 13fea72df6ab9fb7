/**
 * Determines the next turn of a remote agent in a run. The turn sends a new message, sends an answer, or follows a
 * running task.
 */
import type { RunContext, Question } from '../../agent/index.ts';
import { isInterrupted, isSettled, type Part as A2APart } from '../../protocol/index.ts';
import { noteOf, parseNote, type RemoteNote } from './note.ts';
import { messageIdFor, unseen } from './outgoing.ts';
import { remoteAnswers } from './question.ts';
import type { Expected } from './reading.ts';

export interface RemoteTurn extends Expected {
  /** The parts to send, or undefined if the turn follows a task that an earlier process has started. */
  readonly parts: readonly A2APart[] | undefined;
  /** The id of the message. The ids that this session gives to the remote agent's questions start with this id. */
  readonly messageId: string;
  /** The id of the last session event that the remote agent will have received after this turn. */
  readonly seen: string | undefined;
  /** Whether the message may start a new task if the current task has ended. */
  readonly fresh: boolean;
}

/** Returns the next turn, or undefined if there is nothing new for the remote agent. */
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
    return send(continuing(noted), [...answers, ...news.parts], false);
  }
  if (context.resumed && noted?.taskId !== undefined && !isSettled(noted.state)) {
    const { seen } = noted;
    const messageId = messageIdFor(context, own?.id, []);
    const to = { ...continuing(noted), before: undefined };
    return { ...to, parts: undefined, messageId, seen, fresh: false };
  }
  if (news.parts.length === 0) return undefined;
  const last = lastNote(context, agent);
  const isOpen = last && (isInterrupted(last.state) || (continues && last.state === 'completed'));
  return send(isOpen ? continuing(last) : newTask(last?.contextId), news.parts, true);
}

/** Returns the open questions of the remote agent in this run, each with its id in the agent's note. */
export function openQuestions(context: RunContext): [string, Question][] {
  const noted = parseNote(context.checkpoint());
  if (!noted?.questions || !isInterrupted(noted.state)) return [];
  const asked = context.events
    .filter(({ runId }) => runId === context.runId)
    .flatMap(({ actions }) => actions.questions ?? []);
  return noted.questions.flatMap(({ id }): [string, Question][] => {
    if (context.answer(id)) return [];
    // In the run's events, the ids of an agent's questions have a prefix.
    const question = asked.findLast((each) => each.id === id || each.id.endsWith(`:${id}`));
    return question ? [[id, question]] : [];
  });
}

/** Returns a turn that sends the same message, but as the first message of a new task in the same conversation. */
export function toNewTask(turn: RemoteTurn): RemoteTurn {
  return { ...turn, ...newTask(turn.contextId) };
}

function newTask(contextId: string | undefined): Expected {
  return { taskId: undefined, contextId, before: undefined, said: undefined };
}

function continuing({ taskId, contextId, state, said = {} }: RemoteNote): Expected {
  return { taskId, contextId, before: state, said };
}

function lastNote({ events }: RunContext, agent: string): RemoteNote | undefined {
  const noted = events.findLast((event) => event.author === agent && noteOf(event));
  return noted && noteOf(noted);
}
