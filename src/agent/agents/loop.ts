/** Agents one after the other, round and round, until one escalates or the rounds are used up. */
import type { WorkflowOptions } from './sequential.ts';
import { runSteps, type LoopAgent } from './steps.ts';

export interface LoopOptions extends WorkflowOptions {
  /** 10 unless told. */
  readonly maxIterations?: number;
}

const DEFAULT_ITERATIONS = 10;
const MAX_ITERATIONS = 10_000;

export function loopAgent(options: LoopOptions): LoopAgent {
  const { name, description = '', subAgents, callbacks } = options;
  const { maxIterations = DEFAULT_ITERATIONS } = options;
  if (!Number.isInteger(maxIterations) || maxIterations < 1 || maxIterations > MAX_ITERATIONS) {
    throw new RangeError(`maxIterations of ${name} is a whole number from 1 to ${MAX_ITERATIONS}`);
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
