/** What executes the gateway's tasks: the scope of a task says which door it came in by, and so who works on it. */
import type { Metadata } from '../../protocol/index.ts';
import type { AgentExecutor, RequestContext } from '../../tasks/index.ts';
import { agentOfTenant } from '../api/caller.ts';

/** One of the two that do the work. */
export type Worker = Pick<AgentExecutor, 'begin' | 'execute' | 'cancel' | 'admit'>;

export interface GatewayExecutorOptions {
  /** Tasks of the gateway's own door. */
  readonly models: Worker;
  /** Tasks of agents' doors, and those of the gateway's own whose metadata names an agent. */
  readonly agents: Worker;
  /** When a task that begins with this metadata expires, in milliseconds. Throws for what cannot be. */
  readonly expiry: (metadata: Metadata) => number | undefined;
}

export function gatewayExecutor({ models, agents, expiry }: GatewayExecutorOptions): AgentExecutor {
  const workerOf = (tenant: string, metadata: Metadata | undefined): Worker =>
    agentOfTenant(tenant) !== undefined || metadata?.['agent'] !== undefined ? agents : models;

  return {
    // After a crash a model's answer that has not begun is asked for again, and an agent's task is found again.
    resumes: true,
    // What models and agents send is made into events for the log alone.
    givesAway: true,
    async begin(context) {
      const metadata = requestMetadata(context);
      const expiresAt = expiry(metadata);
      const begun = await workerOf(context.tenant, metadata).begin?.(context);
      const own = begun?.metadata ?? metadata;
      return {
        metadata:
          expiresAt === undefined ? own : { ...own, expiresAt: new Date(expiresAt).toISOString() },
        ...(expiresAt !== undefined && { expiresAt }),
      };
    },
    admit: (context, task) => workerOf(context.tenant, task.metadata).admit?.(context, task),
    execute: (context) => workerOf(context.tenant, context.task.metadata).execute(context),
    cancel: (taskId, context) =>
      workerOf(context.tenant, context.task.metadata).cancel?.(taskId, context),
  };
}

/** What the client says of its request: the request's own metadata has the last word over the message's. */
export function requestMetadata({ message, metadata }: RequestContext): Metadata {
  return { ...message.metadata, ...metadata };
}
