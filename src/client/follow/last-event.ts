/** Finds the last event of a connection, and reads a connection up to it. */
import {
  isSettled,
  isTerminal,
  type StreamEvent,
  type StreamItem,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import { ConnectionError } from '../connection/errors.ts';
import type { Lifetime } from '../connection/request.ts';

export type Items = AsyncIterable<StreamItem> | Iterable<StreamItem>;

/** How long to wait for the agent to close a stream after its last event. */
const GRACE_MS = 1000;

/**
 * Yields the items of one connection. If `leaves` is true, the iteration ends soon after the last event, even if the
 * agent does not close the stream. For a subscriber, `leaves` is false, because the task may continue. An abort ends
 * the wait for an item immediately, even if the service ignores the signal.
 */
export async function* untilLastEvent(
  items: Items,
  lifetime: Lifetime,
  leaves: boolean,
): AsyncGenerator<StreamItem> {
  if (!(Symbol.asyncIterator in items)) {
    yield* items;
    return;
  }
  const { signal } = lifetime;
  const iterator = items[Symbol.asyncIterator]();
  let over = false;
  let ended = false;
  let leave: (() => void) | undefined;
  const onAbort = (): void => leave?.();
  signal.addEventListener('abort', onAbort);

  function next(): Promise<IteratorResult<StreamItem> | undefined> {
    return new Promise((resolve, reject) => {
      const timer = over ? setTimeout(resolve, GRACE_MS, undefined) : undefined;
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(error);
      };
      leave = () => fail(signal.reason);
      iterator.next().then((step) => {
        clearTimeout(timer);
        resolve(step);
      }, fail);
      if (signal.aborted) leave();
    });
  }

  try {
    for (;;) {
      const step = await next();
      ended = step?.done === true;
      if (step === undefined || step.done === true) return;
      over = leaves && isLastEvent(step.value.event);
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!ended) {
      lifetime.end(new ConnectionError('closed', 'the reader left the stream'));
      // Not awaited, because a generator that waits for an event would return only after this event.
      iterator.return?.().catch(() => undefined);
    }
  }
}

/**
 * Returns whether the event reports the failure of a task. Such an event is accepted even with another task id, because
 * servers of the JavaScript SDK 0.3 send it with a random task id. They do so if an agent throws an error in a stream
 * that starts a task.
 */
export function isFailedUpdate(event: StreamEvent): event is TaskStatusUpdateEvent {
  return event.kind === 'status-update' && event.status.state === 'failed';
}

/** Returns whether no event follows this event until the user acts. */
export function settles(event: StreamEvent): boolean {
  if (event.kind === 'message') return true;
  if (event.kind === 'artifact-update') return false;
  return (event.kind === 'status-update' && event.final) || isSettled(event.status.state);
}

/**
 * Returns whether this is the last event of a stream. A snapshot of a task that waits for an answer is not the last
 * event, because a stream that is opened with the answer may start with this snapshot.
 */
export function isLastEvent(event: StreamEvent): boolean {
  return event.kind === 'task' ? isTerminal(event.status.state) : settles(event);
}
