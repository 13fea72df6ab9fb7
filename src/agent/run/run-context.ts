/**
 * The context of an agent in a run, and the function that runs an agent.
 *
 * `runAgent` stores each event of an agent, follows its transfers, and converts an error to the run's error event.
 * `runAgent` does this for each agent and not only for the root. So events are stored even if the parent agent does not
 * yield them.
 */
import type { JsonValue } from '../../base/index.ts';
import type { Agent, ChildOptions, RunContext } from '../agent.ts';
import { abortable } from './abortable.ts';
import { isVisible } from './branches.ts';
import type { Artifacts } from '../artifact.ts';
import { Changes } from './changes.ts';
import type { Content } from '../content.ts';
import { RunFailure, RunOver, StoreFailure } from '../errors.ts';
import { createEvent, type Answer, type Event, type EventFields, type Question } from '../event.ts';
import { ModelError } from '../model.ts';
import { firstResult, type HookContext, type Hooks } from '../plugin.ts';
import type { Run } from './run.ts';
import { Waits } from './run-index.ts';
import type { SessionKey } from '../session.ts';
import type { MutableState } from '../tool.ts';
import { messageOf } from '../tool-result.ts';

/** The position of an agent in a run. */
interface Place {
  readonly path: string;
  readonly branch: string | undefined;
  readonly depth: number;
  readonly signal: AbortSignal;
}

export class RunScope implements RunContext {
  readonly inner: Run;
  readonly agent: Agent;
  readonly place: Place;
  readonly runId: string;
  readonly path: string;
  readonly branch: string | undefined;
  readonly signal: AbortSignal;
  readonly session: SessionKey;
  readonly input: Content;
  readonly resumed: boolean;
  readonly state: MutableState;
  readonly artifacts: Artifacts;
  readonly changes: Changes;
  readonly #view: Event[] | undefined;
  /**
   * The number of times that this agent has run each sub-agent. The keys are the paths of the sub-agents, relative to
   * this agent.
   */
  readonly #times = new Map<string, number>();
  #viewed = 0;

  constructor(run: Run, agent: Agent, place: Place) {
    this.inner = run;
    this.agent = agent;
    this.place = place;
    this.runId = run.runId;
    this.path = place.path;
    this.branch = place.branch;
    this.signal = place.signal;
    this.session = run.key;
    this.input = run.input;
    this.resumed = run.resumed;
    this.changes = new Changes(run.readState, run.artifacts);
    this.state = this.changes.state;
    this.artifacts = this.changes.artifacts;
    this.#view = place.branch === undefined ? undefined : [];
  }

  get events(): readonly Event[] {
    const { log } = this.inner;
    if (!this.#view) return log;
    for (; this.#viewed < log.length; this.#viewed++) {
      const event = log[this.#viewed]!;
      if (isVisible(event.branch, this.branch)) this.#view.push(event);
    }
    return this.#view;
  }

  get hooks(): Hooks {
    return { plugins: this.inner.services.plugins, callbacks: this.agent.callbacks };
  }

  get hookContext(): HookContext {
    const { runId, path, session, input, state, artifacts, signal } = this;
    return { runId, agent: this.agent.name, path, session, input, state, artifacts, signal };
  }

  answer(questionId: string): Answer | undefined {
    const { answers } = this.inner.index;
    return answers.get(this.#questionId(questionId)) ?? answers.get(questionId);
  }

  checkpoint(): JsonValue | undefined {
    return this.inner.index.checkpoints.get(this.path);
  }

  event(fields: EventFields = {}): Event {
    const { runId, branch } = this;
    const event = createEvent({ runId, author: this.agent.name, branch }, fields);
    // Changes of state and artifacts are added only to complete events, because partial events are not stored.
    return event.partial === true || this.changes.empty
      ? event
      : { ...event, actions: this.changes.drainInto(event.actions) };
  }

  question(id: string, question: Partial<Question> & Pick<Question, 'text'>): Event {
    const own = { agent: this.agent.name, ...question, id: this.#questionId(id) };
    return this.event({ actions: { questions: [{ kind: 'input', ...own }] } });
  }

  run(agent: Agent, options: ChildOptions = {}): AsyncIterable<Event> {
    const step = options.step === undefined ? '' : `#${options.step}`;
    const place = `${step}/${agent.name}`;
    const times = (this.#times.get(place) ?? 0) + 1;
    this.#times.set(place, times);
    // If an agent runs several times, each repetition has its own path, so that a checkpoint applies to one repetition
    // only.
    const again = times === 1 ? '' : `#${times}`;
    const own = this.branch === undefined ? '' : `${this.branch}.`;
    const lane = `${own}${this.agent.name}${step}.${agent.name}${again}`;
    const signal = options.signal && AbortSignal.any([this.signal, options.signal]);
    const events = runAgent(this.inner, agent, {
      path: `${this.path}${place}${again}`,
      branch: options.parallel === true ? lane : this.branch,
      depth: this.place.depth + 1,
      signal: signal ?? this.signal,
    });
    return signal ? abortable(events, signal) : events;
  }

  /** Returns the full id of a question. It includes the path, because several agents may use the same id. */
  #questionId(id: string): string {
    return `${this.path}:${id}`;
  }
}

/** Returns the RunScope of a context, for the built-in agents. */
export function runScopeOf(context: RunContext): RunScope {
  if (context instanceof RunScope) return context;
  throw new TypeError('pass the context of the agent unchanged: a copy cannot be used');
}

/** Runs an agent, and the agents to which it transfers the conversation, until they are done or wait for a person. */
export async function* runAgent(run: Run, first: Agent, place: Place): AsyncGenerator<Event> {
  let agent = first;
  let { path } = place;
  for (let hop = 0; ; hop++) {
    const scope = new RunScope(run, agent, { ...place, path });
    const handedOver = transferOf(scope);
    const settled = run.index.callsOf(agent.name, place.branch).length === 0;
    const waits = new Waits(run.index);
    if (handedOver === undefined || !settled) {
      try {
        checkDepth(scope);
        for await (const given of withCallbacks(scope)) {
          // An agent that ignores the abort may still yield events. They are dropped.
          place.signal.throwIfAborted();
          const isNew = run.isNew(given);
          const events = isNew ? await run.take(withTransfer(given, path)) : [given];
          for (const event of events) {
            waits.note(event);
            yield event;
          }
          if (isNew && events.at(-1)?.error) throw new RunOver();
        }
      } catch (error) {
        if (isForCaller(error, place.signal)) throw error;
        yield* await run.take(scope.event({ error: describe(error) }));
        throw new RunOver();
      }
    }
    const next = transferOf(scope);
    if (next === undefined || waits.any) return;
    const target = run.services.tree.find(next);
    if (!target) {
      const message = `${agent.name} transferred to ${next}, which does not exist`;
      yield* await run.take(scope.event({ error: { code: 'unknown-agent', message } }));
      throw new RunOver();
    }
    agent = target;
    path = `${place.path}~${hop + 1}/${target.name}`;
  }
}

/** Adds a checkpoint to an event with a transfer, so that a resumed run continues with the right agent. */
function withTransfer(event: Event, path: string): Event {
  const { transferTo } = event.actions;
  if (transferTo === undefined) return event;
  const checkpoint = { path, value: { transferTo } };
  return { ...event, actions: { ...event.actions, checkpoint } };
}

function transferOf(scope: RunScope): string | undefined {
  const noted = scope.checkpoint();
  const isNote = typeof noted === 'object' && noted !== null && 'transferTo' in noted;
  return isNote && typeof noted.transferTo === 'string' ? noted.transferTo : undefined;
}

/** Returns whether an agent is done or has transferred the conversation to another agent. */
export function isFinished(scope: RunScope): boolean {
  return scope.checkpoint() === DONE || transferOf(scope) !== undefined;
}

/** The checkpoint value of an LLM agent that is done or has escalated. */
export const DONE = 'done';

async function* withCallbacks(scope: RunScope): AsyncGenerator<Event> {
  const { agent, inner } = scope;
  const instead = await firstResult(scope.hooks, 'beforeAgent', (hook) => hook(scope.hookContext));
  if (instead) {
    yield scope.event({ content: instead });
    return;
  }
  const waits = new Waits(inner.index);
  for await (const event of agent.run(scope)) {
    waits.note(event);
    yield event;
  }
  if (waits.any) return;
  const added = await firstResult(scope.hooks, 'afterAgent', (hook) => hook(scope.hookContext));
  if (added) yield scope.event({ content: added });
  if (!scope.changes.empty) yield scope.event();
}

function checkDepth({ inner, place }: RunScope): void {
  const { depth } = inner.services.limits;
  if (place.depth <= depth) return;
  const message = `agents are nested more than ${depth} levels deep at ${place.path}`;
  throw new RunFailure('depth-limit', message);
}

function isForCaller(error: unknown, signal: AbortSignal): boolean {
  return error instanceof RunOver || error instanceof StoreFailure || signal.aborted;
}

function describe(error: unknown) {
  if (error instanceof RunFailure) return { code: error.code, message: error.message };
  if (error instanceof ModelError) return { code: `model-${error.code}`, message: error.message };
  return { code: 'agent-failed', message: messageOf(error) };
}
