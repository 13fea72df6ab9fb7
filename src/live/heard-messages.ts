/**
 * Records the position of each message of a client in the log of its task, and the position at which the turn of the
 * message ends.
 */
import { BoundedMap, isObject } from '../base/index.ts';
import { isTerminal, SOURCE_KEY, type StreamEvent, type Task } from '../protocol/index.ts';
import type { LiveClient } from './client/session.ts';

/** Maximum number of messages that are kept. */
const MAX_MESSAGES = 10_000;

/** The task of a message, and the position of the message in the log. */
export interface Heard {
  readonly taskId: string;
  readonly contextId: string;
  /** The position in the log. Undefined for a message to an earlier task that this process has not read. */
  readonly at?:
    | {
        /** The sequence number of the message. */
        readonly seq: number;
        /**
         * The turn of the message. `last` is the sequence number of the turn's last event, or undefined while the turn
         * runs.
         */
        readonly turn: { last?: number };
      }
    | undefined;
}

export class HeardMessages {
  readonly #messages = new BoundedMap<Heard>(MAX_MESSAGES);
  #turn: { last?: number; by?: unknown } = {};

  /**
   * Returns whether a client of this kind and name sent the first message of the current turn. Clients with the same
   * kind and name cannot be distinguished, for example clients over HTTP that have neither a token nor a name.
   */
  isTurnOf({ kind, name }: Pick<LiveClient, 'kind' | 'name'>): boolean {
    const { by } = this.#turn;
    return isObject(by) && by['kind'] === kind && by['name'] === name;
  }

  get(messageId: string): Heard | undefined {
    return this.#messages.get(messageId);
  }

  /** Takes the next event of the log. */
  take(event: StreamEvent, seq: number): void {
    if (event.kind !== 'task' && event.kind !== 'status-update') return;
    const taskId = event.kind === 'task' ? event.id : event.taskId;
    const message = event.kind === 'task' ? event.history?.[0] : event.status.message;
    if (message?.role === 'user') {
      const { contextId } = event;
      this.#turn.by ??= message.metadata?.[SOURCE_KEY];
      this.#messages.set(message.messageId, { taskId, contextId, at: { seq, turn: this.#turn } });
    }
    if (!isTerminal(event.status.state)) return;
    this.#turn.last = seq;
    this.#turn = {};
  }

  /** Records a message that was sent to an earlier task. Its position in the log is unknown. */
  add(messageId: string, { id: taskId, contextId }: Task): void {
    this.#messages.set(messageId, { taskId, contextId });
  }
}
