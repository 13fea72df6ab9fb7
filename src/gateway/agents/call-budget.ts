/** Computes the usage that budgets count for a call to an agent. */
import type { CallUse, PayingCaller, PlannedCall } from '../budgets/calls.ts';
import type { RemoteAgent } from './remote.ts';

/** Returns the planned call. The agent's setting `usage` is reserved for it in the budgets. */
export function plannedCall(
  caller: PayingCaller,
  agent: RemoteAgent,
  contextId: string,
  taskId?: string,
): PlannedCall {
  const { inputTokens, cost } = usualUse(agent);
  return {
    caller,
    agent: agent.name,
    taskId,
    contextId,
    prompt: () => inputTokens,
    maxOutputTokens: 0,
    ...(cost && { cost }),
  };
}

/** Returns the agent's setting `usage`. It is counted if the agent does not report the usage of a call. */
export function usualUse({ settings: { usage = {} } }: RemoteAgent): CallUse {
  const { tokens = 0, amount, currency } = usage;
  return {
    inputTokens: tokens,
    outputTokens: 0,
    ...(amount !== undefined && currency !== undefined && { cost: { amount, currency } }),
  };
}

/** Returns the usage of a call for which the agent has done no work. */
export function noUse(agent: RemoteAgent): CallUse {
  const { cost } = usualUse(agent);
  return { inputTokens: 0, outputTokens: 0, cost: cost && { ...cost, amount: 0 } };
}
