/**
 * The views of a task of a bridged agent. The status that completes a turn repeats the final answer in the log. Only the
 * result of `message/send` in 0.3 shows it. All other clients get the answer once, as an artifact.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Message, TaskStatus } from '../protocol/index.ts';
import type { LogView, LogViews } from '../tasks/index.ts';

const REPEATED = 'answer-';

/** Makes the message that repeats an answer. */
export function repeatedAnswer(text: string): Message {
  const parts = [{ kind: 'text' as const, text }];
  return { kind: 'message', messageId: `${REPEATED}${randomUUIDv7()}`, role: 'agent', parts };
}

function isRepeated({ role, messageId }: Message): boolean {
  return role === 'agent' && messageId.startsWith(REPEATED);
}

function statusOf(status: TaskStatus): TaskStatus {
  const { message, ...rest } = status;
  return message && isRepeated(message) ? rest : status;
}

const once: LogView = {
  name: 'once',
  task(task) {
    const { history } = task;
    const status = statusOf(task.status);
    const others = history?.some(isRepeated)
      ? history.filter((each) => !isRepeated(each))
      : history;
    if (status === task.status && others === history) return task;
    return { ...task, status, ...(others && { history: others }) };
  },
  update(event) {
    if (event.kind !== 'status-update') return event;
    const status = statusOf(event.status);
    return status === event.status ? event : { ...event, status };
  },
};

const repeated: LogView = { name: 'repeated', task: (task) => task, update: (event) => event };

export const bridgeViews: LogViews = {
  all: [once, repeated],
  choose: ({ result }) => (result === '0.3' ? repeated : once),
};
