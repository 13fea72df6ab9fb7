/**
 * The coding agent behind the A2A server, with the development-tool extension.
 *
 * A context is a session; a turn of a task is a run, whose id is made from the task's, so that a confirmation finds
 * its run in any process. turn-events.ts says what a peer hears of it, confirmations.ts how it is asked and answers.
 *
 * - With the extension active, a message to a completed task is its next turn; without it, the task is over.
 * - A confirmation is taken while the task waits, and also while it works: other calls of the same turn may be running.
 *   The first answer to a call is the one that counts; whoever comes later is told whose it was.
 * - Words in answer to a confirmation are yes, no, or a reason to decline: the model hears it and goes on from there.
 * - After a crash the turn goes on: calls that were running are not made again, those that wait go on waiting.
 */
import { randomUUIDv7 } from 'node:crypto';
import { isObject, type MaybePromise } from '../../base/index.ts';
import {
  RunError,
  type Answer,
  type Event,
  type Question,
  SessionNotFound,
  type SessionKey,
  type State,
} from '../../agent/index.ts';
import {
  EXTENSION_URI,
  extensionMetadata,
  isCompatible,
  refuseIncompatible,
  type DevelopmentToolEvent,
  type SessionUsage,
  type ToolCallConfirmation,
  messagesOf,
} from '../../protocol/development-tool/index.ts';
import { A2AError, isInterrupted, textOf, type Task } from '../../protocol/index.ts';
import type {
  A2AAgent,
  AgentProfile,
  ExecutionContext,
  ExecutorEvent,
  Logger,
  Reception,
  RequestContext,
} from '../../tasks/index.ts';
import { setsApproval } from '../commands/approval.ts';
import { BESIDE, type Commands, type ReadMessage } from '../commands/service.ts';
import {
  answerFor,
  askDetail,
  checkConfirmation,
  confirmationsIn,
  standingOf,
  type Standing,
} from '../approval/confirmations.ts';
import { Inbox } from './inbox.ts';
import { openingState } from '../session/opening-calls.ts';
import { requireRole, requireTerminal } from '../approval/roles.ts';
import { APP, type Seat } from '../session/seat.ts';
import type { Seats } from '../session/seats.ts';
import { GATHER_MS, TurnEvents } from './turn-events.ts';
import { inWords, spokenAnswer } from '../approval/spoken-answer.ts';
import { usageOf } from '../session/usage.ts';
import { userOf } from '../../bridge/index.ts';

export interface CoderExecutorOptions {
  readonly seats: Seats;
  readonly commands: Commands;
  readonly profile: AgentProfile;
  readonly logger: Logger;
  /** Whether the task is a live session. */
  isLive(taskId: string): boolean;
  /** The approval mode is the terminal's to set, and nobody else's. */
  readonly terminalSetsMode: boolean;
}

/** A longer answer is only in its TEXT_CONTENT events. */
const MAX_FINAL_TEXT = 256 * 1024;
const LOST = 'The conversation that asked this is gone. Please send the request again.';

export function coderExecutor(options: CoderExecutorOptions): A2AAgent {
  const { seats, commands, profile, logger } = options;
  const inboxes = new Map<string, Inbox>();

  function checkMode({ message, user }: RequestContext): void {
    if (!setsApproval(message)) return;
    requireRole(user, 'approve');
    if (options.terminalSetsMode) requireTerminal(user);
  }

  function receive(context: RequestContext, task?: Task): MaybePromise<Reception | undefined> {
    checkMode(context);
    const confirmations = confirmationsFrom(context);
    if (task) return admit(context, task, confirmations);
    return seats.check(context.message.metadata, context).then(() => undefined);
  }

  function admit(
    context: RequestContext,
    task: Task,
    confirmations: readonly ToolCallConfirmation[],
  ): Reception {
    // Words are an answer too, where the task waits for one.
    if (isInterrupted(task.status.state)) requireRole(context.user, 'approve');
    if (confirmations.length > 0) {
      const standing = standingOf(task);
      for (const confirmation of confirmations) checkConfirmation(confirmation, standing);
    }
    let inbox = inboxes.get(task.id);
    if (isInterrupted(task.status.state)) {
      // Others may answer while the turn is being taken up. What is left of an attempt that was not stored is gone.
      inbox = new Inbox();
      inboxes.set(task.id, inbox);
    }
    const kind = confirmations.length > 0 ? 'TOOL_CALL_CONFIRMATION' : 'TEXT_CONTENT';
    const source = sourceOf(context);
    const event: DevelopmentToolEvent = { kind, model: seats.model.name, source };
    return {
      source,
      metadata: extensionMetadata(event),
      brief: isActive(context),
      // A live session goes on, whoever speaks and whatever they know of the extension.
      continues: isActive(context) || options.isLive(task.id),
      ...(confirmations.length > 0 && inbox?.open && { deliver: () => inbox.put(confirmations) }),
    };
  }

  async function* execute(context: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const { id } = context.task;
    const waiting = inboxes.get(id);
    const inbox = waiting?.open ? waiting : new Inbox();
    inbox.begun = true;
    inboxes.set(id, inbox);
    try {
      yield* turn(context, inbox);
    } finally {
      inbox.close();
      if (inboxes.get(id) === inbox) inboxes.delete(id);
    }
  }

  /** Between a message and the turn that it would have continued: nobody comes for the answers any more. */
  function cancel(taskId: string): void {
    if (inboxes.get(taskId)?.begun === false) inboxes.delete(taskId);
  }

  async function* turn(context: ExecutionContext, inbox: Inbox): AsyncGenerator<ExecutorEvent> {
    const { signal } = context;
    let place: Awaited<ReturnType<Seats['of']>>;
    try {
      place = await seats.of(context);
    } catch (error) {
      // Settings that came with a message for a task that was there: nobody could look at them before.
      if (!(error instanceof A2AError)) throw error;
      yield refused(error);
      return;
    }
    using _seat = place.hold();
    const { state } = place;
    const first = await commands.read(context.turn[0] ?? context.message, place.seat);
    const { seat } = first;
    const events = new TurnEvents({
      model: seat.model.name,
      agent: APP,
      describe: (tool, args) => seat.describe(tool, args),
    });
    const at = { user: userOf(context), session: context.contextId, runId: runIdOf(context) };
    inbox.onAnswer = ({ questionId, confirmed }) => {
      if (confirmed === false) events.declined(questionId);
    };
    const beside = yield* commandBeside(place.seat, at, context, events);
    if (beside) {
      const open = await pending(place.seat, at);
      if (signal.aborted) return;
      if (inbox.empty) {
        inbox.close();
        yield asking(open, context, events);
        return;
      }
    }
    let run = await begin(at, context, { first, events, state, inbox, beside });
    if (run === undefined) {
      yield events.state('failed', { message: LOST, error: LOST });
      return;
    }
    if (context.turn.length === 1 || context.resumed) yield events.state('working');
    yield* events.missed();
    for (;;) {
      let failure: Event | undefined;
      for await (const event of orPause(run, events)) {
        if (event === PAUSE) {
          yield* events.flush();
          continue;
        }
        if (event.error) failure = event;
        yield* events.translate(event);
      }
      yield* events.flush();
      // Told to stop, it stopped: the server says what that means.
      if (signal.aborted) return;
      if (failure) {
        yield failed(failure, context, events);
        return;
      }
      const open = await pending(seat, at);
      const answers = open.flatMap((question) => inbox.take(question) ?? []);
      if (answers.length > 0) {
        run = seat.runner.resume({ ...at, answers, signal, inbox });
        continue;
      }
      inbox.close();
      const usage = await spent(seat, at);
      yield open.length > 0 ? asking(open, context, events, usage) : completed(events, usage);
      return;
    }
  }

  /** A command that is typed while the turn waits for an answer: it is run, and the turn goes on waiting. False: there is none. */
  async function* commandBeside(
    waiting: Seat,
    at: Place,
    context: ExecutionContext,
    events: TurnEvents,
  ): AsyncGenerator<ExecutorEvent, boolean> {
    const { message, turn, resumed, signal } = context;
    if (turn.length < 2 || resumed || confirmationsIn(message).length > 0) return false;
    const { seat, aside, parts } = await commands.read(message, waiting);
    const open = await pending(waiting, at);
    if (!aside || open.length === 0) return false;
    const runId = `${at.runId}/${turn.length}`;
    const said = { ...at, runId, message: await parts(signal), aside, state: BESIDE, signal };
    for await (const event of seat.runner.run(said)) {
      if (event.error) logger.error({ problem: event.error.message }, 'a command failed');
      yield* events.translate(event);
    }
    yield* events.flush();
    return true;
  }

  /** The run as far as this execution takes it; undefined when the session does not know it. */
  async function begin(
    at: Place,
    context: ExecutionContext,
    { first, events, state, inbox, beside }: TurnParts,
  ): Promise<AsyncIterable<Event> | undefined> {
    const { message, signal, turn } = context;
    const { seat, aside } = first;
    const before = await eventsOf(seat, at);
    if (before.length === 0) {
      // It has asked something: there was a run.
      if (turn.length > 1) return undefined;
      const said = { ...at, message: await first.parts(signal), aside, signal, inbox };
      const opening = openingState(at.runId, first.shell);
      return seat.runner.run({ ...said, state: { ...state, ...opening } });
    }
    const open = await pending(seat, at);
    const standing = standingOf(context.task);
    events.recall(before, open, standing.calls);
    const confirmations = confirmationsIn(message);
    const inWords = confirmations.length === 0 && !beside;
    const said = (question: Question): Answer | undefined =>
      chosenFor(question, confirmations) ??
      inbox.take(question) ??
      (inWords ? spokenAnswer(question, textOf(message.parts)) : undefined);
    const answers = open.flatMap((question) => {
      const answer = context.resumed ? unheard(question, standing) : said(question);
      if (answer?.confirmed === false) events.declined(question.id);
      return answer ?? [];
    });
    return seat.runner.resume({ ...at, answers, signal, inbox });
  }

  function refused({ message }: A2AError): ExecutorEvent {
    const event = { kind: 'STATE_CHANGE', model: seats.model.name, error: message } as const;
    const metadata = extensionMetadata(event);
    return { kind: 'status-update', state: 'failed', message, metadata };
  }

  function failed(event: Event, context: ExecutionContext, events: TurnEvents): ExecutorEvent {
    const correlationId = randomUUIDv7();
    const { error, author } = event;
    const fields = { taskId: context.task.id, correlationId, code: error?.code, agent: author };
    logger.error({ ...fields, problem: error?.message }, 'a turn failed');
    const message = `${failureText(error?.code)} Correlation id: ${correlationId}`;
    const errorCode = error && Object.hasOwn(FAILURES, error.code) ? error.code : undefined;
    return events.state('failed', { message, error: message, errorCode, correlationId });
  }

  return {
    profile,
    receive,
    execute,
    cancel,
    rules: { resumes: true, isSession: (taskId) => options.isLive(taskId) },
  };
}

/** What belongs to one execution. */
interface TurnParts {
  /** What the turn began with. */
  readonly first: ReadMessage;
  readonly events: TurnEvents;
  /** What the session is to remember. */
  readonly state: State | undefined;
  readonly inbox: Inbox;
  /** The message was a command, which has been run: it says nothing to what waits. */
  readonly beside: boolean;
}

interface Place {
  readonly user: string;
  readonly session: string;
  readonly runId: string;
}

const PAUSE = Symbol('pause');

/** A run's events, and a pause where none comes while something is gathered: it is not to be held back. */
async function* orPause(
  run: AsyncIterable<Event>,
  events: TurnEvents,
): AsyncGenerator<Event | typeof PAUSE> {
  const iterator = run[Symbol.asyncIterator]();
  let done = false;
  try {
    while (!done) {
      const next = iterator.next();
      while (events.gathers && !(await comesWithin(GATHER_MS, next))) yield PAUSE;
      const step = await next;
      if (step.done === true) done = true;
      else yield step.value;
    }
  } finally {
    if (!done) await iterator.return?.();
  }
}

/** Whether it is settled in that time. */
async function comesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whoever speaks the extension has the requests; anybody else gets them in words. */
function asking(
  open: readonly Question[],
  context: ExecutionContext,
  events: TurnEvents,
  usage: SessionUsage = {},
): ExecutorEvent {
  const words = isActive(context) ? {} : { message: inWords(open) };
  return events.state('input-required', { ...words, usage });
}

async function spent({ runner, model }: Seat, { user, session }: Place): Promise<SessionUsage> {
  const found = await runner.sessions.get({ app: runner.app, user, id: session });
  return found ? usageOf(found, model) : {};
}

function completed(events: TurnEvents, usage: SessionUsage): ExecutorEvent {
  const { finalText: text, problem } = events;
  const told = text !== '' && text.length <= MAX_FINAL_TEXT;
  return events.state('completed', {
    usage,
    ...(told && { message: text }),
    ...(problem !== undefined && { error: problem }),
  });
}

/** What the first of the confirmations that are for this question says to it. */
function chosenFor(
  question: Question,
  confirmations: readonly ToolCallConfirmation[],
): Answer | undefined {
  const chosen = confirmations.find(({ tool_call_id }) => tool_call_id === question.id);
  return chosen && answerFor(question, chosen);
}

/** What the run waits for; nothing where the store does not know it. */
async function pending({ runner }: Seat, at: Place): Promise<readonly Question[]> {
  try {
    return await runner.pending(at);
  } catch (error) {
    if (error instanceof SessionNotFound || isUnknownRun(error)) return [];
    throw error;
  }
}

function isUnknownRun(error: unknown): boolean {
  return error instanceof RunError && error.code === 'unknown-run';
}

/** What the run has come to until now; nothing where there is no such run. */
async function eventsOf({ runner }: Seat, { user, session, runId }: Place): Promise<Event[]> {
  const key: SessionKey = { app: runner.app, user, id: session };
  const found = await runner.sessions.get(key);
  return found?.events.filter((event) => event.runId === runId) ?? [];
}

/**
 * An answer in the task's log that the run may not have heard before the process died. It is for the request that stands
 * before it, and for no other that the same call has made since.
 */
function unheard(question: Question, { calls, resolved }: Standing): Answer | undefined {
  const asked = calls.get(question.id)?.correlationId;
  const resolution = resolved.get(question.id);
  if (!resolution || asked !== askDetail(question).correlationId) return undefined;
  const { words, confirmation } = resolution;
  return words === undefined ? answerFor(question, confirmation) : spokenAnswer(question, words);
}

/** The task's id; in a later turn, with the number of messages before it. */
function runIdOf({ task, turn }: ExecutionContext): string {
  const said = messagesOf(task).filter(({ role }) => role === 'user').length;
  const before = said - turn.length;
  return before > 0 ? `${task.id}:${before}` : task.id;
}

/** The confirmations in a message; throws for one that cannot be taken, whatever its task is. */
function confirmationsFrom(context: RequestContext): ToolCallConfirmation[] {
  refuseIncompatible(namedExtensions(context));
  return confirmationsIn(context.message);
}

/** Whether the client speaks the extension: it says so, or uses it. */
function isActive(context: RequestContext): boolean {
  return namedExtensions(context).some(isCompatible);
}

/** The extensions that a request names, in whichever way. */
function namedExtensions({ extensions, message, metadata }: RequestContext): string[] {
  const used = { ...metadata, ...message.metadata };
  return [...extensions, ...(message.extensions ?? []), ...Object.keys(used)];
}

/**
 * Who speaks. A live session knows its clients, and says so in their user; of anybody else there is their own word for
 * their name.
 */
function sourceOf({ user, message }: RequestContext): { client: string; name?: string } {
  const own = message.metadata?.[EXTENSION_URI];
  const claimed: unknown = isObject(own) ? own['client'] : undefined;
  const client = user?.['client'] ?? user?.id;
  const name = user?.['name'] ?? claimed;
  return {
    client: typeof client === 'string' && client !== '' ? client : 'a2a',
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, 80) }),
  };
}

const FAILURES: Readonly<Record<string, string>> = {
  'step-limit': 'The turn has reached its limit of model calls.',
  'time-limit': 'The turn has reached its time limit.',
  'event-limit': 'The turn has reached its limit of events.',
  'token-limit': 'The session has used the tokens that limits.maxTokens allows; begin a new one.',
  'cost-limit': 'The session has cost what limits.maxCostUsd allows; begin a new one.',
  'model-exhausted': 'script exhausted.',
};

/** What the peer may know of a failure. */
function failureText(code = ''): string {
  if (FAILURES[code] !== undefined) return FAILURES[code];
  return code.startsWith('model-') ? 'The model gave no answer.' : 'The agent failed.';
}
