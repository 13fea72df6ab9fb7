/** Agents one after the other. Each sees what those before it said. One that escalates ends the sequence. */
import type { Agent } from '../agent.ts';
import type { Callbacks } from '../plugin.ts';
import { runSteps } from './steps.ts';

export interface WorkflowOptions {
  readonly name: string;
  readonly description?: string;
  readonly subAgents: readonly Agent[];
  readonly callbacks?: Callbacks;
}

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
