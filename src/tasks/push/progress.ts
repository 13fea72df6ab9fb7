/**
 * Writes the progress of webhooks to the store. With a durable store, all changes within a short time are written in
 * one transaction, so that deliveries do not slow down the tasks. After a crash, the last events may be delivered
 * again.
 */
import type { Logger } from '../log/logger.ts';
import type { PushChange, TaskStore } from '../store/store.ts';

const WRITE_EVERY_MS = 50;
/** The delay after a failed write. */
const RETRY_MS = 1000;

export class ProgressWriter {
  readonly #store: TaskStore;
  readonly #logger: Logger;
  /**
   * The changes of each webhook that are not stored yet: all changes with a dead letter, and the last change. A later
   * change replaces an earlier one that has no dead letter.
   */
  #changes = new Map<string, readonly PushChange[]>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  constructor(store: TaskStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Stores the progress of a webhook soon. A change with a dead letter is stored immediately. */
  add(key: string, change: PushChange): void {
    const earlier = this.#changes.get(key)?.filter(({ deadLetter }) => deadLetter) ?? [];
    this.#changes.set(key, [...earlier, change]);
    if (!this.#store.durable || change.deadLetter) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), WRITE_EVERY_MS);
  }

  /** Discards the changes of a webhook that are not stored yet, and waits for a write in progress. */
  async forget(key: string): Promise<void> {
    this.#changes.delete(key);
    await this.#writing;
    this.#changes.delete(key);
  }

  /** Stores all changes. Never throws. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#writing) await this.#writing;
    if (this.#changes.size === 0) return;
    const batch = this.#changes;
    this.#changes = new Map();
    // The callback of `finally` always runs after this assignment, even if the store throws synchronously. If it ran
    // earlier, `#writing` would never be reset.
    this.#writing = this.#write(batch).finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  async #write(batch: ReadonlyMap<string, readonly PushChange[]>): Promise<void> {
    try {
      await this.#store.savePushProgress([...batch.values()].flat());
    } catch (error) {
      this.#logger.error({ err: error }, 'failed to store the progress of webhooks');
      for (const [key, changes] of batch) {
        const later = this.#changes.get(key) ?? [];
        const lost = later.length > 0 ? changes.filter(({ deadLetter }) => deadLetter) : changes;
        this.#changes.set(key, [...lost, ...later]);
      }
      this.#timer ??= setTimeout(() => void this.flush(), RETRY_MS).unref();
    }
  }
}
