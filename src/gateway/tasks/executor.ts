/**
 * Executes the gateway's tasks. The endpoint of a task (its tenant) and its metadata decide which worker executes it.
 */
import { isDeepStrictEqual } from 'node:util';
import { answerViews } from '../../bridge/index.ts';
import { A2AError, type Metadata } from '../../protocol/index.ts';
import type { AgentExecutor, Reception, RequestContext } from '../../tasks/index.ts';
import { agentOfTenant, Caller, RESPONSES_TENANT } from '../api/caller.ts';
import { hidingCaller, withCaller } from './task-caller.ts';
import { TRANSITIONS } from './transitions.ts';

/** Executes tasks with a model or with an agent. */
export type Worker = Pick<AgentExecutor, 'receive' | 'execute' | 'cancel'>;

/** Completes the tasks that only store a response of the Responses API. The response is in the task's message. */
const KEEPER: Worker = {
  // These tasks do not count towards the limit of executions. Otherwise an answer that was already charged could not be
  // stored while many tasks are executed.
  receive: () => ({ needsNoPlace: true }),
  async *execute({ task }) {
    if (task.status.state !== 'working') yield { kind: 'status-update', state: 'working' };
    yield { kind: 'status-update', state: 'completed' };
  },
};

export interface GatewayExecutorOptions {
  /** Executes the tasks of the gateway's own endpoint, unless their metadata names an agent. */
  readonly models: Worker;
  /**
   * Executes the tasks of `/agents/NAME`, and the tasks of the gateway's own endpoint whose metadata names an agent.
   */
  readonly agents: Worker;
  /**
   * Returns the time when a new task with this metadata expires, in milliseconds, or undefined if it never expires.
   * Throws if `expiresAt` is invalid.
   */
  readonly expiry: (metadata: Metadata) => number | undefined;
}

export function gatewayExecutor({ models, agents, expiry }: GatewayExecutorOptions): AgentExecutor {
  const workerOf = (tenant: string, metadata: Metadata | undefined): Worker =>
    tenant === RESPONSES_TENANT
      ? KEEPER
      : agentOfTenant(tenant) !== undefined || metadata?.['agent'] !== undefined
        ? agents
        : models;

  return {
    // After a crash, a model is called again if its answer had not started. The task of a remote agent is followed
    // again.
    rules: { resumes: true, transitions: TRANSITIONS, immutableEvents: true },
    // In the gateway's dialect, the last message repeats a model's answer. In A2A, the answer is only in the artifact.
    views: hidingCaller(answerViews(({ version }) => version === undefined)),
    receive(context, task) {
      if (task) return workerOf(context.tenant, task.metadata).receive?.(context, task);
      const metadata = requestMetadata(context, ['expiresAt']);
      const expiresAt = expiry(metadata);
      const worker = workerOf(context.tenant, metadata);
      const started = (reception: Reception | undefined) => {
        const received = receptionOf(reception, metadata, expiresAt);
        const { user } = context;
        // A task of a remote agent needs no caller in its metadata: its stored link contains the sender
        // (agents/sender.ts).
        if (worker !== models || !(user instanceof Caller)) return received;
        return { ...received, metadata: withCaller(received.metadata, user) };
      };
      const received = worker.receive?.(context);
      return received instanceof Promise ? received.then(started) : started(received);
    },
    execute: (context) => workerOf(context.tenant, context.task.metadata).execute(context),
    cancel: (taskId, context) =>
      workerOf(context.tenant, context.task.metadata).cancel?.(taskId, context),
  };
}

function receptionOf(
  reception: Reception | undefined,
  requested: Metadata,
  expiresAt: number | undefined,
): Reception & { readonly metadata: Metadata } {
  const { metadata = requested, ...rest } = reception ?? {};
  if (expiresAt === undefined) return { ...rest, metadata };
  const until = new Date(expiresAt).toISOString();
  return { ...rest, metadata: { ...metadata, expiresAt: until }, expiresAt };
}

/**
 * Returns the metadata of a request. The request's own metadata takes precedence over the metadata of its message.
 * Throws `invalidParams` if the message has another value for one of the `settings` than the request, because the value
 * of the message would be ignored.
 */
export function requestMetadata(
  { message, metadata = {} }: RequestContext,
  settings: readonly string[],
): Metadata {
  const own = message.metadata ?? {};
  for (const name of settings) {
    const value = own[name] ?? undefined;
    if (value === undefined || !(name in metadata)) continue;
    if (isDeepStrictEqual(value, metadata[name])) continue;
    const field = `message.metadata.${name}`;
    const description = `the metadata of the request has another ${name}: send only one`;
    const violations = [{ field, description }];
    throw new A2AError('invalidParams', `${field}: ${description}`, { violations });
  }
  return { ...own, ...metadata };
}
