/**
 * The views of a task's log. The final answer of the task is an artifact, and the last status in the log usually
 * repeats the text of the artifact. With the view `once`, a client gets only the artifact. With the view `repeated`, a
 * client also gets the text in the status.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Message, Metadata, TaskStatus } from '../protocol/index.ts';
import type { LogView, LogViews, ViewRequest } from '../tasks/index.ts';

const REPEATED = 'answer-';

/** Makes the message that repeats an answer. */
export function repeatedAnswer(text: string, metadata?: Metadata): Message {
  return {
    kind: 'message',
    messageId: `${REPEATED}${randomUUIDv7()}`,
    role: 'agent',
    parts: [{ kind: 'text', text }],
    ...(metadata && { metadata }),
  };
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

/** Returns the views for an agent. `repeats` decides whether a request gets the view `repeated`. */
export function answerViews(repeats: (request: ViewRequest) => boolean): LogViews {
  return {
    all: [once, repeated],
    choose: (request) => (repeats(request) ? repeated : once),
  };
}
