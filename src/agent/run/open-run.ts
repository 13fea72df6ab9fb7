/**
 * Opens a run: reads its session and determines its open questions.
 *
 * The session is read once, when the run is opened. After that, the run adds its own events to this data. So the
 * caller sees the open questions and the session's state without another read.
 *
 *   using opened = await openRun(sessions, key, runId);
 *   if (opened.questions.length > 0) events = runner.proceed(opened, { answers });
 */
import { raceAbort } from '../../base/index.ts';
import { RunError } from '../errors.ts';
import { delegatedSession } from '../delegated.ts';
import { createEvent, type Event, type Question } from '../event.ts';
import { RunIndex, type OpenCall } from './run-index.ts';
import type { Run } from './run.ts';
import type { Session, SessionKey, SessionStore } from '../session.ts';
import { keyText } from '../sessions/prepare.ts';
import { storedEvent, withDelta } from '../sessions/state.ts';

/** An open run. The caller must dispose of it. */
export interface OpenRun extends Disposable {
  readonly key: SessionKey;
  readonly runId: string;
  /** The session as it was read, with the run's own later events. Undefined as long as the session does not exist. */
  readonly session: Session | undefined;
  /** The run's own events. */
  readonly events: readonly Event[];
  /** The open questions, in the order in which they were asked. */
  readonly questions: readonly Question[];
  /**
   * Returns the stored events of the agents that run as tools for this run's open calls. `events` does not include
   * these events. Each event is wrapped in a partial event, in the form in which this run yielded it. `delegatedIn`
   * returns the inner event.
   */
  delegated(): Promise<readonly Event[]>;
}

/** The options of `openRun`. */
export interface OpenRunOptions {
  /** Whether to create the session if it does not exist. */
  readonly create?: boolean | undefined;
  /**
   * The ids of the questions that the caller wants to answer. `openRun` throws at once if another caller in this
   * process is answering one of them.
   */
  readonly answering?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/** An open run, with additional data for the runner. */
export interface LoadedRun extends OpenRun {
  readonly store: SessionStore;
  readonly index: RunIndex;
  /**
   * The part of the run that is active or was active last. A part ends when the run ends or waits for a person.
   * Undefined before the first part and after `append`.
   */
  current: Run | undefined;
  /** Stores events of a run that is not active. */
  append(events: readonly Event[]): Promise<void>;
}

const loadedRuns = new WeakMap<OpenRun, LoadedRun>();

/**
 * Opens a run. Waits until no other caller in this process has the run open, and then reads the session. The caller
 * must dispose of the result.
 *
 *   using opened = await openRun(sessions, key, runId);
 */
export async function openRun(
  store: SessionStore,
  key: SessionKey,
  runId: string,
  { create = false, answering = [], signal }: OpenRunOptions = {},
): Promise<OpenRun> {
  using claim = new DisposableStack();
  claim.use(await claimRun(store, key, runId, answering, signal));
  let read = create ? await store.open(key) : await store.get(key);
  const index = new RunIndex(runId, read?.events);
  const lock = claim.move();
  const run: LoadedRun = {
    store,
    key,
    runId,
    index,
    current: undefined,
    get session() {
      return run.current?.session ?? read;
    },
    get events() {
      return run.session?.events.filter((event) => event.runId === runId) ?? [];
    },
    get questions() {
      return [...index.questions.values()];
    },
    async delegated() {
      // Skips a call that has an open question, because the agent of this call starts only after the answer.
      const calls = [...index.openCalls.values()].filter(
        ({ part }) => !index.questions.has(part.id),
      );
      const found = calls.map((call) => storedEvents(store, key, runId, call));
      return (await Promise.all(found)).flat();
    },
    async append(events) {
      await store.append(key, events);
      for (const event of events) index.add(event);
      const before = run.session;
      if (before) {
        let { state } = before;
        for (const event of events) {
          state = withDelta(state, storedEvent(event)?.actions.stateDelta);
        }
        read = { ...before, state, events: [...before.events, ...events] };
      }
      run.current = undefined;
    },
    [Symbol.dispose]: () => lock.dispose(),
  };
  loadedRuns.set(run, run);
  return run;
}

export function loadedRun(opened: OpenRun): LoadedRun {
  const loaded = loadedRuns.get(opened);
  if (loaded) return loaded;
  throw new TypeError('the runner needs a run from openRun()');
}

/**
 * A lock of a run. In this process, each run can be open for only one caller at a time. Across processes, the session
 * store prevents a run from being resumed twice at the same point (see `proceed` in runner.ts).
 */
interface Claim {
  readonly answering: readonly string[];
  readonly released: Promise<void>;
}

const claims = new WeakMap<SessionStore, Map<string, Claim>>();

/**
 * Waits for the lock of a run and takes it. Throws at once if another caller is answering one of the same questions.
 */
async function claimRun(
  store: SessionStore,
  key: SessionKey,
  runId: string,
  answering: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Disposable> {
  let held = claims.get(store);
  if (!held) claims.set(store, (held = new Map()));
  const id = keyText(key, runId);
  for (let other = held.get(id); other !== undefined; other = held.get(id)) {
    const taken = answering.find((question) => other?.answering.includes(question));
    if (taken !== undefined) {
      throw new RunError('not-open', `another caller is already answering the question ${taken}`);
    }
    await (signal ? raceAbort(other.released, signal) : other.released);
  }
  const { promise: released, resolve } = Promise.withResolvers<void>();
  held.set(id, { answering, released });
  return {
    [Symbol.dispose]() {
      held.delete(id);
      resolve();
    },
  };
}

/**
 * Returns the stored events of the agent that runs as a tool for this call. If that agent has open calls, also returns
 * the events of the agents that run for those calls. Each event is inside a partial event of the caller's run
 * (`actions.delegated`), as the run showed it.
 */
export async function storedEvents(
  sessions: SessionStore,
  session: SessionKey,
  runId: string,
  { part: { id: callId }, agent: author }: OpenCall,
): Promise<Event[]> {
  const key = delegatedSession(session, callId);
  const all = (await sessions.get(key))?.events ?? [];
  const open = [...new RunIndex(callId, all).openCalls.values()];
  const nested = await Promise.all(open.map((call) => storedEvents(sessions, key, callId, call)));
  return [...all.filter((event) => event.runId === callId), ...nested.flat()].map((event) =>
    createEvent({ runId, author }, { partial: true, actions: { delegated: { callId, event } } }),
  );
}
