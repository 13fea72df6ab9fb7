/**
 * Events of agents that run as tools (agents/agent-tool.ts). The caller's run shows each of these events inside a
 * partial event (`actions.delegated`).
 */
import { hash } from 'node:crypto';
import { defined } from '../base/index.ts';
import { functionCalls, functionResponses, type Content } from './content.ts';
import type { Answer, Event, Question } from './event.ts';
import type { SessionKey, SessionStore } from './session.ts';

const PREFIX = 'agent-tool-';

/**
 * Returns the key of the session in which an agent that runs as a tool handles a call. The id of the agent's run is the
 * call's id.
 */
export function delegatedSession(session: SessionKey, callId: string): SessionKey {
  // The id contains a hash, so that nested agents do not make it longer.
  const id = hash('sha256', JSON.stringify([session.id, callId])).slice(0, 32);
  return { ...session, id: `${PREFIX}${id}` };
}

/**
 * Returns whether the session belongs to an agent that runs as a tool. Such a session is not a conversation of its own.
 */
export function isDelegatedSession({ id }: Pick<SessionKey, 'id'>): boolean {
  return id.startsWith(PREFIX);
}

/** Deletes a session and the sessions of the agents that handled its calls. Returns whether the session existed. */
export async function deleteWithDelegated(
  sessions: SessionStore,
  key: SessionKey,
): Promise<boolean> {
  const events = (await sessions.get(key))?.events ?? [];
  for (const { id } of events.flatMap(({ content }) => functionCalls(content))) {
    await deleteWithDelegated(sessions, delegatedSession(key, id));
  }
  return sessions.delete(key);
}

/**
 * An agent that runs as a tool has its own ids for its calls and questions. Returns the id that such a call or question
 * has in the caller's run. `callId` is the id of the call that the agent handles.
 *
 *   delegatedId('call_1', 'call_7'); // call_1/call_7
 */
export function delegatedId(callId: string, id: string): string {
  return `${callId}/${id}`;
}

/** Returns a question of an agent that runs as a tool, in the form in which the caller's run asks it. */
export function delegatedQuestion(question: Question, callId: string): Question {
  return { ...question, id: delegatedId(callId, question.id), callId };
}

/** Returns the answer with another question id. */
export function withQuestion(answer: Answer, questionId: string): Answer {
  return { ...answer, questionId };
}

/** An event of an agent that runs as a tool, and the call that the agent handles. */
export interface DelegatedEvent {
  readonly callId: string;
  readonly event: Event;
}

/**
 * Returns the delegated event inside an event of the caller's run, or undefined if there is none. Its calls,
 * questions and answers have the ids of the caller's run. If agents are nested, returns the innermost event.
 *
 *   const { callId, event } = delegatedIn(shown) ?? {};
 */
export function delegatedIn({ actions }: Event): DelegatedEvent | undefined {
  if (!actions.delegated) return undefined;
  let { callId, event } = actions.delegated;
  for (let inner = event.actions.delegated; inner; inner = event.actions.delegated) {
    callId = delegatedId(callId, inner.callId);
    ({ event } = inner);
  }
  return { callId, event: withCallersIds(event, callId) };
}

function withCallersIds(event: Event, callId: string): Event {
  const idOf = (id: string): string => delegatedId(callId, id);
  const { content, actions } = event;
  const { questions, answers, progress, waits } = actions;
  const changed = defined({
    questions: questions?.map((question) => delegatedQuestion(question, callId)),
    answers: answers?.map((answer) => withQuestion(answer, idOf(answer.questionId))),
    progress: progress && { ...progress, callId: idOf(progress.callId) },
    waits: waits?.map(idOf),
  });
  const shown = { ...event, actions: { ...actions, ...changed } };
  return content ? { ...shown, content: withIds(content, idOf) } : shown;
}

function withIds(content: Content, idOf: (id: string) => string): Content {
  const parts = content.parts.map((part) =>
    part.kind === 'function-call' || part.kind === 'function-response'
      ? { ...part, id: idOf(part.id) }
      : part,
  );
  return { ...content, parts };
}

/** Maximum number of calls in a summary of an agent's work. The last calls are kept. */
const MAX_CALLS = 50;
/** Maximum length of a call in a summary of an agent's work, in characters. */
const MAX_CALL = 200;

/**
 * Collects a summary of the work of an agent that runs as a tool. The summary has a line for each of the agent's calls
 * that has a response. Only the last MAX_CALLS lines are kept. If the agent is stopped, the caller's model gets this
 * summary instead of the agent's answer.
 */
export class WorkDone {
  readonly #open = new Map<string, string>();
  readonly #lines: string[] = [];

  constructor(events: readonly Event[] = []) {
    for (const event of events) this.note(event);
  }

  /** Adds an event of the agent to the summary. */
  note({ content }: Event): void {
    for (const { id, name, args } of functionCalls(content)) {
      const call = `${name} ${JSON.stringify(args)}`;
      this.#open.set(id, call.length > MAX_CALL ? `${call.slice(0, MAX_CALL - 1)}…` : call);
    }
    for (const { id, name, isError } of functionResponses(content)) {
      const call = this.#open.get(id) ?? name;
      this.#open.delete(id);
      this.#lines.push(`${call}: ${isError === true ? 'failed' : 'done'}`);
      if (this.#lines.length > MAX_CALLS) this.#lines.shift();
    }
  }

  get text(): string {
    return this.#lines.join('\n');
  }
}

/**
 * Returns a summary of the work of the agent that handles this call. `shown` are the events that `storedEvents`
 * (run/open-run.ts) returns.
 */
export function workFor(callId: string, shown: readonly Event[]): string {
  const events = shown.flatMap(({ actions: { delegated } }) =>
    delegated?.callId === callId ? [delegated.event] : [],
  );
  return new WorkDone(events).text;
}
