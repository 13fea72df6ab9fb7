/**
 * Makes the tool calls of one model answer. Yields the progress of the calls, and each outcome when it arrives.
 *
 * - A call of a sequential tool runs after all earlier calls of the model answer have ended. Later calls wait for it.
 *   All other calls run concurrently.
 * - The questions of `Tool.confirm` do not wait, so a person can see and answer them for all calls at once. The
 *   exception is a question that depends on an earlier call (`Tool.confirmsAfter`). It is asked when that call has
 *   ended.
 * - A call ends when its response is stored. Calls that wait for this call begin later. So after a crash, a call that
 *   waits for an open call has not begun.
 */
import { raceAbort, type JsonValue } from '../../base/index.ts';
import type { Content } from '../content.ts';
import type { Answer, Event } from '../event.ts';
import type { Run } from '../run/run.ts';
import type { RunScope } from '../run/run-context.ts';
import type { OpenCall } from '../run/run-index.ts';
import type { Tool } from '../tool.ts';
import { CallWork } from './tool-run.ts';

export interface CallsSetup {
  readonly scope: RunScope;
  /** The open calls, in the order in which the model gave them. */
  readonly calls: readonly OpenCall[];
  readonly tools: ReadonlyMap<string, Tool>;
  /** The ids of the calls that the model has requested since the run was started or resumed. */
  readonly made: ReadonlySet<string>;
  readonly history: () => readonly Content[];
}

interface Entry {
  readonly call: OpenCall;
  /** The position of the call among the open calls. */
  readonly at: number;
  readonly tool: Tool | undefined;
  readonly isSequential: boolean;
  /** Whether the call may have been active when an earlier process ended. Such a call is not repeated. */
  readonly mayHaveBegun: boolean;
  phase: 'unprepared' | 'preparing' | 'ready' | 'running' | 'asking' | 'ended';
  /** Set from the start of the preparation until the call has a response or asks a question. */
  work?: CallWork;
  /** The earlier call on which the question of this call depends. */
  asksAfter?: Entry | undefined;
  /** Whether the call was already shown as waiting. */
  waits?: boolean;
}

export async function* settleCalls(setup: CallsSetup): AsyncGenerator<Event> {
  const { scope, tools, history } = setup;
  const { inbox } = scope.inner;
  const entries = entriesOf(setup);
  const outcomes: Outcome[] = [];
  /** The latest progress of each call. A slow reader misses some values, but it does not delay the calls. */
  const shown = new Map<string, JsonValue>();
  /**
   * Events of agents that run as tools. Such an agent continues only when `taken` is called, so it is never ahead of
   * the reader.
   */
  const relayed: { readonly event: Event; readonly taken: () => void }[] = [];
  let wake: (() => void) | undefined;
  /** The number of calls that are being prepared or are running. */
  let active = 0;

  function arrive(outcome: Outcome): void {
    outcomes.push(outcome);
    wake?.();
  }

  function follow(entry: Entry, step: Promise<Event | undefined>): void {
    entry.waits = false;
    active++;
    step.then(
      (event) => arrive({ entry, event }),
      (error: unknown) => arrive({ entry, event: undefined, failure: { error } }),
    );
  }

  function prepare(entry: Entry): void {
    const { call, mayHaveBegun } = entry;
    const { id } = call.part;
    const progress = (value: JsonValue): void => {
      if (entry.phase !== 'running' || entry.work !== work) return;
      shown.set(id, value);
      wake?.();
    };
    const show = (event: Event): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const actions = { delegated: { callId: id, event } };
      relayed.push({ event: scope.event({ partial: true, actions }), taken: resolve });
      wake?.();
      return raceAbort(promise, scope.signal);
    };
    const work = new CallWork({ scope, call, tools, mayHaveBegun, history, progress, show });
    entry.work = work;
    entry.phase = 'preparing';
    follow(entry, work.prepare());
  }

  function run(entry: Entry): void {
    entry.call.begun = true;
    entry.phase = 'running';
    follow(entry, entry.work!.run());
  }

  /**
   * Continues every call that does not have to wait. Returns the ids of the waiting calls that have not been shown as
   * waiting yet.
   */
  function advance(): string[] {
    const waiting: string[] = [];
    const earlier: Entry[] = [];
    let behindSequential = false;
    /**
     * Whether an earlier call is being prepared. That call may still ask a question, which must be shown before this
     * call is shown as waiting.
     */
    let behindPreparing = false;
    for (const entry of entries) {
      if (entry.phase === 'ended') continue;
      const isBlocked = entry.isSequential ? earlier.length > 0 : behindSequential;
      if (entry.phase === 'unprepared' && !asksLater(entry, earlier)) prepare(entry);
      else if (entry.phase === 'ready' && !isBlocked) run(entry);
      const waits = entry.phase === 'ready' || entry.phase === 'unprepared';
      if (waits && entry.waits !== true && !behindPreparing) {
        entry.waits = true;
        waiting.push(entry.call.part.id);
      }
      behindPreparing ||= entry.phase === 'preparing';
      earlier.push(entry);
      behindSequential ||= entry.isSequential;
    }
    return waiting;
  }

  using _listening = inbox?.listen(() => wake?.());
  for (;;) {
    const waits = advance();
    if (waits.length > 0) yield scope.event({ partial: true, actions: { waits } });
    if (active === 0) return;
    const showing = [...shown];
    // Each pass of this loop shows at most one progress value per call, so that frequent progress of one call does not
    // delay the outcomes of other calls.
    shown.clear();
    for (const [callId, value] of showing) {
      yield scope.event({ partial: true, actions: { progress: { callId, value } } });
    }
    for (const { event, taken } of relayed.splice(0)) {
      yield event;
      taken();
    }
    const outcome = nextOutcome(outcomes, entries);
    if (outcome) {
      const { entry, event, failure } = outcome;
      if (failure) throw failure.error;
      active--;
      if (event) {
        entry.work = undefined;
        shown.delete(entry.call.part.id);
        // Calls that wait for this call begin only after this event is stored.
        yield event;
      }
      entry.phase = event ? (event.actions.questions ? 'asking' : 'ended') : 'ready';
      continue;
    }
    const answered = firstAnswered(entries, scope.inner);
    if (answered) {
      yield scope.event({ actions: { answers: [answered.answer] } });
      answered.entry.phase = 'unprepared';
    } else if (shown.size === 0 && relayed.length === 0) {
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}

interface Outcome {
  readonly entry: Entry;
  /**
   * The event with the call's response or question. Undefined if the call is prepared and can run, or if there is a
   * `failure`.
   */
  readonly event: Event | undefined;
  readonly failure?: { readonly error: unknown };
}

/**
 * Removes and returns the first outcome. A question is held back while an earlier call is being prepared, so that the
 * questions are asked in the order of the calls.
 */
function nextOutcome(outcomes: Outcome[], entries: readonly Entry[]): Outcome | undefined {
  const preparing = entries.findIndex(({ phase }) => phase === 'preparing');
  const next = outcomes.findIndex(
    ({ entry, event }) => !event?.actions.questions || preparing < 0 || entry.at <= preparing,
  );
  return next < 0 ? undefined : outcomes.splice(next, 1)[0];
}

/**
 * Returns the entries of the calls. A call that the model requested before the run was resumed may have begun. There
 * are two exceptions: a call that had to wait for an earlier call that is still open, and a call whose question was not
 * answered before the run was resumed.
 */
function entriesOf({ scope, calls, tools, made }: CallsSetup): Entry[] {
  const blocked = scope.inner.index.blockedCalls();
  return calls.map((call, at) => {
    const { id, name } = call.part;
    const tool = tools.get(name);
    // The tool may have changed since the call was stored.
    const isSequential = call.sequential || tool?.sequential === true;
    const isWaiting = call.question !== undefined && (!call.answers || call.unused === true);
    const mayHaveBegun = !made.has(id) && !blocked.has(id) && !isWaiting;
    return { call, at, tool, isSequential, mayHaveBegun, phase: 'unprepared' };
  });
}

/** Returns whether the call's first question depends on an earlier call that has not ended. */
function asksLater(entry: Entry, earlier: readonly Entry[]): boolean {
  const { tool, call, mayHaveBegun } = entry;
  if (entry.asksAfter && entry.asksAfter.phase !== 'ended') return true;
  if (!tool?.confirmsAfter || call.question || mayHaveBegun) return false;
  entry.asksAfter = earlier.find(
    (other) => other.isSequential && tool.confirmsAfter!(call.part.args, other.call.part),
  );
  return entry.asksAfter !== undefined;
}

/** Returns the first call whose question now has an answer, and the answer. Returns undefined if there is no answer. */
function firstAnswered(
  entries: readonly Entry[],
  { index, inbox }: Pick<Run, 'index' | 'inbox'>,
): { readonly entry: Entry; readonly answer: Answer } | undefined {
  if (!inbox) return undefined;
  for (const entry of entries) {
    if (entry.phase !== 'asking') continue;
    for (const question of index.questionsOf(entry.call.part.id)) {
      const answer = inbox.take(question);
      if (answer) return { entry, answer };
    }
  }
  return undefined;
}
