/**
 * The usage that is not stored yet. Calls that end at about the same time are stored together, because the transaction
 * takes most of the time. Usage that cannot be stored is kept in memory and stored as soon as possible.
 */
import { backoffMs, type MaybePromise } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Settlement } from './store.ts';

/**
 * Maximum number of calls whose usage is kept in memory while the register cannot be written. The usage of further
 * calls is written to the log and then dropped.
 */
const MAX_KEPT = 10_000;
/** Time between the first two attempts to store, in milliseconds. It doubles with each failure, up to MAX_RETRY_MS. */
export const FIRST_RETRY_MS = 100;
export const MAX_RETRY_MS = 5000;
/**
 * How long the usage of calls without a budget may wait for the usage of other calls. The usage is lost if the process
 * is killed during this time. The usage of a call with a budget does not wait, because its reservation takes room from
 * other calls.
 */
const TOGETHER_MS = 50;
/**
 * When the usage of this number of calls waits, it is stored at once. A larger transaction would block the event loop
 * for longer.
 */
const MAX_TOGETHER = 256;

export interface UnstoredUsageOptions {
  /** Stores usage. After a failure, it is called again with the same settlements. */
  readonly settle: (settlements: readonly Settlement[]) => MaybePromise<void>;
  readonly firstRetryMs: number;
  readonly logger: Logger;
  readonly now: () => number;
}

export class UnstoredUsage {
  readonly #options: UnstoredUsageOptions;
  #kept: Settlement[] = [];
  /** If the last attempt failed: its time, the number of failures in a row, and the pause before the next attempt. */
  #failed: { readonly at: number; readonly count: number; readonly waitMs: number } | undefined;
  #storing: Promise<void> | undefined;
  #willStore = false;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: UnstoredUsageOptions) {
    this.#options = options;
  }

  /** Whether the last attempt to store has failed. */
  get failing(): boolean {
    return this.#failed !== undefined;
  }

  /** Stores the usage soon. Never throws. */
  add(settlement: Settlement): void {
    if (this.#kept.length < MAX_KEPT) this.#kept.push(settlement);
    else {
      this.#options.logger.error(
        { ...settlement.booking },
        'dropped a usage record: too many records wait to be stored',
      );
    }
    if (this.#willStore || !this.#isDue()) return;
    if (settlement.id === undefined && this.#kept.length < MAX_TOGETHER) {
      this.#timer ??= setTimeout(this.#flushSoon, TOGETHER_MS);
      return;
    }
    this.#willStore = true;
    setImmediate(this.#flushSoon);
  }

  readonly #flushSoon = (): void => {
    this.#willStore = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.flush();
  };

  /**
   * Stores the kept usage. Usage that an attempt in progress is storing is not kept usage. Does nothing if no usage is
   * kept. If usage is kept and an attempt is in progress, only waits for this attempt. Throws if the attempt fails, or
   * if an attempt has just failed.
   */
  async storeFirst(): Promise<void> {
    if (this.#kept.length === 0) return;
    if (!this.#isDue()) throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
    await this.#store();
  }

  /** Stores the kept usage, unless an attempt has just failed. Never rejects. */
  async storeIfDue(): Promise<void> {
    if (this.#isDue()) await this.flush();
  }

  /** Stores the kept usage, if that is possible. Never rejects. */
  async flush(): Promise<void> {
    // An attempt in progress does not store usage that was added after its start, so another attempt follows.
    while (this.#kept.length > 0 || this.#storing) {
      try {
        await this.#store();
      } catch {
        return;
      }
    }
  }

  /** Like `flush`, for the last time. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
  }

  #isDue(): boolean {
    if (!this.#failed) return true;
    const { at, waitMs } = this.#failed;
    return Math.abs(this.#options.now() - at) >= waitMs;
  }

  #store(): Promise<void> {
    this.#storing ??= this.#storeBatch().finally(() => (this.#storing = undefined));
    return this.#storing;
  }

  async #storeBatch(): Promise<void> {
    const { settle, logger, firstRetryMs, now } = this.#options;
    const batch = this.#kept;
    this.#kept = [];
    try {
      await settle(batch);
      this.#failed = undefined;
    } catch (error) {
      this.#kept = [...batch, ...this.#kept];
      // The error is logged once per outage, not for every call.
      if (!this.#failed) {
        logger.error({ err: error }, 'failed to store usage; it is kept in memory and retried');
      }
      const count = (this.#failed?.count ?? 0) + 1;
      const waitMs = backoffMs(count, firstRetryMs, MAX_RETRY_MS, () => 1);
      this.#failed = { at: now(), count, waitMs };
      clearTimeout(this.#retry);
      // The timer is needed because the next call may not come for a long time.
      if (!this.#closed) this.#retry = setTimeout(() => void this.flush(), waitMs).unref();
      throw error;
    }
  }
}
