/**
 * The context of an agent in a run, and the function that runs an agent.
 *
 * `runAgent` stores each complete event of an agent, follows the agent's transfers, and converts an error to the run's
 * error event. It does this for each agent and not only for the root. So events are stored even if the parent agent
 * does not yield them.
 */
import type { Agent, RunContext } from '../agent.ts';
import { abortable } from './abortable.ts';
import { isVisible } from './branches.ts';
import { Changes } from './changes.ts';
import { RunFailure, RunOver, StoreFailure } from '../errors.ts';
import { createEvent, type Event } from '../event.ts';
import { ModelError } from '../model.ts';
import type { Callbacks, HookContext, HookResult, Plugin } from '../plugin.ts';
import type { Run } from './run.ts';
import { Waits } from './run-index.ts';
import { messageOf } from '../tool-result.ts';

/** The position of an agent in a run. */
interface Place {
  readonly path: string;
  readonly branch: string | undefined;
  readonly depth: number;
  readonly signal: AbortSignal;
}

/** The hooks of a runner and of one of its agents. */
interface Hooks {
  readonly plugins: readonly Plugin[];
  readonly callbacks: Callbacks | undefined;
}

/** Calls the hooks with this name in order, until a hook returns a value. */
export async function firstResult<Name extends keyof Callbacks, Result>(
  { plugins, callbacks }: Hooks,
  name: Name,
  call: (hook: NonNullable<Callbacks[Name]>) => HookResult<Result>,
): Promise<Result | undefined> {
  for (const owner of callbacks === undefined ? plugins : [...plugins, callbacks]) {
    const hook = owner[name]?.bind(owner);
    // `bind` loses the hook's exact type, so a cast is needed.
    const result = hook && (await call(hook as NonNullable<Callbacks[Name]>));
    if (result) return result;
  }
  return undefined;
}

/** A RunContext, with additional data for the built-in agents. */
export interface RunScope extends RunContext {
  readonly inner: Run;
  readonly place: Place;
  readonly changes: Changes;
  readonly hooks: Hooks;
  readonly hookContext: HookContext;
}

const scopes = new WeakMap<RunContext, RunScope>();

function createScope(run: Run, agent: Agent, place: Place): RunScope {
  const { runId, key: session, input, resumed, index, log } = run;
  const { path, branch, signal } = place;
  const changes = new Changes(run.readState, run.artifacts);
  const { state, artifacts } = changes;
  const view: Event[] = [];
  let viewed = 0;
  /**
   * The number of times that this agent has run each sub-agent. The keys are the paths of the sub-agents, relative to
   * this agent.
   */
  const times = new Map<string, number>();

  /** Returns the full id of a question. It includes the path, because several agents may use the same id. */
  function questionIdOf(id: string): string {
    return `${path}:${id}`;
  }

  const scope: RunScope = {
    inner: run,
    agent,
    place,
    runId,
    path,
    branch,
    signal,
    session,
    input,
    resumed,
    state,
    artifacts,
    changes,
    hooks: { plugins: run.services.plugins, callbacks: agent.callbacks },
    hookContext: { runId, agent: agent.name, path, session, input, state, artifacts, signal },
    get events() {
      if (branch === undefined) return log;
      for (; viewed < log.length; viewed++) {
        const event = log[viewed]!;
        if (isVisible(event.branch, branch)) view.push(event);
      }
      return view;
    },
    answer: (id) => index.answers.get(questionIdOf(id)) ?? index.answers.get(id),
    checkpoint: () => index.checkpoints.get(path),
    event(fields = {}) {
      const event = createEvent({ runId, author: agent.name, branch }, fields);
      // Changes of state and artifacts are added only to complete events, because partial events are not stored.
      return event.partial === true || changes.empty
        ? event
        : { ...event, actions: changes.drainInto(event.actions) };
    },
    question(id, question) {
      const own = { agent: agent.name, ...question, id: questionIdOf(id) };
      return scope.event({ actions: { questions: [{ kind: 'input', ...own }] } });
    },
    run(child, options = {}) {
      const step = options.step === undefined ? '' : `#${options.step}`;
      const childPlace = `${step}/${child.name}`;
      const count = (times.get(childPlace) ?? 0) + 1;
      times.set(childPlace, count);
      // If an agent runs several times, each repetition has its own path, so that a checkpoint applies to one
      // repetition only.
      const again = count === 1 ? '' : `#${count}`;
      const own = branch === undefined ? '' : `${branch}.`;
      const lane = `${own}${agent.name}${step}.${child.name}${again}`;
      const stop = options.signal && AbortSignal.any([signal, options.signal]);
      const events = runAgent(run, child, {
        path: `${path}${childPlace}${again}`,
        branch: options.parallel === true ? lane : branch,
        depth: place.depth + 1,
        signal: stop ?? signal,
      });
      return stop ? abortable(events, stop) : events;
    },
  };
  scopes.set(scope, scope);
  return scope;
}

/** Returns the RunScope of a context, for the built-in agents. */
export function runScopeOf(context: RunContext): RunScope {
  const scope = scopes.get(context);
  if (scope) return scope;
  throw new TypeError('pass the context of the agent unchanged: a copy cannot be used');
}

/** Runs an agent, and the agents to which it transfers the conversation, until they are done or wait for a person. */
export async function* runAgent(run: Run, first: Agent, place: Place): AsyncGenerator<Event> {
  let agent = first;
  let { path } = place;
  for (let hop = 0; ; hop++) {
    const scope = createScope(run, agent, { ...place, path });
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
