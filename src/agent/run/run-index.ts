/**
 * What a run's events say about where it stands: calls without a response, questions without an answer, how far its
 * agents have come. Read from the log when a run is taken up, and kept up with each event from then on.
 */
import type { JsonValue } from '../../base/index.ts';
import { functionCalls, functionResponses, type FunctionCallPart } from '../content.ts';
import type { Answer, Event, Question } from '../event.ts';
import { RunError } from '../errors.ts';
import { SessionNotFound, type Session, type SessionKey } from '../session.ts';

/** Why a call's question is asked, and so what becomes of the answer. It is in the metadata of the question's event. */
export type Asks =
  /** May the call be made? */
  | 'confirmation'
  /** The tool asks, and is run again. */
  | 'tool'
  /** The answer is the call's response. */
  | 'response';

export interface OpenCall {
  readonly part: FunctionCallPart;
  readonly agent: string;
  readonly branch: string | undefined;
  /** The last one that was asked for this call. */
  question?: Question;
  asks?: Asks;
  /** To that question. */
  answer?: Answer;
  /** What was said when a person was asked whether it may be made; later questions do not change it. */
  confirmation?: Answer;
  /** The answer has come with the resume that is going on, so that nobody has acted on it yet. */
  unused?: boolean;
}

export class RunIndex {
  readonly runId: string;
  readonly openCalls = new Map<string, OpenCall>();
  readonly questions = new Map<string, Question>();
  readonly answers = new Map<string, Answer>();
  readonly checkpoints = new Map<string, JsonValue>();
  /** How many of the run's events there are. */
  events = 0;
  /** How many of them are a model's answers; what other agents say is none. */
  steps = 0;
  /** How often the run was taken up. */
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
    for (const part of functionCalls(content)) {
      this.openCalls.set(part.id, { part, agent: event.author, branch: event.branch });
    }
    for (const { id } of functionResponses(content)) {
      this.openCalls.delete(id);
      this.questions.delete(id);
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

  /** The calls that this agent has made and that have no response, in the order in which it made them. */
  callsOf(agent: string, branch: string | undefined): OpenCall[] {
    return [...this.openCalls.values()].filter(
      (call) => call.agent === agent && call.branch === branch,
    );
  }

  #ask(question: Question, { metadata }: Event): void {
    this.questions.set(question.id, question);
    const call = this.openCalls.get(question.id);
    if (!call) return;
    call.question = question;
    call.asks = asksOf(metadata?.['asks']);
    delete call.answer;
  }

  #resume(): void {
    this.resumes++;
    // What was answered before and still has no response was being acted on when the process died.
    for (const call of this.openCalls.values()) call.unused = false;
  }

  #answer(answer: Answer): void {
    this.questions.delete(answer.questionId);
    this.answers.set(answer.questionId, answer);
    const call = this.openCalls.get(answer.questionId);
    if (!call) return;
    call.answer = answer;
    if (call.asks === 'confirmation') call.confirmation = answer;
    call.unused = true;
  }
}

/** Throws if the session does not exist. */
export function existing(session: Session | undefined, key: SessionKey): Session {
  if (session) return session;
  throw new SessionNotFound(key);
}

/** Throws if the session has no event of the run. */
export function checkKnown({ events, runId }: RunIndex, { id }: SessionKey): void {
  if (events === 0) throw new RunError('unknown-run', `the session ${id} has no run ${runId}`);
}

/** Whether those who have asked still wait: answers may come while others run. */
export class Waits {
  readonly #index: RunIndex;
  readonly #asked = new Set<string>();

  constructor(index: RunIndex) {
    this.#index = index;
  }

  note({ actions }: Event): void {
    for (const { id } of actions.questions ?? []) this.#asked.add(id);
  }

  /** Asked once the events that were noted have been taken. */
  get any(): boolean {
    return [...this.#asked].some((id) => this.#index.questions.has(id));
  }
}

function asksOf(value: JsonValue | undefined): Asks {
  return value === 'confirmation' || value === 'response' ? value : 'tool';
}
