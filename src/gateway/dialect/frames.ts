/**
 * Formats a task's events for the dialect, the gateway's own REST API. Each entry of the task's log becomes at most one
 * server-sent event.
 *
 *   id: 1
 *   data: {"type":"status","taskId":"…","status":"submitted","timestamp":"…", …}
 *
 * The `type` of an event is `status` or `artifact`. When the task stops, the `type` is `completed`, `failed`,
 * `cancelled` or `input-required`. With one of these events, the stream ends. A replayed stream continues after the
 * event `input-required` if the question has already been answered.
 */
import { lineSafe } from '../../base/index.ts';
import { isSettled, type StreamEvent, type TaskStatus } from '../../protocol/index.ts';
import type { Opening, Published } from '../../tasks/index.ts';
import type { DialectEvent } from './schema.ts';
import {
  dialectArtifact,
  dialectBeginning,
  errorOf,
  dialectMessage,
  dialectStatus,
} from './translation.ts';

type Item = Published | Opening;

/**
 * Returns a function that formats events. Each event is sent to all readers of its task one after another, so it is
 * enough to cache the last result.
 */
export function createFrames(now: () => number = Date.now): (item: Item) => string {
  let last: Item | undefined;
  let text = '';
  return (item) => {
    if (item === last) return text;
    const event = eventOf(item, now);
    text = event ? `id: ${item.seq}\ndata: ${lineSafe(JSON.stringify(event))}\n\n` : '';
    last = item;
    return text;
  };
}

function eventOf({ event, seq }: Item, now: () => number): DialectEvent | undefined {
  switch (event.kind) {
    case 'task': {
      // A task event with a later number is not sent: a client that continues a task already has its earlier state.
      if (seq !== 1) return undefined;
      const { id: taskId, status, history } = event;
      const { metadata, ...beginning } = dialectBeginning(event);
      const [first] = history ?? [];
      return {
        type: 'status',
        taskId,
        status: dialectStatus(status.state),
        timestamp: timeOf(status, now),
        ...beginning,
        ...(first && { message: dialectMessage(first) }),
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
        artifact: dialectArtifact(artifact),
        ...(append === true && { append }),
        ...(lastChunk !== undefined && { lastChunk }),
        timestamp: new Date(now()).toISOString(),
      };
    }
    // The gateway's executors always create a task, and never send a message without a task.
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
    status: dialectStatus(state),
    timestamp: timeOf(status, now),
    ...(message && { message: dialectMessage(message) }),
  };
  if (!isSettled(state)) return { type: 'status', ...change };
  const error = errorOf(status);
  return {
    // The dialect's status of a settled task is also the name of an event type.
    type: change.status as Exclude<DialectEvent['type'], 'status' | 'artifact'>,
    ...change,
    ...(error !== undefined && { error }),
  };
}

function timeOf({ timestamp }: TaskStatus, now: () => number): string {
  return timestamp ?? new Date(now()).toISOString();
}
