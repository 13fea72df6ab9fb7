/**
 * The status of a run, derived from its events: calls without a response, questions without an answer, and checkpoints.
 * It is built from the session's events when a run is opened, and updated with each new event.
 */
import type { JsonValue } from '../../base/index.ts';
import { functionCalls, functionResponses, type FunctionCallPart } from '../content.ts';
import type { Answer, Event, Question } from '../event.ts';
import { RunError } from '../errors.ts';
import { SessionNotFound, type Session, type SessionKey } from '../session.ts';

/**
 * The reason for a call's question. The reason determines how the answer is used. It is stored in the event's
 * metadata.
 */
export type Asks =
  /** The question asks whether the call is allowed. */
  | 'confirmation'
  /** The tool asks the question, and is called again with the answer. */
  | 'tool'
  /** The answer to the question is the response to the call. */
  | 'response';

export interface OpenCall {
  readonly part: FunctionCallPart;
  readonly agent: string;
  readonly branch: string | undefined;
  /** Whether the call waits for all earlier calls of the same model answer, and all later calls wait for it. */
  readonly sequential: boolean;
  /** The last question of this call. */
  question?: Question;
  asks?: Asks;
  /** The answers since the last question. There can be several answers only if an agent that runs as a tool asks. */
  answers?: readonly Answer[];
  /** The answer to the confirmation. Later questions do not change it. */
  confirmation?: Answer;
  /** Whether the last answer arrived with the last resume or later. If so, no earlier process can have used it. */
  unused?: boolean;
  /**
   * Whether this process has called the tool since the call's last question. If not, the call may still have begun in
   * an earlier process.
   */
  begun?: boolean;
}

export class RunIndex {
  readonly runId: string;
  readonly openCalls = new Map<string, OpenCall>();
  readonly questions = new Map<string, Question>();
  readonly answers = new Map<string, Answer>();
  readonly checkpoints = new Map<string, JsonValue>();
  /** The number of the run's events. */
  events = 0;
  /**
   * The number of stored answers of models. After a resume, the count for the limit `steps` starts with this number.
   */
  steps = 0;
  /** The number of times that the run was resumed. */
  resumes = 0;
  failed = false;

  constructor(runId: string, events: readonly Event[] = []) {
    this.runId = runId;
    for (const event of events) this.add(event);
  }

  add(event: Event): void {
    if (event.runId !== this.runId) return;
    const { actions, content } = event;
    this.events++;
    if (content?.role === 'model' && event.metadata?.['model'] !== undefined) this.steps++;
    const { author: agent, branch, metadata } = event;
    const inOrder = metadata?.['sequential'];
    for (const part of functionCalls(content)) {
      const sequential = Array.isArray(inOrder) && inOrder.includes(part.id);
      this.openCalls.set(part.id, { part, agent, branch, sequential });
    }
    for (const { id } of functionResponses(content)) {
      this.openCalls.delete(id);
      for (const question of this.questionsOf(id)) this.questions.delete(question.id);
    }
    // An event with questions of an agent that runs as a tool, or of an MCP server, contains all open questions of the
    // call. So earlier questions of the call that the event does not repeat are no longer open.
    for (const { callId } of actions.questions ?? []) {
      if (callId === undefined) continue;
      for (const { id } of this.questionsOf(callId)) this.questions.delete(id);
    }
    for (const question of actions.questions ?? []) this.#ask(question, event);
    if (event.author === 'user' && this.events > 1) this.#resume();
    for (const answer of actions.answers ?? []) this.#answer(answer);
    if (actions.checkpoint) {
      this.checkpoints.set(actions.checkpoint.path, actions.checkpoint.value);
    }
    if (event.error) {
      this.failed = true;
      this.questions.clear();
    }
  }

  /** Returns this agent's calls without a response, in order. */
  callsOf(agent: string, branch: string | undefined): OpenCall[] {
    return [...this.openCalls.values()].filter(
      (call) => call.agent === agent && call.branch === branch,
    );
  }

  /**
   * Returns the ids of the calls that have to wait for an earlier open call of the same model answer. Such a call has
   * not begun, neither in this process nor in an earlier one.
   */
  blockedCalls(): ReadonlySet<string> {
    /** The agents and branches with an open call. The value shows whether one of these calls is sequential. */
    const earlier = new Map<string, boolean>();
    const blocked = new Set<string>();
    for (const { part, agent, branch, sequential } of this.openCalls.values()) {
      const key = JSON.stringify([agent, branch ?? null]);
      const behind = earlier.get(key);
      if (sequential ? behind !== undefined : behind === true) blocked.add(part.id);
      earlier.set(key, behind === true || sequential);
    }
    return blocked;
  }

  /** Returns the open questions of a call, in order. */
  questionsOf(callId: string): Question[] {
    return [...this.questions.values()].filter((question) => callOf(question) === callId);
  }

  #ask(question: Question, { metadata }: Event): void {
    this.questions.set(question.id, question);
    const call = this.openCalls.get(callOf(question));
    if (!call) return;
    call.question = question;
    call.asks = asksOf(metadata?.['asks']);
    delete call.answers;
    call.begun = false;
  }

  #resume(): void {
    this.resumes++;
    // A call that was answered before this resume and still has no response may have been active when an earlier
    // process ended.
    for (const call of this.openCalls.values()) call.unused = false;
  }

  #answer(answer: Answer): void {
    const question = this.questions.get(answer.questionId);
    this.questions.delete(answer.questionId);
    this.answers.set(answer.questionId, answer);
    const call = this.openCalls.get(question ? callOf(question) : answer.questionId);
    if (!call) return;
    call.answers = [...(call.answers ?? []), answer];
    if (call.asks === 'confirmation') call.confirmation = answer;
    call.unused = true;
  }
}

/** Returns the session of a run that has begun. Throws if the session or the run does not exist. */
export function requireRun(
  session: Session | undefined,
  { events, runId }: RunIndex,
  key: SessionKey,
): Session {
  if (!session) throw new SessionNotFound(key);
  if (events > 0) return session;
  throw new RunError('unknown-run', `the session ${key.id} has no run ${runId}`);
}

/** Tracks whether the questions in the given events are still open. Answers may arrive while other agents run. */
export class Waits {
  readonly #index: RunIndex;
  readonly #asked = new Set<string>();

  constructor(index: RunIndex) {
    this.#index = index;
  }

  note({ actions }: Event): void {
    for (const { id } of actions.questions ?? []) this.#asked.add(id);
  }

  /** Whether any of the questions is still open. The value is valid only after the given events were stored. */
  get any(): boolean {
    return [...this.#asked].some((id) => this.#index.questions.has(id));
  }
}

/**
 * Returns the id of the call that waits for the answer to a question. For a question that no call asks, returns the
 * question's own id.
 */
function callOf({ id, callId = id }: Question): string {
  return callId;
}

function asksOf(value: JsonValue | undefined): Asks {
  return value === 'confirmation' || value === 'response' ? value : 'tool';
}
