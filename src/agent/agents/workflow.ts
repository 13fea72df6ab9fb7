/** Agents that run other agents: in sequence, in a loop, or in parallel. */
import type { JsonValue } from '../../base/index.ts';
import type { Agent, RunContext } from '../agent.ts';
import type { Event } from '../event.ts';
import type { Callbacks } from '../plugin.ts';
import { runScopeOf, type RunScope } from '../run/run-context.ts';
import { Waits } from '../run/run-index.ts';

/** The options of `sequentialAgent` and `parallelAgent`. */
export interface WorkflowOptions {
  readonly name: string;
  readonly description?: string;
  readonly subAgents: readonly Agent[];
  readonly callbacks?: Callbacks;
}

/** The options of `loopAgent`. */
export interface LoopOptions extends WorkflowOptions {
  /** Maximum number of iterations, from 1 to 10,000. Default: 10. */
  readonly maxIterations?: number;
}

/** The agent that `loopAgent` returns. */
export interface LoopAgent extends Agent {
  readonly kind: 'loop';
}

const DEFAULT_ITERATIONS = 10;
const MAX_ITERATIONS = 10_000;

/** Returns an agent with these options and this `run` function. */
function agentOf(options: WorkflowOptions, run: Agent['run']): Agent {
  const { name, description = '', subAgents, callbacks } = options;
  return { name, description, subAgents, ...(callbacks && { callbacks }), run };
}

/**
 * Makes an agent that runs its sub-agents in order. Each agent sees the answers of the agents before it. An agent that
 * escalates ends the sequence.
 *
 *   const report = sequentialAgent({ name: 'report', subAgents: [research, editor] });
 */
export function sequentialAgent(options: WorkflowOptions): Agent {
  return agentOf(options, (context) => runSteps(context, options.subAgents));
}

/**
 * Makes an agent that repeats its sub-agents until one of them escalates or the maximum number of iterations is
 * reached.
 *
 *   const improve = loopAgent({ name: 'improve', subAgents: [writer, critic], maxIterations: 3 });
 */
export function loopAgent(options: LoopOptions): LoopAgent {
  const { name, subAgents, maxIterations: rounds = DEFAULT_ITERATIONS } = options;
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > MAX_ITERATIONS) {
    throw new RangeError(`maxIterations of ${name} must be an integer from 1 to ${MAX_ITERATIONS}`);
  }
  const agent = agentOf(options, (context) => runSteps(context, subAgents, { rounds }));
  return { ...agent, kind: 'loop' };
}

/**
 * Makes an agent that runs its sub-agents in parallel.
 *
 *   const research = parallelAgent({ name: 'research', subAgents: [history, chemistry] });
 */
export function parallelAgent(options: WorkflowOptions): Agent {
  return agentOf(options, (context) => runInParallel(context, options.subAgents));
}

/**
 * Runs the agents in order. A checkpoint is stored after each agent that has finished, so that a resumed run continues
 * with the first unfinished agent. In a loop, the number of the iteration (`round`) is part of each agent's path. An
 * escalation ends the sequences around the agent, up to and including the nearest loop.
 */
async function* runSteps(
  context: RunContext,
  agents: readonly Agent[],
  loop?: { readonly rounds: number },
): AsyncGenerator<Event> {
  const scope = runScopeOf(context);
  const rounds = loop?.rounds ?? 1;
  let { round, step } = progressOf(scope.checkpoint());
  let escalated = scope.resumed && hasEscalated(scope, agents);
  while (!escalated && round <= rounds && agents.length > 0) {
    const agent = agents[step];
    if (!agent) {
      round++;
      step = 0;
      continue;
    }
    const waits = new Waits(scope.inner.index);
    for await (const event of scope.run(agent, loop ? { step: round } : {})) {
      waits.note(event);
      if (event.actions.escalate === true && !scope.inner.escalationsSettled.has(event)) {
        escalated = true;
        if (loop) scope.inner.escalationsSettled.add(event);
      }
      yield event;
    }
    if (waits.any) return;
    step++;
    const value = escalated ? { round: rounds + 1, step: 0 } : { round, step };
    yield scope.event({ actions: { checkpoint: { path: scope.path, value } } });
  }
}

function progressOf(noted: JsonValue | undefined): { round: number; step: number } {
  if (typeof noted === 'object' && noted !== null && 'round' in noted && 'step' in noted) {
    const { round, step } = noted;
    if (typeof round === 'number' && typeof step === 'number') return { round, step };
  }
  return { round: 1, step: 0 };
}

/**
 * Returns whether one of the agents, or of their sub-agents, has escalated since the last checkpoint of this sequence
 * or of an enclosing agent. The sub-agents of a loop do not count. If there is such an escalation, an earlier
 * process ended before it could store the checkpoint that follows the escalation.
 */
function hasEscalated({ events, runId, path }: RunScope, agents: readonly Agent[]): boolean {
  const names = new Set<string>();
  const add = (agent: Agent): void => {
    names.add(agent.name);
    if (!isLoop(agent)) agent.subAgents.forEach(add);
  };
  agents.forEach(add);
  for (const event of events.toReversed()) {
    if (event.runId !== runId) continue;
    const noted = event.actions.checkpoint?.path;
    if (noted !== undefined && (noted === path || isAbove(noted, path))) return false;
    if (event.actions.escalate === true && names.has(event.author)) return true;
  }
  return false;
}

function isAbove(path: string, other: string): boolean {
  return other.startsWith(path) && /^[/#~]/.test(other.slice(path.length));
}

function isLoop(agent: Agent): agent is LoopAgent {
  return 'kind' in agent && agent.kind === 'loop';
}

/** An agent that runs in parallel to others. It continues only when its next event is requested. */
interface Lane {
  readonly agent: Agent;
  readonly events: AsyncIterator<Event>;
  readonly waits: Waits;
}

/**
 * Runs agents in parallel. Each agent has its own branch and does not see the events of the other branches.
 *
 * An agent continues only after its previous event was stored and shown. An agent that waits for a person does not
 * block the other agents. When an agent fails, the run ends and the other agents are aborted.
 */
async function* runInParallel(
  context: RunContext,
  agents: readonly Agent[],
): AsyncGenerator<Event> {
  const noted = context.checkpoint();
  const { index } = runScopeOf(context).inner;
  const done = new Set(Array.isArray(noted) ? noted : []);
  const stop = new AbortController();
  const lanes = agents
    .filter(({ name }) => !done.has(name))
    .map((agent): Lane => {
      const events = context.run(agent, { parallel: true, signal: stop.signal });
      return { agent, events: events[Symbol.asyncIterator](), waits: new Waits(index) };
    });
  /** The steps of all lanes, in the order of their arrival. */
  const arrived: (() => { readonly lane: Lane; readonly result: IteratorResult<Event> })[] = [];
  /** The number of requested steps that were not taken from `arrived` yet. */
  let open = 0;
  let wake: (() => void) | undefined;
  const arrive = (step: (typeof arrived)[number]): void => {
    arrived.push(step);
    wake?.();
  };
  const ask = (lane: Lane): void => {
    open++;
    lane.events.next().then(
      (result) => arrive(() => ({ lane, result })),
      (error: unknown) =>
        arrive(() => {
          throw error;
        }),
    );
  };
  lanes.forEach(ask);
  try {
    while (open > 0) {
      if (arrived.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      open--;
      const { lane, result } = arrived.shift()!();
      if (result.done !== true) {
        lane.waits.note(result.value);
        yield result.value;
        ask(lane);
      } else if (!lane.waits.any) {
        done.add(lane.agent.name);
        yield context.event({ actions: { checkpoint: { path: context.path, value: [...done] } } });
      }
    }
  } finally {
    stop.abort(new Error(`${context.agent.name} has stopped`));
    for (const { events } of lanes) events.return?.().catch(() => undefined);
  }
}
