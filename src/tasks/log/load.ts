/**
 * Folds a stored log into a task. The log is read in small pieces, so that a long log does not block the event loop.
 */
import {
  A2AError,
  isTerminal,
  reduce,
  type LogEntry,
  type Message,
  type Task,
  type TaskEvent,
} from '../../protocol/index.ts';
import type { Readable } from './reader.ts';
import { nextPiece, roughSize } from './size.ts';

const PIECE = 256;
/** Rough maximum size of a task that can be loaded, in bytes. */
const MAX_TASK_BYTES = 256 * 1024 * 1024;
/**
 * Number of log bytes between two checks of the task's size. The size of the log itself is not limited, because a task
 * is smaller than its log if artifacts were replaced.
 */
const LOOK_EVERY = 32 * 1024 * 1024;

/** A task folded up to entry `seq`, and the user's messages in its current turn. */
export interface Loaded {
  readonly task: Task;
  readonly turn: readonly Message[];
  readonly seq: number;
}

/**
 * Folds the log up to its last stored entry. If `from` is given, continues from this earlier result for the same log,
 * and changes the task in it. When the promise resolves, `seq` is the last stored entry. So a reader that is opened at
 * `seq` immediately afterwards misses no entry. Returns undefined if the log is empty, or if another node removes the
 * task at the same time. Throws an A2AError if the task is too large.
 */
export async function loadTask(
  log: Pick<Readable, 'stored' | 'read'>,
  from?: Loaded,
): Promise<Loaded | undefined> {
  let loaded = from;
  let piece = 16;
  let unlooked = 0;
  for (let seq = from?.seq ?? 0; seq < log.stored;) {
    const found = log.read(seq, piece);
    const entries = found instanceof Promise ? await found : found;
    if (entries.length === 0) return undefined;
    loaded = foldOn(loaded, entries);
    seq = entries.at(-1)!.seq;
    for (const { json = '' } of entries) unlooked += json.length;
    if (unlooked > LOOK_EVERY) {
      unlooked = 0;
      if (roughSize(loaded?.task) > MAX_TASK_BYTES) throw tooLarge();
    }
    if (entries.length === piece) await new Promise((resolve) => setImmediate(resolve));
    piece = nextPiece(entries, PIECE);
  }
  return loaded;
}

/** Folds the log up to entry `seq`, like `loadTask`. */
export function loadUpTo(
  seq: number,
  read: Readable['read'],
  from?: Loaded,
): Promise<Loaded | undefined> {
  const upTo: typeof read = (after, limit) => read(after, Math.min(limit, seq - after));
  return loadTask({ stored: seq, read: upTo }, from);
}

/** Folds the next entries of the log into the loaded task. Changes this task. */
export function foldOn(
  loaded: Loaded | undefined,
  entries: readonly LogEntry[],
): Loaded | undefined {
  let task = loaded?.task;
  let turn = loaded?.turn ?? [];
  for (const { event } of entries) {
    turn = nextTurn(turn, task, event);
    task = reduce(task, event);
  }
  return task && { task, turn, seq: entries.at(-1)!.seq };
}

/** Returns the number of the entry before the user's message, or of the last entry if there is no such message. */
export async function seqBefore(
  log: Pick<Readable, 'stored' | 'read'>,
  messageId: string,
): Promise<number> {
  let piece = 16;
  for (let seq = 0; seq < log.stored;) {
    const entries = await log.read(seq, piece);
    for (const { seq: at, event } of entries) {
      const message = event.kind === 'status-update' ? event.status.message : undefined;
      if (message?.role === 'user' && message.messageId === messageId) return at - 1;
    }
    seq = entries.at(-1)?.seq ?? log.stored;
    if (entries.length === piece) await new Promise((resolve) => setImmediate(resolve));
    piece = nextPiece(entries, PIECE);
  }
  return log.stored;
}

function tooLarge(): A2AError {
  return new A2AError(
    'unsupportedOperation',
    'The task is too large for one response; read its log at /tasks/{id}/events',
  );
}

function nextTurn(
  turn: readonly Message[],
  task: Task | undefined,
  event: TaskEvent,
): readonly Message[] {
  if (event.kind === 'task') return (event.history ?? []).filter(({ role }) => role === 'user');
  if (event.kind !== 'status-update' || event.status.message?.role !== 'user') return turn;
  const opens = task !== undefined && isTerminal(task.status.state);
  return opens ? [event.status.message] : [...turn, event.status.message];
}
