/** Rules that every store follows: valid appends, the status after an entry, the order of lists, and cursors. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  A2AError,
  refusal,
  type Task,
  type TaskEvent,
  type TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import type { Append, Scope } from './store.ts';

/**
 * The states of a task that is being executed. If a task is in one of these states after a restart, its execution was
 * interrupted, unless the task waits for its first message.
 */
export const UNFINISHED = ['submitted', 'working'] as const satisfies readonly TaskState[];

/**
 * Returns whether the state is in UNFINISHED. A task in such a state is being executed, was interrupted, or waits for
 * its first message.
 */
export function isUnfinished(state: TaskState | undefined): boolean {
  return UNFINISHED.some((unfinished) => unfinished === state);
}

/**
 * The value of `expiresAt` for a task that no server removes because of its age or of the size of the store. The
 * session of the task decides how long the task is kept. No date has this value.
 */
export const KEPT = Number.MAX_SAFE_INTEGER;

/** Maximum number of dead letters of a webhook. If there are more, a store drops the oldest. */
export const MAX_DEAD_LETTERS = 1000;

/**
 * Throws if the append is invalid. An invalid append is a bug in the caller, and not a conflict with another writer.
 */
export function checkAppend({ taskId, expected, entries }: Append): void {
  const first = entries[0];
  if (first === undefined) throw new Error(`an append to task ${taskId} has no entries`);
  if (expected === 0 && (first.event.kind !== 'task' || first.event.id !== taskId)) {
    throw new Error(`the first entry of task ${taskId} is not the task itself`);
  }
  let seq = expected;
  for (const entry of entries) {
    seq++;
    if (entry.seq !== seq) {
      throw new Error(`entry ${entry.seq} of task ${taskId} should be number ${seq}`);
    }
  }
}

/** Returns whether the event changes the status of a task in `state`. The result must agree with `reduce`. */
export function setsStatus(
  taskId: string,
  state: TaskState | undefined,
  event: TaskEvent,
): event is Task | TaskStatusUpdateEvent {
  if (event.kind === 'artifact-update') return false;
  if (event.kind === 'status-update' && event.taskId !== taskId) return false;
  return refusal(state, event) === undefined;
}

/**
 * Returns the status after the event, as `reduce` computes it. A user message is not included, because `reduce` moves
 * it to the history.
 */
export function foldedStatus(event: Task | TaskStatusUpdateEvent): TaskStatus {
  if (event.kind === 'task' || event.status.message?.role !== 'user') return event.status;
  const { message: _, ...status } = event.status;
  return status;
}

/** Maximum number of changes per millisecond. No store is that fast. */
const PER_MILLISECOND = 1024;

/**
 * Numbers the status changes, so that lists have a total order. A number consists of the time in milliseconds and a
 * counter. Numbers only increase, even if the system clock is set back.
 */
export class ChangeClock {
  #last: number;
  readonly #now: () => number;

  constructor(now: () => number = Date.now, last = 0) {
    this.#now = now;
    this.#last = last;
  }

  next(): number {
    this.#last = Math.max(Math.floor(this.#now()) * PER_MILLISECOND, this.#last + 1);
    return this.#last;
  }

  /** Returns the current time in milliseconds. */
  now(): number {
    return Math.floor(this.#now());
  }

  /** Returns the time of a change in milliseconds. */
  static time(change: number): number {
    return Math.floor(change / PER_MILLISECOND);
  }

  /** Returns the lowest number that a change at this time can have. */
  static first(time: number): number {
    return Math.ceil(time) * PER_MILLISECOND;
  }
}

/** Returns a map key that is unique for each scope. */
export function scopeKey({ tenant, owner }: Scope): string {
  return `${tenant.length}:${tenant}${owner}`;
}

const SIGNATURE_BYTES = 9;

/** Encodes list positions as opaque cursors. Each cursor is signed for one scope. */
export class Cursors {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  write(scope: Scope, position: string): string {
    const text = Buffer.from(position);
    return Buffer.concat([this.#sign(scope, text), text]).toString('base64url');
  }

  /** Decodes a cursor. Throws A2AError `invalidParams` for a cursor that `write` did not make for this scope. */
  read(scope: Scope, cursor: string): string {
    const bytes = Buffer.from(cursor, 'base64url');
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    const text = bytes.subarray(SIGNATURE_BYTES);
    const own =
      signature.length === SIGNATURE_BYTES &&
      timingSafeEqual(signature, this.#sign(scope, text)) &&
      bytes.toString('base64url') === cursor;
    if (!own) throw new A2AError('invalidParams', 'The page token is invalid');
    return text.toString();
  }

  #sign(scope: Scope, text: Uint8Array): Uint8Array {
    const hmac = createHmac('sha256', this.#key)
      .update(`${scopeKey(scope)}\0`)
      .update(text);
    return hmac.digest().subarray(0, SIGNATURE_BYTES);
  }
}
