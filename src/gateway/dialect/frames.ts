/**
 * A task's events as the dialect tells them, one server-sent event for each entry of the log:
 *
 *   id: 1
 *   data: {"type":"status","taskId":"…","status":"submitted","timestamp":"…", …}
 *
 * `type` is `status`, `artifact`, or, where the task comes to rest, `completed`, `failed`, `cancelled` or
 * `input-required`. A stream that is read again from before a question that was answered goes on behind it.
 */
import { isSettled, type StreamEvent, type TaskStatus } from '../../protocol/index.ts';
import type { Opening, Published } from '../../tasks/index.ts';
import type { DialectEvent } from './schema.ts';
import { artifactOf, beginningOf, errorOf, messageOf, statusOf } from './translation.ts';

type Item = Published | Opening;

/**
 * Frames for any number of readers. An event is offered to all who follow its task in one go, so remembering the last
 * frame is enough to make each once.
 */
export function createFrames(now: () => number = Date.now): (item: Item) => string {
  let last: Item | undefined;
  let text = '';
  return (item) => {
    if (item === last) return text;
    const event = eventOf(item, now);
    text = event ? `id: ${item.seq}\ndata: ${JSON.stringify(event)}\n\n` : '';
    last = item;
    return text;
  };
}

function eventOf({ event, seq }: Item, now: () => number): DialectEvent | undefined {
  switch (event.kind) {
    case 'task': {
      // How a task was before it was continued is no news to who continues it.
      if (seq !== 1) return undefined;
      const { id: taskId, status, history } = event;
      const { metadata, ...beginning } = beginningOf(event);
      const [first] = history ?? [];
      return {
        type: 'status',
        taskId,
        status: statusOf(status.state),
        timestamp: timeOf(status, now),
        ...beginning,
        ...(first && { message: messageOf(first) }),
        ...(Object.keys(metadata).length > 0 && { metadata }),
      };
    }
    case 'status-update':
      return changeOf(event, now);
    case 'artifact-update': {
      const { taskId, artifact, append, lastChunk } = event;
      return {
        type: 'artifact',
        taskId,
        artifact: artifactOf(artifact),
        ...(append === true && { append }),
        ...(lastChunk !== undefined && { lastChunk }),
        timestamp: new Date(now()).toISOString(),
      };
    }
    // The gateway answers with tasks, never with a message alone.
    default:
      return undefined;
  }
}

function changeOf(
  { taskId, status }: StreamEvent & { kind: 'status-update' },
  now: () => number,
): DialectEvent {
  const { state, message } = status;
  const change = {
    taskId,
    status: statusOf(state),
    timestamp: timeOf(status, now),
    ...(message && { message: messageOf(message) }),
  };
  if (!isSettled(state)) return { type: 'status', ...change };
  const error = errorOf(status);
  return {
    // A settled state is never one of the two that are left out here.
    type: change.status as Exclude<DialectEvent['type'], 'status' | 'artifact'>,
    ...change,
    ...(error !== undefined && { error }),
  };
}

function timeOf({ timestamp }: TaskStatus, now: () => number): string {
  return timestamp ?? new Date(now()).toISOString();
}
