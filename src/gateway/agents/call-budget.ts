/** Computes the usage that budgets count for a call to an agent. */
import type { CallUse, PayingCaller, PlannedCall } from '../budgets/calls.ts';
import type { RemoteAgent } from './remote.ts';

/** Returns the call that budgets reserve. The reserved usage is the setting `usage` of the agent. */
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

/** Returns the usage of a call if the agent does not report any. It is the setting `usage` of the agent. */
export function usualUse({ settings: { usage = {} } }: RemoteAgent): CallUse {
  const { tokens = 0, amount, currency } = usage;
  return {
    inputTokens: tokens,
    outputTokens: 0,
    ...(amount !== undefined && currency !== undefined && { cost: { amount, currency } }),
  };
}

/** Returns the usage of a call that did not reach the agent. */
export function noUse(agent: RemoteAgent): CallUse {
  const { cost } = usualUse(agent);
  return { inputTokens: 0, outputTokens: 0, cost: cost && { ...cost, amount: 0 } };
}
