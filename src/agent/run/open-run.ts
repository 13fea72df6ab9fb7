/**
 * A run as its session's log describes it, with its open questions.
 *
 * The session is read once, when the run is opened. From then on the run adds its own events, so that its caller sees
 * the open questions and the session's state without reading the session again.
 *
 *   using opened = await openRun(sessions, key, runId);
 *   if (opened.questions.length > 0) events = runner.proceed(opened, { answers });
 */
import type { Event, Question } from '../event.ts';
import { claimRun } from './run-claims.ts';
import { RunIndex } from './run-index.ts';
import type { Run } from './run.ts';
import type { Session, SessionKey, SessionStore } from '../session.ts';

/** A run that the caller has opened, and must dispose of. */
export interface OpenRun extends Disposable {
  readonly key: SessionKey;
  readonly runId: string;
  /** The session as this run knows it; undefined if it did not exist when the run was opened. */
  readonly session: Session | undefined;
  /** The run's own events. */
  readonly events: readonly Event[];
  /** The questions that have no answer, in the order in which they were asked. */
  readonly questions: readonly Question[];
}

/** How a run is opened. */
export interface OpenRunOptions {
  /** Creates the session if it does not exist. */
  readonly create?: boolean | undefined;
  /** The questions that the caller wants to answer. It fails at once if another caller is answering one of them. */
  readonly answering?: readonly string[];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Waits until no other caller in this process has the run open, then reads its session. Dispose of the result when done.
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
    return new LoadedRun(key, new RunIndex(runId, session?.events), session, claim);
  } catch (error) {
    claim[Symbol.dispose]();
    throw error;
  }
}

/** An open run with the data for the runner. */
export class LoadedRun implements OpenRun {
  readonly key: SessionKey;
  readonly index: RunIndex;
  /** The current or the latest part of the run. */
  current: Run | undefined;
  readonly #read: Session | undefined;
  readonly #claim: Disposable;

  constructor(key: SessionKey, index: RunIndex, read: Session | undefined, claim: Disposable) {
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

  [Symbol.dispose](): void {
    this.#claim[Symbol.dispose]();
  }
}

export function loadedRun(opened: OpenRun): LoadedRun {
  if (opened instanceof LoadedRun) return opened;
  throw new TypeError('the runner needs a run from openRun()');
}
