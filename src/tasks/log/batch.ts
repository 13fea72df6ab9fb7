/** Decides which appends are written together, and when a writer must wait for the store. */
import type { TaskEvent } from '../../protocol/index.ts';
import type { LiveTask, Unsent } from './live-task.ts';

/** Maximum number of unstored entries of a task. If there are more, the writer waits for the store. */
const MAX_UNSTORED = 512;
/**
 * Maximum size of a task's entries that wait to be sent to the store, in bytes. If they are larger, the writer waits
 * for the store, too.
 */
const MAX_UNSTORED_BYTES = 256 * 1024;

/**
 * Rough maximum size of a batch, in bytes. A larger append is a batch of its own. The size is limited because sending a
 * batch blocks the event loop, and because a failed batch ends the executions of all its tasks.
 */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;

/** Shortens `batch` to MAX_BATCH_BYTES, but keeps at least one append. Returns the removed appends. */
export function cutBatch(batch: Unsent[]): Unsent[] {
  let bytes = 0;
  for (let at = 0; at < batch.length; at++) {
    bytes += batch[at]!.bytes;
    if (at > 0 && bytes > MAX_BATCH_BYTES) return batch.splice(at);
  }
  return [];
}

/** Returns a status update without its message and its metadata. The state stays. */
export function withoutMessage(event: TaskEvent): TaskEvent {
  if (event.kind !== 'status-update') return event;
  const { metadata: _, status, ...rest } = event;
  const { message: _message, ...state } = status;
  return { ...rest, status: state };
}

/** Returns the number of the entry that must be stored before the task's next append, if there is one. */
export function entryToWaitFor({ seq, stored, unsent }: LiveTask): number | undefined {
  if (unsent && unsent.bytes > MAX_UNSTORED_BYTES) return seq;
  return seq - stored > MAX_UNSTORED ? seq - MAX_UNSTORED / 2 : undefined;
}
