/** Converts errors of the task handler to errors of the dialect, the gateway's own REST API. */
import { A2AError, isTerminal, TaskState } from '../../protocol/index.ts';
import { ContextMismatchError } from '../../tasks/index.ts';
import { dialectStatus } from './translation.ts';

export type TaskAction = 'message' | 'cancel';

/** Converts an error of the handler about the state or the context of a task. Returns other errors unchanged. */
export function dialectError(error: unknown, action: TaskAction): unknown {
  if (error instanceof ContextMismatchError) {
    const why = 'sessionId: the task in taskId belongs to another session';
    return new A2AError('invalidParams', why);
  }
  if (!(error instanceof A2AError)) return error;
  const { kind, message, detail } = error;
  if (kind !== 'unsupportedOperation' && kind !== 'taskNotCancelable') return error;
  const { data: state } = TaskState.safeParse(detail.info?.['state']);
  return new A2AError('conflict', (state && explanation(state, action)) ?? message, detail);
}

/**
 * Explains why the state does not allow the action, and which action is possible. Returns undefined if the state is not
 * the reason.
 */
function explanation(state: TaskState, action: TaskAction): string | undefined {
  const status = dialectStatus(state);
  if (action === 'cancel') {
    return `The task is already ${status}: only an unfinished task can be cancelled`;
  }
  if (isTerminal(state)) {
    return `The task is ${status} and accepts no more messages: to continue the conversation, send the message without taskId and with the same sessionId`;
  }
  if (status === 'input-required') return undefined;
  return `The task is ${status}: it accepts a message only while it is input-required`;
}
