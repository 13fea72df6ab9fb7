/**
 * Decides when the appends to a durable store are written. The time for a transaction depends only little on the number
 * of its entries. So the entries of a burst share one transaction.
 *
 * Appends are normally written at the end of the event loop's turn. If the last transaction has just ended, new chunks
 * of artifacts wait until a short window is over. All other entries are urgent, and so is a chunk after which its
 * writer must wait for the store. Urgent entries wait for the window only on a busy server, where many tasks append at
 * the same time. So a client that waits for its task is normally not delayed. Entries that are appended during a
 * transaction are written right after it.
 */
import { flushLastInTurn } from '../../base/index.ts';

/** The length of the window that begins at the end of a transaction, in milliseconds. */
export const COMMIT_WINDOW_MS = 2;
/** If the last transaction had at least this number of appends, urgent entries wait too. */
const MANY_TASKS = 5;

export class CommitTimer {
  readonly #write: () => void;
  readonly #now: () => number;
  #next: 'soon' | 'later' | undefined;
  #endedAt = -Infinity;
  /** The number of appends in the last transaction. Most of them belong to different tasks. */
  #tasks = 0;

  /** `now` is the clock in milliseconds. */
  constructor(write: () => void, now: () => number = () => performance.now()) {
    this.#write = write;
    this.#now = now;
  }

  /** Schedules one call of `write`. */
  schedule(isUrgent: boolean): void {
    if (this.#next === 'soon' || (this.#next === 'later' && !isUrgent)) return;
    const left = this.#endedAt + COMMIT_WINDOW_MS - this.#now();
    if (left <= 0 || (isUrgent && this.#tasks < MANY_TASKS)) {
      this.#next = 'soon';
      flushLastInTurn(this.#soon);
    } else if (this.#next === undefined) {
      this.#next = 'later';
      setTimeout(this.#run, left);
    }
  }

  /** Must be called at the end of each transaction, with the number of its appends. */
  ended(tasks: number): void {
    this.#tasks = tasks;
    this.#endedAt = this.#now();
  }

  readonly #run = (): void => {
    if (this.#next === undefined) return;
    this.#next = undefined;
    this.#write();
  };

  readonly #soon = { flush: this.#run };
}
