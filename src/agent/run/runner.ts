/**
 * Runs agents in sessions.
 *
 *   const runner = createRunner({ agent });
 *   for await (const event of runner.run({ user: 'ann', session: 's1', message: 'Hello' })) …
 *
 * Complete events are stored before they are yielded. Partial events are not stored. A run that fails ends with an
 * event that has an `error`. A run that needs a person stops with questions. `resume` continues it, in this process or
 * another. In some cases, the iteration throws instead of yielding an event with an `error`. It throws the reason of an
 * abort, errors of the store, and errors of the hook `onUserMessage`. For an invalid request, it throws a RunError or
 * SessionNotFound.
 *
 * A run starts when its events are iterated. An aborted run stores the streamed text of an unfinished answer. It also
 * stores responses to its open calls, except to calls that wait for an answer. If the caller leaves the iteration
 * early, the run also stops, but does not store these events.
 */
import { raceAbort, MAX_TIMER_MS } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { Agent } from '../agent.ts';
import { abortable } from './abortable.ts';
import type { Artifacts, ArtifactStore } from '../artifact.ts';
import { memoryArtifacts } from '../artifacts/memory.ts';
import { cancelRun, endRun, type RunEnd } from './cancel-run.ts';
import { userContent, type Content, type ContentPart } from '../content.ts';
import { RunError, RunFailure, RunOver, StoreFailure } from '../errors.ts';
import { createEvent, type Answer, type Event, type Question, type AnswerInbox } from '../event.ts';
import type { Model } from '../model.ts';
import { resolveModel } from '../models/resolve.ts';
import type { Plugin, RunInfo, RunOutcome } from '../plugin.ts';
import { loadedRun, openRun, type LoadedRun, type OpenRun } from './open-run.ts';
import { resultOf, type RunResult } from './run-result.ts';
import { runAgent } from './run-context.ts';
import { requireRun, RunIndex, Waits } from './run-index.ts';
import {
  createRun,
  DEFAULT_LIMITS,
  type RunLimits,
  type RunServices,
  type RunStart,
} from './run.ts';
import type { SessionKey, SessionStore, State } from '../session.ts';
import { memorySessions } from '../sessions/memory.ts';
import { withDelta } from '../sessions/state.ts';
import type { MutableState } from '../tool.ts';
import { AgentTree } from './tree.ts';

/** The options of `createRunner`. */
export interface RunnerOptions {
  readonly agent: Agent;
  /** The app of the sessions. Default: the agent's name. */
  readonly app?: string;
  /** The session store. Default: a store in memory. */
  readonly sessions?: SessionStore;
  /** The artifact store. Default: a store in memory. */
  readonly artifacts?: ArtifactStore;
  readonly plugins?: readonly Plugin[];
  readonly limits?: Partial<RunLimits>;
  /**
   * The model for agents without a model of their own. If it is missing, `createRunner` throws a RunError for an LLM
   * agent without a model.
   */
  readonly defaultModel?: string | Model;
}

/** The options of `runner.run`: the message of the run, and its session. */
export interface RunOptions {
  readonly user: string;
  /** The session's id. The session is created if it does not exist. */
  readonly session: string;
  readonly message: string | readonly ContentPart[] | Content;
  readonly signal?: AbortSignal;
  /** The id of the run. Default: a new id. */
  readonly runId?: string;
  /** The state to set before the agent starts. */
  readonly state?: State;
  /** Whether the run is excluded from the conversation, so that models do not see it in later runs. */
  readonly aside?: boolean;
  /**
   * The inbox that supplies answers while the run is active. A run without an inbox receives answers only when it is
   * resumed.
   */
  readonly inbox?: AnswerInbox;
}

/** Identifies a run. */
export interface PendingOptions {
  readonly user: string;
  readonly session: string;
  readonly runId: string;
}

/** The run to cancel. */
export interface CancelOptions extends PendingOptions {
  readonly signal?: AbortSignal;
}

/** The run to resume, and the answers to its questions. */
export interface ResumeRunOptions extends PendingOptions {
  /** Answers to open questions. An empty array continues a run that was interrupted by a crash. */
  readonly answers: readonly Answer[];
  /** A message that is sent in addition to the answers. */
  readonly message?: string | readonly ContentPart[] | Content;
  readonly signal?: AbortSignal;
  readonly inbox?: AnswerInbox;
}

/** The options of `runner.begin`. */
export type BeginOptions = Omit<RunOptions, 'user' | 'session' | 'runId'>;
/** The options of `runner.proceed`. */
export type ProceedOptions = Omit<ResumeRunOptions, keyof PendingOptions>;

/**
 * Runs an agent in sessions.
 *
 *   for await (const event of runner.run({ user: 'ann', session: 's1', message: 'Hello' })) console.log(event);
 */
export interface Runner {
  readonly agent: Agent;
  readonly app: string;
  readonly sessions: SessionStore;
  run(options: RunOptions): AsyncIterable<Event>;
  /** Does the same as `run`, but for a run that the caller has opened and must dispose of. */
  begin(opened: OpenRun, options: BeginOptions): AsyncIterable<Event>;
  resume(options: ResumeRunOptions): AsyncIterable<Event>;
  /** Does the same as `resume`, but for a run that the caller has opened and must dispose of. */
  proceed(opened: OpenRun, options: ProceedOptions): AsyncIterable<Event>;
  /** Returns the open questions of the run, in the order in which they were asked. */
  pending(options: PendingOptions): Promise<readonly Question[]>;
  /**
   * Cancels a run that waits or was aborted. The run then accepts no more answers, and the work that it has delegated
   * to other agents is canceled. Later requests inform the model that the user's request was canceled. If the run is
   * active, `cancel` waits until it ends, so abort it first.
   */
  cancel(options: CancelOptions): Promise<void>;
  /**
   * Ends a run that the caller has opened and that is not active. The run ends as with `cancel`, or with an error.
   * Does nothing if the session does not exist, if the run has already failed, or if the run has not begun and
   * `how.begin` is missing.
   */
  end(opened: OpenRun, how: RunEnd): Promise<void>;
  /** Runs until the agent is done or waits, and returns the result. Throws the same errors as `run`. */
  runToEnd(options: RunOptions): Promise<RunResult>;
}

/** The data that an agent inherits from the caller's run when it runs as a tool. */
export interface Outer {
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly depth: number;
}

/**
 * Makes a runner for an agent.
 *
 *   const { text } = await createRunner({ agent }).runToEnd({ user: 'ann', session: 's1', message: 'Hello' });
 */
export function createRunner(options: RunnerOptions): Runner {
  return makeRunner(options, undefined);
}

export function makeRunner(options: RunnerOptions, outer: Outer | undefined): Runner {
  const { agent } = options;
  const app = options.app ?? agent.name;
  const store = options.sessions ?? memorySessions();
  const artifacts = options.artifacts ?? memoryArtifacts();
  const tree = new AgentTree(agent);
  if (options.defaultModel === undefined) tree.checkModels();
  const services: RunServices = {
    tree,
    store,
    plugins: options.plugins ?? [],
    limits: limitsOf(options.limits),
    defaultModel:
      options.defaultModel === undefined ? undefined : resolveModel(options.defaultModel),
    depth: outer?.depth ?? 0,
    outerState: outer?.state,
  };

  async function* run(asked: RunOptions): AsyncGenerator<Event> {
    const { user, session, runId = randomUUIDv7(), signal } = asked;
    signal?.throwIfAborted();
    const key = { app, user, id: session };
    using opened = await openRun(store, key, runId, { create: true, signal });
    yield* begin(opened, asked);
  }

  async function* begin(opened: OpenRun, asked: BeginOptions): AsyncGenerator<Event> {
    const { key, runId, index } = loadedRun(opened);
    const session = opened.session ?? (await store.open(key));
    if (index.events > 0) {
      throw new RunError('run-exists', `the session already has a run ${runId}: resume it`);
    }
    const input = await heard(asked.message, { runId, session: key }, asked.signal);
    const actions = asked.state ? { stateDelta: asked.state } : {};
    const aside = asked.aside === true && { aside: true };
    const first = tree.next(session.events);
    const event = createEvent(
      { runId, author: 'user' },
      { content: input, actions, ...aside, metadata: { first: first.name } },
    );
    // A run that is aborted before it starts leaves nothing in the session.
    asked.signal?.throwIfAborted();
    await store.append(key, [event]);
    index.add(event);
    const events = [...session.events, event];
    const state = withDelta(session.state, asked.state);
    const start = { session: { ...session, events, state }, input, first, resumed: false };
    yield* go(loadedRun(opened), start, asked);
  }

  async function* resume(asked: ResumeRunOptions): AsyncGenerator<Event> {
    const { user, session, runId, answers, signal } = asked;
    signal?.throwIfAborted();
    const answering = answers.map(({ questionId }) => questionId);
    const key = { app, user, id: session };
    using opened = await openRun(store, key, runId, { answering, signal });
    yield* proceed(opened, asked);
  }

  async function* proceed(opened: OpenRun, asked: ProceedOptions): AsyncGenerator<Event> {
    const { key, runId, index } = loadedRun(opened);
    const { answers } = asked;
    const session = requireRun(opened.session, index, key);
    checkAnswers(index, runId, answers);
    const content =
      asked.message === undefined
        ? undefined
        : await heard(asked.message, { runId, session: key }, asked.signal);
    const event = createEvent(
      { runId, author: 'user' },
      { ...(content && { content }), actions: answers.length > 0 ? { answers } : {} },
    );
    // If two processes resume the run at the same point, only one of them can store this id.
    const claim = { ...event, id: `${runId}.${index.resumes + 1}` };
    // The signal is checked before the answer is stored. If an answer were stored but not used, the outcome of its
    // call would be unknown.
    asked.signal?.throwIfAborted();
    if ((await store.append(key, [claim])) === 0) {
      const message = `the run ${runId} was resumed by another process at the same time`;
      throw new RunError('not-open', message);
    }
    index.add(claim);
    const events = [...session.events, claim];
    const began = events.find((each) => each.runId === runId);
    const input = began?.content ?? userContent('');
    const name = began?.metadata?.['first'];
    const first = (typeof name === 'string' && tree.find(name)) || tree.root;
    const start = { session: { ...session, events }, input, first, resumed: true };
    yield* go(loadedRun(opened), start, asked);
  }

  async function* go(
    opened: LoadedRun,
    { first, ...start }: Pick<RunStart, 'session' | 'input' | 'resumed'> & { first: Agent },
    { signal: outerSignal, inbox }: Pick<RunOptions, 'signal' | 'inbox'>,
  ): AsyncGenerator<Event> {
    const { key, index } = opened;
    const { timeMs } = services.limits;
    const stop = new AbortController();
    const outOfTime = new RunFailure('time-limit', `the run has reached its limit of ${timeMs} ms`);
    const timer = setTimeout(() => stop.abort(outOfTime), Math.min(timeMs, MAX_TIMER_MS));
    const signal = outerSignal ? AbortSignal.any([outerSignal, stop.signal]) : stop.signal;
    const bound = outer?.artifacts ?? bind(artifacts, key);
    const run = createRun(services, { ...start, key, index, artifacts: bound, signal, inbox });
    opened.current = run;
    const place = { path: first.name, branch: undefined, depth: services.depth + 1, signal };
    let outcome: RunOutcome = 'aborted';
    try {
      const waits = new Waits(index);
      for await (const event of abortable(runAgent(run, first, place), signal)) {
        waits.note(event);
        // The outcome is set before the event is yielded, because many callers end the iteration at the error event.
        if (event.error) outcome = 'failed';
        yield event;
      }
      outcome = waits.any ? 'waiting' : 'done';
    } catch (error) {
      if (error === outOfTime) {
        outcome = 'failed';
        const { code, message } = outOfTime;
        const by = { runId: run.runId, author: first.name };
        yield* await run.fail(createEvent(by, { error: { code, message } }));
      } else if (error instanceof RunOver) {
        outcome = 'failed';
      } else {
        // The caller gets the reason of the abort, even if the store fails here.
        if (outerSignal?.aborted) await run.interrupt().catch(() => undefined);
        throw error instanceof StoreFailure ? error.cause : error;
      }
    } finally {
      clearTimeout(timer);
      // Aborts work that is still active for this run.
      stop.abort(new RunOver());
      await tellPlugins(outcome, { runId: run.runId, session: key });
    }
  }

  async function heard(
    said: RunOptions['message'],
    info: RunInfo,
    signal: AbortSignal | undefined,
  ): Promise<Content> {
    const message = userContent(said);
    for (const plugin of services.plugins) {
      const asked = plugin.onUserMessage?.(message, info);
      const other = await (signal ? raceAbort(asked, signal) : asked);
      if (other) return other;
    }
    return message;
  }

  async function tellPlugins(outcome: RunOutcome, info: RunInfo): Promise<void> {
    const tell = async (plugin: Plugin) => plugin.afterRun?.(outcome, info);
    for (const plugin of services.plugins) {
      const told = tell(plugin);
      if (outcome === 'aborted') told.catch(() => undefined);
      else await told;
    }
  }

  return {
    agent,
    app,
    sessions: store,
    run,
    begin,
    resume,
    proceed,
    cancel: ({ user, session: id, runId, signal }) =>
      cancelRun(tree, store, { app, user, id }, runId, signal),
    end: (opened, how) => endRun(tree.agents, opened, how),
    async pending({ user, session, runId }) {
      const key = { app, user, id: session };
      const found = await store.get(key);
      const index = new RunIndex(runId, found?.events);
      requireRun(found, index, key);
      return [...index.questions.values()];
    },
    runToEnd: (asked) => resultOf(run(asked)),
  };
}

function limitsOf(given: Partial<RunLimits> = {}): RunLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new RangeError(`limits.${name} must be a positive integer`);
  }
  return limits;
}

function checkAnswers(index: RunIndex, runId: string, answers: readonly Answer[]): void {
  if (index.failed) {
    throw new RunError('not-open', `the run ${runId} has failed or was canceled: start a new one`);
  }
  const seen = new Set<string>();
  for (const { questionId: id } of answers) {
    if (index.questions.has(id) && !seen.has(id)) {
      seen.add(id);
      continue;
    }
    const answered = seen.has(id) || index.answers.has(id);
    const why = answered ? 'is already answered' : 'was not asked in this run';
    throw new RunError('not-open', `the question ${id} ${why}`);
  }
}

function bind(store: ArtifactStore, key: SessionKey): Artifacts {
  return {
    save: (name, content) => store.save(key, name, content),
    load: (name, version) => store.load(key, name, version),
    list: () => store.list(key),
  };
}
