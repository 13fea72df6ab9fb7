/** Creates and continues the task of a live session, and determines the state of its turn. */
import { rest } from '../base/index.ts';
import {
  EXTENSION_URI,
  extensionMetadata,
  type McpServers,
} from '../protocol/development-tool/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  type Call,
  type Task,
  type TaskStatusUpdateEvent,
} from '../protocol/index.ts';
import type { Logger, RequestHandler } from '../tasks/index.ts';

/** Delay between attempts while the store is unavailable. */
export const STORE_WAIT_MS = 1000;

/** The call context of requests that the session itself makes. */
export const OWN_CALL: Call = { extensions: [EXTENSION_URI] };

/**
 * The state of a turn. `idle`: the next message starts a turn. `busy`: a turn is running. `waiting`: the turn waits for
 * answers.
 */
export type TurnState = 'idle' | 'busy' | 'waiting';

interface SessionSettings {
  readonly handler: RequestHandler;
  readonly workspace: string;
  readonly mcpServers?: McpServers | undefined;
}

/** Returns whether the task refused the message only because a turn is running or the task has just ended. */
export function isRefusedAsBusy(error: unknown): boolean {
  if (!(error instanceof A2AError) || error.kind !== 'unsupportedOperation') return false;
  const { reason, info } = error.detail;
  return reason === undefined && info?.['taskId'] !== undefined;
}

export function isUnavailable(error: unknown): error is A2AError {
  return error instanceof A2AError && error.kind === 'unavailable';
}

/**
 * Returns whether the server is unavailable only for a while. The error of a server that is shutting down has no retry
 * time.
 */
export function mayRetry(error: unknown): boolean {
  return isUnavailable(error) && error.detail.retryAfterSeconds !== undefined;
}

export function hasData({ status }: TaskStatusUpdateEvent): boolean {
  return status.message?.parts.some(({ kind }) => kind === 'data') === true;
}

/**
 * Returns the state of the turn. A task that has failed, or was canceled or rejected, counts as busy until the
 * conversation has a new task.
 */
export function turnState(event: Task | TaskStatusUpdateEvent): TurnState {
  const { state } = event.status;
  const reserved = event.kind === 'task' && state === 'submitted' && !event.history?.length;
  if (state === 'completed' || reserved) return 'idle';
  return isInterrupted(state) ? 'waiting' : 'busy';
}

/** Creates a task with the settings of the session, so that a client cannot change them with its first message. */
export function reserveSessionTask(
  { handler, workspace, mcpServers }: SessionSettings,
  contextId: string | undefined,
): Promise<Task> {
  const metadata = extensionMetadata({
    workspace_path: workspace,
    ...(mcpServers && { mcpServers }),
  });
  return handler.reserveTask({ contextId, metadata }, OWN_CALL);
}

/** Creates the next task of a session. Repeats failed attempts. Returns undefined if the signal is aborted first. */
export async function reserveNextTask(
  session: SessionSettings & { readonly logger: Logger },
  contextId: string,
  signal: AbortSignal,
): Promise<Task | undefined> {
  for (;;) {
    try {
      return await reserveSessionTask(session, contextId);
    } catch (error) {
      session.logger.warn({ err: error }, 'failed to create a task for the live session; retrying');
      await rest(STORE_WAIT_MS, signal);
      if (signal.aborted) return undefined;
    }
  }
}

/** Returns the task if it still accepts messages, or undefined if it has failed or was canceled or rejected. */
export async function continued(handler: RequestHandler, id: string): Promise<Task | undefined> {
  const task = await handler.getTask({ id, historyLength: 0 }, OWN_CALL);
  const { state } = task.status;
  return isTerminal(state) && state !== 'completed' ? undefined : task;
}
