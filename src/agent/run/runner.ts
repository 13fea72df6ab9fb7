/**
 * Runs agents in sessions.
 *
 *   const runner = createRunner({ agent });
 *   for await (const event of runner.run({ user: 'ann', session: 's1', message: 'Hello' })) …
 *
 * Events come out after they were stored; partial ones are only shown. A run that fails ends with an event that has
 * an `error`; a run that waits for a person ends with its questions asked, and `resume` goes on with it, in this
 * process or another. The iteration throws only what no event can say: the abort's reason, the store's failure, a
 * RunError for a request that makes no sense.
 *
 * Nothing happens before the iteration begins. Who leaves it early stops the run.
 */
import { raceAbort } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { Agent } from '../agent.ts';
import { abortable } from './abortable.ts';
import type { Artifacts, ArtifactStore } from '../artifact.ts';
import { memoryArtifacts } from '../artifacts/memory.ts';
import { cancelRun } from './cancel-run.ts';
import { userContent, type Content, type ContentPart } from '../content.ts';
import { RunError, RunFailure, RunOver, StoreFailure } from '../errors.ts';
import type { AnswerInbox } from '../inbox.ts';
import { createEvent, type Answer, type Event, type Question } from '../event.ts';
import type { Model } from '../model.ts';
import { resolveModel } from '../models/resolve.ts';
import type { Plugin, RunInfo, RunOutcome } from '../plugin.ts';
import { loadedRun, openRun, type LoadedRun, type OpenRun } from './open-run.ts';
import { resultOf, type RunResult } from './run-result.ts';
import { runAgent } from './run-context.ts';
import { checkKnown, existing, RunIndex, Waits } from './run-index.ts';
import { DEFAULT_LIMITS, Run, type RunLimits, type RunServices } from './run.ts';
import type { Session, SessionKey, SessionStore, State } from '../session.ts';
import { memorySessions } from '../sessions/memory.ts';
import type { MutableState } from '../tool.ts';
import { AgentTree } from './tree.ts';

export interface RunnerOptions {
  readonly agent: Agent;
  /** Whose sessions these are. The agent's name unless told. */
  readonly app?: string;
  /** In memory unless told. */
  readonly sessions?: SessionStore;
  /** In memory unless told. */
  readonly artifacts?: ArtifactStore;
  readonly plugins?: readonly Plugin[];
  readonly limits?: Partial<RunLimits>;
  /** For agents that name none. */
  readonly defaultModel?: string | Model;
}

export interface RunOptions {
  readonly user: string;
  /** The session's id; it is made where there is none. */
  readonly session: string;
  readonly message: string | readonly ContentPart[] | Content;
  readonly signal?: AbortSignal;
  /** A new one unless told. */
  readonly runId?: string;
  /** Set before the agent begins. */
  readonly state?: State;
  /** Beside the conversation: later prompts see nothing of this run. */
  readonly aside?: boolean;
  /** Where answers come in while the run is under way. Without one they wait until it stops. */
  readonly inbox?: AnswerInbox;
}

export interface PendingOptions {
  readonly user: string;
  readonly session: string;
  readonly runId: string;
}

export interface CancelOptions extends PendingOptions {
  readonly signal?: AbortSignal;
}

export interface ResumeRunOptions extends PendingOptions {
  /** To questions that are open. None: the run goes on where a process that died has left it. */
  readonly answers: readonly Answer[];
  /** Said beside the answers. */
  readonly message?: string | readonly ContentPart[] | Content;
  readonly signal?: AbortSignal;
  readonly inbox?: AnswerInbox;
}

export type BeginOptions = Omit<RunOptions, 'user' | 'session' | 'runId'>;
export type ProceedOptions = Omit<ResumeRunOptions, keyof PendingOptions>;

export interface Runner {
  readonly agent: Agent;
  readonly app: string;
  readonly sessions: SessionStore;
  run(options: RunOptions): AsyncIterable<Event>;
  /** Like `run`, for a run that the caller has opened and will dispose of. */
  begin(opened: OpenRun, options: BeginOptions): AsyncIterable<Event>;
  resume(options: ResumeRunOptions): AsyncIterable<Event>;
  /** Like `resume`, for a run that the caller has opened and will dispose of. */
  proceed(opened: OpenRun, options: ProceedOptions): AsyncIterable<Event>;
  /** What the run waits for, in the order in which it was asked. */
  pending(options: PendingOptions): Promise<readonly Question[]>;
  /**
   * Ends a run that waits or was aborted for good: it takes no answer any more, agents that left work to others have
   * them told, and later prompts say that this request was canceled. One that goes on is waited for: abort it first.
   */
  cancel(options: CancelOptions): Promise<void>;
  /** Runs until the agent is done or waits, and says what came of it. Throws what the iteration throws. */
  runToEnd(options: RunOptions): Promise<RunResult>;
}

/** What an agent that runs as a tool has from the run around it. */
export interface Outer {
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly depth: number;
}

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
      throw new RunError('run-exists', `the session has a run ${runId} already: resume it`);
    }
    const input = await heard(asked.message, { runId, session: key }, asked.signal);
    const actions = asked.state ? { stateDelta: asked.state } : {};
    const aside = asked.aside === true && { aside: true };
    const first = tree.next(session.events);
    const event = createEvent(
      { runId, author: 'user' },
      { content: input, actions, ...aside, metadata: { first: first.name } },
    );
    await store.append(key, [event]);
    index.add(event);
    const events = [...session.events, event];
    const state = withoutNulls({ ...session.state, ...asked.state });
    yield* go(
      loadedRun(opened),
      { session: { ...session, events, state }, input, first },
      false,
      asked,
    );
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
    const session = existing(opened.session, key);
    checkKnown(index, key);
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
    if ((await store.append(key, [claim])) === 0) {
      throw new RunError('not-open', `the run ${runId} was taken up elsewhere at the same time`);
    }
    index.add(claim);
    const events = [...session.events, claim];
    const began = events.find((each) => each.runId === runId);
    const input = began?.content ?? userContent('');
    const name = began?.metadata?.['first'];
    const first = (typeof name === 'string' && tree.find(name)) || tree.root;
    yield* go(loadedRun(opened), { session: { ...session, events }, input, first }, true, asked);
  }

  async function* go(
    opened: LoadedRun,
    start: Begin,
    resumed: boolean,
    { signal: outerSignal, inbox }: Pick<RunOptions, 'signal' | 'inbox'>,
  ): AsyncGenerator<Event> {
    const { key, index } = opened;
    const { first } = start;
    const { timeMs } = services.limits;
    const stop = new AbortController();
    const outOfTime = new RunFailure('time-limit', `the run has reached its limit of ${timeMs} ms`);
    const timer = setTimeout(() => stop.abort(outOfTime), Math.min(timeMs, MAX_TIMER_MS));
    const signal = outerSignal ? AbortSignal.any([outerSignal, stop.signal]) : stop.signal;
    const bound = outer?.artifacts ?? bind(artifacts, key);
    const run = new Run(services, {
      ...start,
      key,
      index,
      resumed,
      artifacts: bound,
      signal,
      inbox,
    });
    opened.current = run;
    const place = { path: first.name, branch: undefined, depth: services.depth + 1, signal };
    let outcome: RunOutcome = 'aborted';
    try {
      const waits = new Waits(index);
      for await (const event of abortable(runAgent(run, first, place), signal)) {
        waits.note(event);
        // Many leave at the error.
        if (event.error) outcome = 'failed';
        yield event;
      }
      outcome = waits.any ? 'waiting' : 'done';
    } catch (error) {
      if (error === outOfTime) {
        outcome = 'failed';
        const { code, message } = outOfTime;
        const event = createEvent(
          { runId: run.runId, author: first.name },
          { error: { code, message } },
        );
        await store.append(key, [event]);
        yield event;
      } else if (error instanceof RunOver) {
        outcome = 'failed';
      } else {
        throw error instanceof StoreFailure ? error.cause : error;
      }
    } finally {
      clearTimeout(timer);
      // Whatever still goes on on behalf of this run is told that nobody waits for it.
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
    async pending({ user, session, runId }) {
      const key = { app, user, id: session };
      const index = new RunIndex(runId, existing(await store.get(key), key).events);
      checkKnown(index, key);
      return [...index.questions.values()];
    },
    runToEnd: (asked) => resultOf(run(asked)),
  };
}

/** A longer timer would go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Begin {
  readonly session: Session;
  readonly input: Content;
  /** Who has the conversation when the run begins. */
  readonly first: Agent;
}

function limitsOf(given: Partial<RunLimits> = {}): RunLimits {
  const limits = { ...DEFAULT_LIMITS, ...given };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new RangeError(`limits.${name} is a whole number above 0`);
  }
  return limits;
}

function checkAnswers(index: RunIndex, runId: string, answers: readonly Answer[]): void {
  if (index.failed) throw new RunError('not-open', `the run ${runId} has failed: begin a new one`);
  const seen = new Set<string>();
  for (const { questionId: id } of answers) {
    if (index.questions.has(id) && !seen.has(id)) {
      seen.add(id);
      continue;
    }
    const answered = seen.has(id) || index.answers.has(id);
    const why = answered ? 'has its answer already' : 'was not asked in this run';
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

function withoutNulls(state: State): State {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== null));
}
