/** What budgets count for a call of an agent. */
import type { CallUse, PayingCaller, PlannedCall } from '../budgets/spending.ts';
import type { RemoteAgent } from './remote.ts';

/** Returns the call for the budgets. It reserves what the configuration says that a call uses. */
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

/** Returns what a call counts if the agent does not report its usage. */
export function usualUse({ settings: { usage = {} } }: RemoteAgent): CallUse {
  const { tokens = 0, amount, currency } = usage;
  return {
    inputTokens: tokens,
    outputTokens: 0,
    ...(amount !== undefined && currency !== undefined && { cost: { amount, currency } }),
  };
}

/** Returns what a call counts that did not reach the agent. */
export function noUse(agent: RemoteAgent): CallUse {
  const { cost } = usualUse(agent);
  return { inputTokens: 0, outputTokens: 0, cost: cost && { ...cost, amount: 0 } };
}
