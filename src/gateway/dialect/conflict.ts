/** Errors of the task handler in the dialect's terms. */
import { A2AError, isTerminal, TaskState } from '../../protocol/index.ts';
import { dialectStatus } from './translation.ts';

export type TaskAction = 'message' | 'cancel';

/** The error to throw for an error of the handler about the task that the request names. */
export function dialectError(error: unknown, action: TaskAction): unknown {
  if (!(error instanceof A2AError)) return error;
  const { kind, message, detail } = error;
  if (kind === 'invalidParams' && message.startsWith('message.contextId:')) {
    return new A2AError(
      'invalidParams',
      'sessionId: is not the session of the task taskId',
      detail,
    );
  }
  if (kind !== 'unsupportedOperation' && kind !== 'taskNotCancelable') return error;
  const { data: state } = TaskState.safeParse(detail.info?.['state']);
  return new A2AError('conflict', (state && explanation(state, action)) ?? message, detail);
}

/** Why the state does not allow the action, and what it allows. Undefined if the state is not the reason. */
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
