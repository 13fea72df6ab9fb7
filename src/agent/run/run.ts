/**
 * One part of a run: from the start, or from a resume, until the run ends or waits. Keeps the events and the state of
 * the run, and enforces its limits.
 *
 * The session is read once, when the run is started or resumed. After that, the run adds its own events. It does not
 * see events that other runs add to the session. The cost of an event does not depend on the number of events in the
 * session.
 */
import { defined, type JsonValue } from '../../base/index.ts';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Artifacts } from '../artifact.ts';
import type { Content } from '../content.ts';
import { RunFailure, RunOver, StoreFailure } from '../errors.ts';
import type { Answer, Event, AnswerInbox } from '../event.ts';
import type { Model } from '../model.ts';
import type { Plugin } from '../plugin.ts';
import type { OpenCall, RunIndex } from './run-index.ts';
import type { Session, SessionKey, SessionStore } from '../session.ts';
import { applyDelta, stateScopeOf } from '../sessions/state.ts';
import { awaitsAnswer, endedCall, isUnknown, outcomeUnknown, stopped } from './stopped-calls.ts';
import { StorageError } from '../storage-error.ts';
import type { MutableState, ToolServices } from '../tool.ts';
import { messageOf } from '../tool-result.ts';
import type { AgentTree } from './tree.ts';

/** The limits of a run. A run that reaches a limit ends with an error event. */
export interface RunLimits {
  /**
   * Maximum number of requests to models. After a resume, earlier requests for a summary, and earlier requests without
   * a stored answer, no longer count. Default: 100.
   */
  readonly steps: number;
  /**
   * Maximum time in milliseconds from the start or the last resume until the run ends or waits. Default: 30 minutes.
   */
  readonly timeMs: number;
  /**
   * Maximum number of the run's stored events. The user's events, and the events that end the run, are stored even if
   * they exceed it. Default: 10,000.
   */
  readonly events: number;
  /** Maximum nesting depth of agents, including agents that run as tools. Default: 16. */
  readonly depth: number;
}

export const DEFAULT_LIMITS: RunLimits = {
  steps: 100,
  timeMs: 30 * 60_000,
  events: 10_000,
  depth: 16,
};

/** Maximum length of a vendor's call id. A call with a longer id gets a new id. */
const MAX_CALL_ID = 100;
/** Number of partial events after which the event loop runs once, so that timers fire during a fast stream. */
const SHOWN_AT_ONCE = 1000;

/** The data that all runs of a runner share. */
export interface RunServices {
  readonly tree: AgentTree;
  readonly store: SessionStore;
  readonly plugins: readonly Plugin[];
  readonly limits: RunLimits;
  readonly defaultModel: Model | undefined;
  /** Nesting depth of the agents that enclose this runner. */
  readonly depth: number;
  /** The caller's state, if the agent runs as a tool. It is read for keys that the session's state does not have. */
  readonly outerState: MutableState | undefined;
}

export interface RunStart {
  readonly key: SessionKey;
  readonly session: Session;
  readonly index: RunIndex;
  readonly input: Content;
  readonly resumed: boolean;
  readonly artifacts: Artifacts;
  readonly signal: AbortSignal;
  readonly inbox: AnswerInbox | undefined;
}

export type Run = ReturnType<typeof createRun>;

/** Returns a run that continues the given session. Stores nothing before the first event. */
export function createRun(services: RunServices, start: RunStart) {
  const { key, index, signal } = start;
  const { runId } = index;
  /** The session's events that this run has read, followed by the run's own events. Events are only appended. */
  const log: Event[] = [...start.session.events];
  const state = new Map(Object.entries(start.session.state));
  const callIds = new Set<string>();
  const ids = new Set<string>();
  const taken = new WeakSet<Event>();
  /**
   * The answers that are still being streamed, by the id of their events. Each has the first chunk and the text so
   * far.
   */
  const streaming = new Map<string, { readonly first: Event; readonly pieces: string[] }>();
  /** The latest progress of each call. */
  const latestProgress = new Map<string, JsonValue>();
  /** The ids of calls that were open when the run was started or resumed. */
  const inherited: ReadonlySet<string> = new Set(index.openCalls.keys());
  let { steps } = index;
  let shown = 0;
  let over = false;
  for (const event of log) note(event);

  /**
   * Returns whether the event must still be passed to `take`. False for an event of a sub-agent, because `take` has
   * already returned it.
   */
  function isNew(event: Event): boolean {
    return !taken.has(event) && (event.partial === true || !ids.has(event.id));
  }

  /**
   * Applies the plugins to an event, stores the event unless it is partial, and returns it. For an error event,
   * returns all events of `fail`.
   */
  async function take(given: Event): Promise<readonly Event[]> {
    check();
    if (given.runId !== runId || given.author === 'user') {
      const { author, runId: other } = given;
      throw new RunFailure(
        'invalid-event',
        `an agent must yield its own events of the run ${runId}, not an event of ${author} in the run ${other}`,
      );
    }
    const event = await plugged(given);
    taken.add(event);
    if (event.partial === true) {
      show(event);
      if (++shown % SHOWN_AT_ONCE === 0) await setImmediate();
      return [event];
    }
    check();
    if (event.error) return fail(event);
    const { limits } = services;
    if (index.events >= limits.events) {
      const message = `the run has reached its limit of ${limits.events} events`;
      throw new RunFailure('event-limit', message);
    }
    await store([event]);
    return [event];
  }

  /**
   * Ends the run with an error event. First stores the streamed text of unfinished answers and a response for each
   * open call. Returns the stored events. Events that other agents of the run yield later are refused.
   */
  async function fail(event: Event): Promise<readonly Event[]> {
    const isOver = over;
    over = true;
    // The responses to the open calls must not contain the error message. Clients may see these responses, but the
    // message is for the operator.
    const reason = `the run ended with an error (${event.error?.code})`;
    const events = [...(isOver ? [] : unfinished(reason, () => true)), event];
    await store(events);
    return events;
  }

  /**
   * Stores the streamed text of unfinished answers, and responses to the open calls. It is called after the run was
   * aborted. A call that is not running and waits for an answer stays open, because the run may be resumed.
   */
  async function interrupt(): Promise<void> {
    if (over) return;
    over = true;
    // If an agent runs as the tool, the call may be running even if some of the agent's questions are open.
    const isStopped = (call: OpenCall) => call.begun === true || !awaitsAnswer(call, index);
    const events = unfinished(messageOf(signal.reason), isStopped);
    if (events.length > 0) await store(events);
  }

  /** Returns the events that complete unfinished answers and open calls. */
  function unfinished(reason: string, isStopped: (call: OpenCall) => boolean): Event[] {
    const events: Event[] = [];
    for (const { first, pieces } of streaming.values()) {
      const { partial: _, ...event } = first;
      const text = pieces.join('');
      // Blank text is skipped, because some vendors refuse it.
      if (text.trim() === '') continue;
      const content: Content = { role: 'model', parts: [{ kind: 'text', text }] };
      events.push({ ...event, content, metadata: { ...event.metadata, interrupted: true } });
    }
    streaming.clear();
    const blocked = index.blockedCalls();
    for (const call of index.openCalls.values()) {
      if (!isStopped(call)) continue;
      const { id } = call.part;
      // A call that was open when the run was resumed may have begun in an earlier process.
      const isInherited = call.begun !== true && inherited.has(id);
      const error =
        isInherited && isUnknown(call, index, blocked)
          ? outcomeUnknown()
          : stopped(reason, call, latestProgress.get(id));
      events.push(endedCall(index, call, error));
    }
    return events;
  }

  async function store(events: readonly Event[]): Promise<void> {
    for (const event of events) {
      log.push(event);
      note(event);
      streaming.delete(event.id);
      index.add(event);
      applyDelta(state, event.actions.stateDelta);
    }
    try {
      await services.store.append(key, events);
    } catch (error) {
      if (error instanceof StorageError && error.code === 'invalid') {
        throw new RunFailure('invalid-event', `${events.at(-1)?.author}: ${error.message}`);
      }
      throw new StoreFailure(error);
    }
  }

  /**
   * Keeps the text and the progress of a partial event, in case the run is stopped before the complete event arrives.
   */
  function show(event: Event): void {
    const { id, content, metadata } = event;
    const { progress } = event.actions;
    if (progress) latestProgress.set(progress.callId, progress.value);
    // Only answers of models have `metadata.model`. Unfinished answers of other agents are not stored.
    if (metadata?.['model'] === undefined) return;
    for (const part of content?.parts ?? []) {
      if (part.kind !== 'text' || part.text === '') continue;
      const streamed = streaming.get(id);
      if (streamed) streamed.pieces.push(part.text);
      else streaming.set(id, { first: event, pieces: [part.text] });
    }
  }

  /** Counts a request to a model. Throws if the limit is reached. */
  function countStep(): void {
    const limit = services.limits.steps;
    if (steps >= limit) {
      throw new RunFailure('step-limit', `the run has reached its limit of ${limit} model calls`);
    }
    steps++;
  }

  /**
   * Returns the id for a new call. Keeps the vendor's id, because the vendor expects this id in the response. Returns a
   * new id only if the vendor's id is invalid or already used in the session.
   */
  function callIdFor(id: string): string {
    // The id must not contain a slash, because combined ids (`delegatedId`) must be unambiguous. It must be short,
    // because clients limit the length of an id.
    const isValid = id !== '' && id.length <= MAX_CALL_ID && !id.includes('/');
    const isUsable = isValid && !callIds.has(id);
    const own = isUsable ? id : `call_${randomUUID().replaceAll('-', '')}`;
    callIds.add(own);
    return own;
  }

  function check(): void {
    signal.throwIfAborted();
    if (over) throw new RunOver();
  }

  function note(event: Event): void {
    if (event.runId === runId) ids.add(event.id);
    for (const part of event.content?.parts ?? []) {
      if (part.kind === 'function-call') callIds.add(part.id);
    }
  }

  async function plugged(given: Event): Promise<Event> {
    let event = given;
    for (const plugin of services.plugins) {
      let changed: Event | undefined | void;
      try {
        changed = await plugin.onEvent?.(event, { runId, session: key });
      } catch (error) {
        // An error event must be stored even if a plugin throws. It may itself report an earlier error of a plugin.
        if (!given.error) throw error;
      }
      if (!changed) continue;
      const { id, author, branch, partial } = given;
      const { branch: _branch, partial: _partial, ...kept } = changed;
      event = { ...kept, id, runId, author, ...defined({ branch, partial }) };
    }
    return event;
  }

  return {
    ...start,
    services,
    runId,
    log,
    /** The id of the last event in `log` when the run was started or resumed. */
    lastRead: log.at(-1)?.id,
    /** Escalations that have already ended a loop. */
    escalationsSettled: new WeakSet<Event>(),
    /** The session as it was read, with the run's own events and changes. */
    get session(): Session {
      const stored = [...state].filter(([name]) => stateScopeOf(name) !== 'temp');
      return { ...start.session, events: log, state: Object.fromEntries(stored) };
    },
    readState: (name: string) => state.get(name) ?? services.outerState?.get(name),
    isNew,
    take,
    fail,
    interrupt,
    countStep,
    callIdFor,
  };
}

/** The data that an agent inherits from the caller's run when it runs as a tool, and its connection to that run. */
export interface Surroundings {
  readonly services: RunServices;
  readonly depth: number;
  readonly inbox: AnswerInbox | undefined;
  /** New answers to the agent's questions, with the ids that the questions have in the caller's session. */
  readonly answers: readonly Answer[];
  /** Shows an event of the agent in the caller's run. Resolves when the caller's reader has received the event. */
  show(event: Event): Promise<void>;
}

const surroundings = new WeakMap<ToolServices, Surroundings>();

export function toolServices(around: Surroundings): ToolServices {
  const { store, defaultModel } = around.services;
  const shown = { sessions: store, defaultModel };
  surroundings.set(shown, around);
  return shown;
}

/** Returns the surroundings of a tool, or undefined for services that the framework did not create. */
export function surroundingsOf(services: ToolServices): Surroundings | undefined {
  return surroundings.get(services);
}
