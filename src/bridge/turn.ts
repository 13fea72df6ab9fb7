/**
 * Runs a turn of a task as a run of the agent framework.
 *
 * The session is identified by the task's context and the authenticated user. A turn is one run. The run's id is
 * derived from the task, so any process with the same session store can find the run for an answer.
 *
 * A presenter decides what is sent to the client about the run. A reader interprets the answers. The session
 * determines which questions are open. The task's log only shows them.
 *
 *   using run = await openTurn(sessions, app, context);
 *   yield* runTurn({ context, run, runner, presenter, reader, begin });
 */
import {
  openRun,
  type Answer,
  type AnswerInbox,
  type BeginOptions,
  type BlobPart,
  type Event,
  type FileContentPart,
  type OpenRun,
  type OpenRunOptions,
  type PendingOptions,
  type Question,
  type Runner,
  type SessionStore,
} from '../agent/index.ts';
import { waitAtMost, type MaybePromise } from '../base/index.ts';
import { messagesOf } from '../protocol/development-tool/index.ts';
import type {
  CancelContext,
  ExecutionContext,
  ExecutorEvent,
  RequestContext,
  StatusEvent,
} from '../tasks/index.ts';

type Events = Iterable<ExecutorEvent> | AsyncIterable<ExecutorEvent>;

/** Decides what is sent to the client about a run. A presenter belongs to one execution. */
export interface TurnPresenter {
  /** Returns the events to send before the run starts or continues. */
  start(): Events;
  /**
   * Processes the run's events from earlier executions. Returns the task events that are missing from the task's log.
   */
  recall?(run: OpenRun): Events;
  /** Called before the answers are passed to the run. */
  answered?(answers: readonly Answer[]): void;
  present(event: Event): Events;
  /**
   * The time in milliseconds after which `pause` is called if no event arrives, or undefined if no text is held back.
   */
  readonly pauseAfterMs?: number | undefined;
  pause?(): Events;
  /** Returns the events for everything that the presenter holds back. */
  flush?(): Events;
  /**
   * Returns the event for a run that waits for answers. `problem` is the reason why the last answer was not accepted.
   */
  ask(questions: readonly Question[], problem?: string): ExecutorEvent;
  complete(): ExecutorEvent;
  /**
   * Returns the event for a failed run. `event` contains the error. If this method throws, the server reports the
   * failure.
   */
  fail(event: Event): ExecutorEvent;
  /** Returns the event for an answer to a question that is no longer in the session. */
  lost(message: string): ExecutorEvent;
  /**
   * Returns the events to send before the last event of the turn. Not called if the turn waits for answers, or if the
   * server stops the turn.
   */
  close?(): Events;
  /** Returns the event to send when the turn ends with the status `last`. Default: `last` unchanged. */
  ended?(last: StatusEvent): StatusEvent;
}

export interface ReadAnswers {
  /** The unambiguous answers to open questions, at most one for each question. */
  readonly answers: readonly Answer[];
  /** The files in the message. */
  readonly files?: readonly (BlobPart | FileContentPart)[];
  /** The reason why there is no answer. It is sent to the person, and the question is asked again. */
  readonly problem?: string;
}

/** Reads answers from the messages of a turn. */
export interface TurnReader {
  read(questions: readonly Question[]): ReadAnswers;
  /**
   * Receives answers that arrive while the turn runs. When the inbox has no more answers for the run, `runTurn` closes
   * the inbox, and then completes the turn or asks the open questions.
   */
  readonly inbox?: AnswerInbox & { arriving(): Promise<unknown> | undefined; close(): void };
}

export interface Turn {
  readonly context: ExecutionContext;
  readonly run: OpenRun;
  readonly runner: Runner;
  readonly presenter: TurnPresenter;
  readonly reader: TurnReader;
  /** Returns the message and the options for the start of the run. Called only if the run has not begun. */
  begin(): MaybePromise<Omit<BeginOptions, 'signal' | 'inbox'>>;
}

const CANCELED: StatusEvent = { kind: 'status-update', state: 'canceled' };
const LOST = 'The conversation with this question no longer exists. Please send the request again.';

export async function* runTurn(turn: Turn): AsyncGenerator<ExecutorEvent> {
  const { context, run, runner, presenter, reader } = turn;
  const { signal, resumed } = context;
  const { inbox } = reader;
  const options = { signal, ...(inbox && { inbox }) };
  const begun = run.events.length > 0;
  const goesOn = begun && (resumed || run.questions.length > 0);
  if (context.turn.length > 1 && !goesOn) {
    if (presenter.recall) yield* presenter.recall(run);
    if (presenter.close) yield* presenter.close();
    yield presenter.lost(LOST);
    return;
  }
  yield* presenter.start();
  if (presenter.recall && (begun || resumed)) yield* presenter.recall(run);
  const end = run.events.findLast(({ error }) => error !== undefined);
  if (end) {
    // The run ended in an earlier process. That process stopped before it had stored the end of the task.
    if (presenter.close) yield* presenter.close();
    if (end.error?.code !== 'canceled') yield presenter.fail(end);
    else yield presenter.ended ? presenter.ended(CANCELED) : CANCELED;
    return;
  }
  let events: AsyncIterable<Event>;
  if (begun) {
    const { answers, files = [], problem } = reader.read(run.questions);
    if (problem !== undefined && answers.length === 0) {
      yield presenter.ask(run.questions, problem);
      return;
    }
    presenter.answered?.(answers);
    const message = files.length > 0 && { message: files };
    events = runner.proceed(run, { answers, ...message, ...options });
  } else {
    events = runner.begin(run, { ...(await turn.begin()), ...options });
  }
  const presented = new Set(run.events.map(({ id }) => id));
  for (;;) {
    let failure: Event | undefined;
    try {
      failure = yield* present(noting(events, presented), presenter);
    } catch (error) {
      // An aborted run stores responses to its calls, but does not yield them.
      for (const event of run.events) {
        if (!presented.has(event.id)) yield* presenter.present(event);
      }
      throw error;
    }
    // The server has stopped the turn and reports the reason itself.
    if (signal.aborted) return;
    if (failure) {
      if (presenter.close) yield* presenter.close();
      yield presenter.fail(failure);
      return;
    }
    const { questions } = run;
    for (let next = inbox?.arriving(); next; next = inbox?.arriving()) await next;
    if (signal.aborted) return;
    const answers = questions.flatMap((question) => inbox?.take(question) ?? []);
    if (answers.length === 0) {
      inbox?.close();
      if (questions.length === 0 && presenter.close) yield* presenter.close();
      yield questions.length > 0 ? presenter.ask(questions) : presenter.complete();
      return;
    }
    presenter.answered?.(answers);
    events = runner.proceed(run, { answers, ...options });
  }
}

/** Passes the events on. Adds the ids of complete events to the set. */
async function* noting(events: AsyncIterable<Event>, ids: Set<string>): AsyncGenerator<Event> {
  for await (const event of events) {
    if (event.partial !== true) ids.add(event.id);
    yield event;
  }
}

/** Presents the events of a run. Returns the error event if the run failed. */
export async function* present(
  events: AsyncIterable<Event>,
  presenter: TurnPresenter,
): AsyncGenerator<ExecutorEvent, Event | undefined> {
  const iterator = events[Symbol.asyncIterator]();
  let failure: Event | undefined;
  let done = false;
  try {
    while (!done) {
      const next = iterator.next();
      while (presenter.pauseAfterMs !== undefined && presenter.pause) {
        if (await settlesWithin(presenter.pauseAfterMs, next)) break;
        yield* presenter.pause();
      }
      const step = await next;
      if (step.done === true) {
        done = true;
      } else {
        if (step.value.error) failure = step.value;
        yield* presenter.present(step.value);
      }
    }
  } catch (error) {
    // The text that the presenter holds back is already in the session, so it must also be sent.
    if (presenter.flush) yield* presenter.flush();
    throw error;
  } finally {
    if (!done) await iterator.return?.();
  }
  if (presenter.flush) yield* presenter.flush();
  return failure;
}

async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = () => void (settled = true);
  await waitAtMost(ms, work.then(settle, settle));
  return settled;
}

/** Opens the run for a turn of a task. Reads the session. The session is not read again during the turn. */
export function openTurn(
  sessions: SessionStore,
  app: string,
  context: CancelContext & Pick<ExecutionContext, 'signal'>,
  { create = false }: Pick<OpenRunOptions, 'create'> = {},
): Promise<OpenRun> {
  const { user, session, runId } = placeOf(context);
  const { signal } = context;
  return openRun(sessions, { app, user, id: session }, runId, { create, signal });
}

/** Returns the user, the session and the run of a task's turn. */
export function placeOf(context: CancelContext): PendingOptions {
  return { user: userOf(context), session: context.contextId, runId: runIdOf(context) };
}

/**
 * Returns the id of the run. For the first turn, it is the id of the task. For a later turn, it is the id of the task,
 * a colon, and the number of user messages before this turn.
 */
function runIdOf({ task, turn }: CancelContext): string {
  const before = messagesOf(task).filter(({ role }) => role === 'user').length - turn.length;
  return before > 0 ? `${task.id}:${before}` : task.id;
}

/** The user of a session without an authenticated caller. */
const ANONYMOUS = 'anonymous';

/** Returns the user of a session. The same id in two tenants identifies two users. An empty id counts as no id. */
export function userOf({ user, tenant }: Pick<RequestContext, 'user' | 'tenant'>): string {
  const id = user === undefined || user.id === '' ? ANONYMOUS : escaped(user.id);
  return tenant === '' ? id : `${encodeURIComponent(tenant)}/${id}`;
}

/** Escapes an id so that it is different from the anonymous user and from all users of other tenants. */
function escaped(id: string): string {
  return id === ANONYMOUS || id.includes('/') ? `/${id}` : id;
}
