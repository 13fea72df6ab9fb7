/** Agents in a loop, until one escalates or the maximum number of iterations is reached. */
import type { WorkflowOptions } from './sequential.ts';
import { runSteps, type LoopAgent } from './steps.ts';

/** The options of `loopAgent`. */
export interface LoopOptions extends WorkflowOptions {
  /** Default: 10. */
  readonly maxIterations?: number;
}

const DEFAULT_ITERATIONS = 10;
const MAX_ITERATIONS = 10_000;

/**
 * Makes an agent that runs its sub-agents in order, repeatedly, until one escalates.
 *
 *   const improve = loopAgent({ name: 'improve', subAgents: [writer, critic], maxIterations: 3 });
 */
export function loopAgent(options: LoopOptions): LoopAgent {
  const { name, description = '', subAgents, callbacks } = options;
  const { maxIterations = DEFAULT_ITERATIONS } = options;
  if (!Number.isInteger(maxIterations) || maxIterations < 1 || maxIterations > MAX_ITERATIONS) {
    throw new RangeError(`maxIterations of ${name} must be an integer from 1 to ${MAX_ITERATIONS}`);
  }
  return {
    kind: 'loop',
    name,
    description,
    subAgents,
    ...(callbacks && { callbacks }),
    run: (context) => runSteps(context, subAgents, { rounds: maxIterations }),
  };
}
