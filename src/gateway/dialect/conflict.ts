/** Refusals in the dialect's words. */
import { A2AError, isTerminal, type Call, type Task } from '../../protocol/index.ts';
import type { RequestHandler } from '../../server/index.ts';
import { statusOf } from './translation.ts';

type Action = 'message' | 'cancel';

export interface Refused {
  readonly taskId: string | undefined;
  readonly action: Action;
  readonly call: Call;
  readonly handler: RequestHandler;
}

/** What to throw for what the handler threw. */
export async function inOwnWords(error: unknown, refused: Refused): Promise<unknown> {
  const { taskId, action, call, handler } = refused;
  if (!(error instanceof A2AError) || taskId === undefined) return error;
  const { kind, message, detail } = error;
  if (kind === 'invalidParams' && message.startsWith('message.contextId ')) {
    return new A2AError('invalidParams', 'sessionId: it is not the session of taskId', detail);
  }
  if (kind !== 'unsupportedOperation' && kind !== 'taskNotCancelable') return error;
  try {
    const task = await handler.getTask({ id: taskId, historyLength: 0 }, call);
    return new A2AError('conflict', sentence(task, action) ?? message, detail);
  } catch (gone) {
    return gone;
  }
}

/** What the task's state allows instead. Undefined: the state does not explain it. */
function sentence({ status: { state } }: Task, action: Action): string | undefined {
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
