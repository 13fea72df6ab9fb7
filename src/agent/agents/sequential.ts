/** Agents in sequence. Each sees the answers of those before it. An agent that escalates ends the sequence. */
import type { Agent } from '../agent.ts';
import type { Callbacks } from '../plugin.ts';
import { runSteps } from './steps.ts';

/** The options of `sequentialAgent` and `parallelAgent`. */
export interface WorkflowOptions {
  readonly name: string;
  readonly description?: string;
  readonly subAgents: readonly Agent[];
  readonly callbacks?: Callbacks;
}

/**
 * Makes an agent that runs its sub-agents in order.
 *
 *   const report = sequentialAgent({ name: 'report', subAgents: [research, editor] });
 */
export function sequentialAgent(options: WorkflowOptions): Agent {
  const { name, description = '', subAgents, callbacks } = options;
  return {
    name,
    description,
    subAgents,
    ...(callbacks && { callbacks }),
    run: (context) => runSteps(context, subAgents),
  };
}
