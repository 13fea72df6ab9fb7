/** The session as this client shows it. */
import type { LiveClient, LiveItem, OwnerNotice, QueuedPrompt } from '../../live/client/index.ts';
import type { SessionUsage, ToolCall } from '../../protocol/development-tool/index.ts';
import type { TaskState } from '../../protocol/index.ts';
import { isWaiting, type CallEntry } from './entry.ts';
import { EMPTY_LOG, type Log } from './log.ts';

export interface SessionState {
  /** The current task, and the position in its events. Absent until the first snapshot. */
  readonly place?: {
    readonly taskId: string;
    readonly contextId: string;
    readonly workspace: string;
    /** The sequence number of the last event that is in this state. */
    readonly seq: number;
  };
  readonly model: string;
  readonly approval: string;
  readonly turn: TaskState;
  readonly log: Log;
  /** The number of finished entries of the current task. Entries that only this client shows are not counted. */
  readonly logged: number;
  /** The number of earlier messages that this client has not loaded. They precede the log. */
  readonly omitted: number;
  readonly clients: readonly LiveClient[];
  readonly queued: readonly QueuedPrompt[];
  readonly usage: SessionUsage;
  /** The notice that a failed request to the model will be sent again. Undefined if no retry is pending. */
  readonly retry: Extract<OwnerNotice, { kind: 'retry' }> | undefined;
}

/** An item of the session, or an item that only this client shows: a notice, a retry, or a command of its user. */
export type SessionAction =
  | LiveItem
  | OwnerNotice
  | { readonly kind: 'own-command'; readonly call: ToolCall };

export const INITIAL: SessionState = {
  model: '',
  approval: '',
  turn: 'unknown',
  log: EMPTY_LOG,
  logged: 0,
  omitted: 0,
  clients: [],
  queued: [],
  usage: {},
  retry: undefined,
};

/** Returns the calls that wait for an answer, the oldest first. */
export function waitingCalls({ log }: SessionState): CallEntry[] {
  return log.open.filter(isWaiting);
}

export function isBusy({ turn }: SessionState): boolean {
  return turn === 'working';
}

/** Returns the part of the context window that is in use, such as `12%`, or an empty text if it is unknown. */
export function contextPart({ usage }: SessionState): string {
  const { contextTokens: used, contextLimit: limit = 0 } = usage;
  return used === undefined || limit === 0 ? '' : `${Math.round((used / limit) * 100)}%`;
}

/** Returns the cost of the session, such as `$0.012`, or an empty text if it is unknown. */
export function costText({ usage: { costUsd: cost } }: SessionState): string {
  return cost === undefined ? '' : `$${cost.toFixed(cost < 1 ? 3 : 2)}`;
}
