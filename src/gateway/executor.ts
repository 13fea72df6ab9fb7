/** What executes the gateway's tasks: the scope of a task says which door it came in by, and so who works on it. */
import { isSettled, type Metadata, type TaskState } from '../protocol/index.ts';
import type { AgentExecutor, ExecutorEvent, RequestContext } from '../server/index.ts';
import { agentOfTenant } from './caller.ts';
import type { Meter } from './services.ts';

/** One of the two that do the work. */
export type Worker = Pick<AgentExecutor, 'begin' | 'execute' | 'cancel' | 'admit'>;

export interface GatewayExecutorOptions {
  /** Tasks of the gateway's own door. */
  readonly models: Worker;
  /** Tasks of agents' doors, and those of the gateway's own whose metadata names an agent. */
  readonly agents: Worker;
  /** When a task that begins with this metadata expires, in milliseconds. Throws for what cannot be. */
  readonly expiry: (metadata: Metadata) => number | undefined;
  readonly meter?: Meter | undefined;
}

export function gatewayExecutor(options: GatewayExecutorOptions): AgentExecutor {
  const { models, agents, expiry, meter } = options;
  const count = (tenant: string, state: TaskState): void => {
    const door = agentOfTenant(tenant) === undefined ? 'gateway' : 'agent';
    meter?.count('parley_tasks_total', { door, state });
  };
  const workerOf = (tenant: string, metadata: Metadata | undefined): Worker =>
    agentOfTenant(tenant) !== undefined || metadata?.['agent'] !== undefined ? agents : models;

  return {
    // After a crash a model's answer that has not begun is asked for again, and an agent's task is found again.
    resumes: true,
    async begin(context) {
      const metadata = requestMetadata(context);
      const expiresAt = expiry(metadata);
      const begun = await workerOf(context.tenant, metadata).begin?.(context);
      const own = begun?.metadata ?? metadata;
      count(context.tenant, 'submitted');
      return {
        metadata:
          expiresAt === undefined ? own : { ...own, expiresAt: new Date(expiresAt).toISOString() },
        ...(expiresAt !== undefined && { expiresAt }),
      };
    },
    admit: (context, task) => workerOf(context.tenant, task.metadata).admit?.(context, task),
    execute: (context) =>
      counting(
        workerOf(context.tenant, context.task.metadata).execute(context),
        context.signal,
        (state) => count(context.tenant, state),
      ),
    cancel(taskId, context) {
      count(context.tenant, 'canceled');
      return workerOf(context.tenant, context.task.metadata).cancel?.(taskId, context);
    },
  };
}

/** Passes events on, and tells of the state in which they leave the task. */
async function* counting(
  events: AsyncIterable<ExecutorEvent>,
  signal: AbortSignal,
  count: (state: TaskState) => void,
): AsyncGenerator<ExecutorEvent> {
  try {
    for await (const event of events) {
      if (event.kind === 'status-update' && isSettled(event.state)) count(event.state);
      yield event;
    }
  } catch (error) {
    // The handler makes a failure of it, unless the task was canceled or the gateway ends.
    if (!signal.aborted) count('failed');
    throw error;
  }
}

/** What the client says of its request: the request's own metadata has the last word over the message's. */
export function requestMetadata({ message, metadata }: RequestContext): Metadata {
  return { ...message.metadata, ...metadata };
}
