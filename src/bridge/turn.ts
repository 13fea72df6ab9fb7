/**
 * Runs a turn of a task as a run of the agent framework.
 *
 * The task's context is the session, and its user is the one that the server has authenticated. A turn is one run. Its
 * id is derived from the task, so an answer finds its run in any process that has the same session store.
 *
 * A presenter decides what the peer hears of the run. A reader decides what an answer means. The questions that wait
 * for a person are those in the session's log; the task's log only shows them.
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
} from '../tasks/index.ts';

type Events = Iterable<ExecutorEvent> | AsyncIterable<ExecutorEvent>;

/** Decides what the peer hears of a run. It belongs to one execution. */
export interface TurnPresenter {
  /** What the task's log gets before the run goes on. */
  start(): Events;
  /** Takes in what the run did in earlier executions, and returns what the task's log lacks of it. */
  recall?(run: OpenRun): Events;
  /** The run gets these answers. */
  answered?(answers: readonly Answer[]): void;
  present(event: Event): Events;
  /** Set while the presenter holds text back: if no event comes for so long, `flush` is called. */
  readonly flushAfterMs?: number | undefined;
  flush?(): Events;
  /** The run waits for answers. `problem` says why the last one was not accepted. */
  ask(questions: readonly Question[], problem?: string): ExecutorEvent;
  complete(): ExecutorEvent;
  /** The event has the error. May throw instead; then the server reports the failure. */
  fail(event: Event): ExecutorEvent;
  /** The session no longer has the question that the message answers. */
  lost(message: string): ExecutorEvent;
}

export interface ReadAnswers {
  /** Clear answers to open questions, at most one for each. */
  readonly answers: readonly Answer[];
  /** Files that came with the answers. */
  readonly files?: readonly (BlobPart | FileContentPart)[];
  /** If there is no answer: what is wrong, for the sender. The question is asked again. */
  readonly problem?: string;
}

/** Decides what the messages of a turn mean as answers. */
export interface TurnReader {
  read(questions: readonly Question[]): ReadAnswers;
  /** Takes answers that arrive while the turn runs. It is closed before the turn ends. */
  readonly inbox?: AnswerInbox & { close(): void };
}

export interface Turn {
  readonly context: ExecutionContext;
  readonly run: OpenRun;
  readonly runner: Runner;
  readonly presenter: TurnPresenter;
  readonly reader: TurnReader;
  /** What the run begins with. Called only if it has not begun. */
  begin(): MaybePromise<Omit<BeginOptions, 'signal' | 'inbox'>>;
}

const LOST = 'The conversation that asked this is gone. Please send the request again.';

export async function* runTurn(turn: Turn): AsyncGenerator<ExecutorEvent> {
  const { context, run, runner, presenter, reader } = turn;
  const { signal, resumed } = context;
  const { inbox } = reader;
  const options = { signal, ...(inbox && { inbox }) };
  const begun = run.events.length > 0;
  const goesOn = begun && (resumed || run.questions.length > 0);
  if (context.turn.length > 1 && !goesOn) {
    yield presenter.lost(LOST);
    return;
  }
  yield* presenter.start();
  let events: AsyncIterable<Event>;
  if (begun) {
    if (presenter.recall) yield* presenter.recall(run);
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
  for (;;) {
    const failure = yield* present(events, presenter);
    // The server knows why it stopped the turn, and says so.
    if (signal.aborted) return;
    if (failure) {
      yield presenter.fail(failure);
      return;
    }
    const { questions } = run;
    const answers = questions.flatMap((question) => inbox?.take(question) ?? []);
    if (answers.length === 0) {
      inbox?.close();
      yield questions.length > 0 ? presenter.ask(questions) : presenter.complete();
      return;
    }
    presenter.answered?.(answers);
    events = runner.proceed(run, { answers, ...options });
  }
}

/** Presents a run's events. Returns the event with which the run failed. */
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
      while (presenter.flushAfterMs !== undefined && presenter.flush) {
        if (await settlesWithin(presenter.flushAfterMs, next)) break;
        yield* presenter.flush();
      }
      const step = await next;
      if (step.done === true) {
        done = true;
      } else {
        if (step.value.error) failure = step.value;
        yield* presenter.present(step.value);
      }
    }
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

/** Opens the run of a task's turn. Its session is read once, here. */
export function openTurn(
  sessions: SessionStore,
  app: string,
  context: ExecutionContext,
  { create = false }: Pick<OpenRunOptions, 'create'> = {},
): Promise<OpenRun> {
  const { user, session, runId } = placeOf(context);
  const { signal } = context;
  return openRun(sessions, { app, user, id: session }, runId, { create, signal });
}

/** The user, the session and the run of a task's turn. */
export function placeOf(context: CancelContext): PendingOptions {
  return { user: userOf(context), session: context.contextId, runId: runIdOf(context) };
}

/** The id of the task. In a later turn it is followed by the number of user messages before that turn. */
function runIdOf({ task, turn }: CancelContext): string {
  const before = messagesOf(task).filter(({ role }) => role === 'user').length - turn.length;
  return before > 0 ? `${task.id}:${before}` : task.id;
}

/** The user of a session whose caller the server does not know. */
const ANONYMOUS = 'anonymous';

/** The user of a session. The same id in two tenants is two users. An empty id counts as no id. */
export function userOf({ user, tenant }: Pick<RequestContext, 'user' | 'tenant'>): string {
  const id = user === undefined || user.id === '' ? ANONYMOUS : escaped(user.id);
  return tenant === '' ? id : `${encodeURIComponent(tenant)}/${id}`;
}

/** So that no id equals the anonymous user's, or another tenant's. */
function escaped(id: string): string {
  return id === ANONYMOUS || id.includes('/') ? `/${id}` : id;
}
