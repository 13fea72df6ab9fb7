/** What executes the gateway's tasks: the scope of a task says which door it came in by, and so who works on it. */
import type { Metadata } from '../../protocol/index.ts';
import type { AgentExecutor, Reception, RequestContext } from '../../tasks/index.ts';
import { agentOfTenant } from '../api/caller.ts';
import { TRANSITIONS } from './transitions.ts';

/** One of the two that do the work. */
export type Worker = Pick<AgentExecutor, 'receive' | 'execute' | 'cancel'>;

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
    // After a crash a model is asked again if its answer had not begun, and an agent's task is followed again.
    rules: { resumes: true, transitions: TRANSITIONS, immutableEvents: true },
    receive(context, task) {
      if (task) return workerOf(context.tenant, task.metadata).receive?.(context, task);
      const metadata = requestMetadata(context);
      const expiresAt = expiry(metadata);
      const received = workerOf(context.tenant, metadata).receive?.(context);
      return received instanceof Promise
        ? received.then((reception) => started(reception, metadata, expiresAt))
        : started(received, metadata, expiresAt);
    },
    execute: (context) => workerOf(context.tenant, context.task.metadata).execute(context),
    cancel: (taskId, context) =>
      workerOf(context.tenant, context.task.metadata).cancel?.(taskId, context),
  };
}

function started(
  reception: Reception | undefined,
  requested: Metadata,
  expiresAt: number | undefined,
): Reception {
  const metadata = reception?.metadata ?? requested;
  if (expiresAt === undefined) return { metadata };
  return { metadata: { ...metadata, expiresAt: new Date(expiresAt).toISOString() }, expiresAt };
}

/** What the client says of its request: the request's own metadata has the last word over the message's. */
export function requestMetadata({ message, metadata }: RequestContext): Metadata {
  return { ...message.metadata, ...metadata };
}
