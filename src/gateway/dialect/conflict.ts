/** Refusals in the dialect's words. */
import { A2AError, isTerminal, TaskState } from '../../protocol/index.ts';
import { statusOf } from './translation.ts';

export type Action = 'message' | 'cancel';

/** What to throw for what the handler threw about a task that was named. */
export function inOwnWords(error: unknown, action: Action): unknown {
  if (!(error instanceof A2AError)) return error;
  const { kind, message, detail } = error;
  if (kind === 'invalidParams' && message.startsWith('message.contextId ')) {
    return new A2AError('invalidParams', 'sessionId: it is not the session of taskId', detail);
  }
  if (kind !== 'unsupportedOperation' && kind !== 'taskNotCancelable') return error;
  const { data: state } = TaskState.safeParse(detail.info?.['state']);
  return new A2AError('conflict', (state && sentence(state, action)) ?? message, detail);
}

/** What the task's state allows instead. Undefined: the state does not explain it. */
function sentence(state: TaskState, action: Action): string | undefined {
  const status = statusOf(state);
  if (action === 'cancel') {
    return `The task is ${status} already: only a task that is not finished can be cancelled`;
  }
  if (isTerminal(state)) {
    return `The task is ${status} and takes no more messages; to go on, send one without taskId and with the same sessionId`;
  }
  if (status === 'input-required') return undefined;
  return `The task is ${status}: it takes a message when it is input-required; until then it can be cancelled`;
}
