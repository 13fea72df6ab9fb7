/**
 * The session as this client shows it. reduce.ts makes it from what happens; this file has no more than the screen needs
 * before anything has happened, so that the first frame does not wait for the schemas.
 */
import type { LiveClient, LiveItem, QueuedPrompt } from '../../live/client/index.ts';
import type { TaskState } from '../../protocol/index.ts';
import { isWaiting, type CallEntry } from './entry.ts';
import { EMPTY_LOG, type Log } from './log.ts';

/** What the session has used, as far as events tell. */
export interface Usage {
  readonly contextTokens?: number;
  readonly contextLimit?: number;
  readonly costUsd?: number;
}

export interface State {
  /** Absent until the first snapshot. */
  readonly place?: {
    readonly taskId: string;
    readonly contextId: string;
    readonly workspace: string;
    /** The last event that is in this state. */
    readonly seq: number;
  };
  readonly model: string;
  readonly approval: string;
  readonly turn: TaskState;
  readonly log: Log;
  /** How many finished entries come from the present task. */
  readonly logged: number;
  readonly clients: readonly LiveClient[];
  readonly queued: readonly QueuedPrompt[];
  readonly usage: Usage;
  /** The approval mode that a command of this turn sets, if it succeeds. */
  readonly wanted?: string;
}

export type Action =
  | LiveItem
  /** Something that only this client has to tell. */
  | { readonly kind: 'notice'; readonly level: 'info' | 'error'; readonly text: string };

export const INITIAL: State = {
  model: '',
  approval: '',
  turn: 'unknown',
  log: EMPTY_LOG,
  logged: 0,
  clients: [],
  queued: [],
  usage: {},
};

/** The calls that wait for an answer, the oldest first. */
export function waitingCalls({ log }: State): CallEntry[] {
  return log.open.filter(isWaiting);
}

export function isBusy({ turn }: State): boolean {
  return turn === 'working';
}
