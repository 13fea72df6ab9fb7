/** Agents that run other agents in sequence or in a loop. parallel.ts runs agents in parallel. */
import type { Agent } from '../agent.ts';
import type { Callbacks } from '../plugin.ts';
import { runSteps, type LoopAgent } from './steps.ts';

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

const DEFAULT_ITERATIONS = 10;
const MAX_ITERATIONS = 10_000;

/** Returns an agent with these options and this `run` function. */
export function agentOf(options: WorkflowOptions, run: Agent['run']): Agent {
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
