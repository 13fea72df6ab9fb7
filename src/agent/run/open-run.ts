/**
 * Opens a run: reads its session and determines its open questions.
 *
 * The session is read once, when the run is opened. After that, the run adds its own events to this data. So the
 * caller sees the open questions and the session's state without another read.
 *
 *   using opened = await openRun(sessions, key, runId);
 *   if (opened.questions.length > 0) events = runner.proceed(opened, { answers });
 */
import type { Event, Question } from '../event.ts';
import { claimRun } from './run-claims.ts';
import { RunIndex } from './run-index.ts';
import { storedEvents } from './stored-events.ts';
import type { Run } from './run.ts';
import type { Session, SessionKey, SessionStore } from '../session.ts';
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
   * Some open calls of this run are calls of agents that run as tools. Returns the stored events of these agents, which
   * `events` does not include. Each event is wrapped in a partial event, in the form in which this run yielded it.
   * `delegatedIn` returns the inner event.
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
  const claim = await claimRun(store, key, runId, answering, signal);
  try {
    const session = create ? await store.open(key) : await store.get(key);
    return new LoadedRun(store, key, new RunIndex(runId, session?.events), session, claim);
  } catch (error) {
    claim[Symbol.dispose]();
    throw error;
  }
}

/** An open run, with additional data for the runner. */
export class LoadedRun implements OpenRun {
  readonly store: SessionStore;
  readonly key: SessionKey;
  readonly index: RunIndex;
  /**
   * The part of the run that is active or was active last. A part ends when the run ends or waits for a person.
   * Undefined before the first part and after `append`.
   */
  current: Run | undefined;
  #read: Session | undefined;
  readonly #claim: Disposable;

  constructor(
    store: SessionStore,
    key: SessionKey,
    index: RunIndex,
    read: Session | undefined,
    claim: Disposable,
  ) {
    this.store = store;
    this.key = key;
    this.index = index;
    this.#read = read;
    this.#claim = claim;
  }

  get runId(): string {
    return this.index.runId;
  }

  get session(): Session | undefined {
    return this.current?.session ?? this.#read;
  }

  get events(): readonly Event[] {
    return this.session?.events.filter(({ runId }) => runId === this.runId) ?? [];
  }

  get questions(): readonly Question[] {
    return [...this.index.questions.values()];
  }

  async delegated(): Promise<readonly Event[]> {
    const { store, key, runId, index } = this;
    // If a call has asked a question itself, no agent runs for it before the answer.
    const calls = [...index.openCalls.values()].filter(({ part }) => !index.questions.has(part.id));
    const found = calls.map((call) => storedEvents(store, key, runId, call));
    return (await Promise.all(found)).flat();
  }

  /** Stores events of a run that is not active. */
  async append(events: readonly Event[]): Promise<void> {
    await this.store.append(this.key, events);
    for (const event of events) this.index.add(event);
    const { session } = this;
    if (session) {
      let { state } = session;
      for (const event of events) state = withDelta(state, storedEvent(event)?.actions.stateDelta);
      this.#read = { ...session, state, events: [...session.events, ...events] };
    }
    this.current = undefined;
  }

  [Symbol.dispose](): void {
    this.#claim[Symbol.dispose]();
  }
}

export function loadedRun(opened: OpenRun): LoadedRun {
  if (opened instanceof LoadedRun) return opened;
  throw new TypeError('the runner needs a run from openRun()');
}
