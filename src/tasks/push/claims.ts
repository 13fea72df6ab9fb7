/**
 * Decides which of several nodes delivers the events of a webhook. A node claims a webhook before it opens the webhook.
 * It releases the webhook only after the progress is stored, because the store ignores the progress of a node that has
 * not claimed the webhook.
 */
import type { PushKey, PushRecord, StoreCluster, TaskStore } from '../store/store.ts';
import type { ProgressWriter } from './progress.ts';

/**
 * The delay before closed webhooks are released. The webhooks that close within this time are released together, after
 * one write of their progress.
 */
const RELEASE_MS = 100;

export class PushClaims {
  readonly #cluster: StoreCluster;
  readonly #store: TaskStore;
  readonly #writer: ProgressWriter;
  /** Returns whether the webhook with this name is open. */
  readonly #isOpen: (name: string) => boolean;
  /** The webhooks to release, by name. */
  readonly #closed = new Map<string, PushKey>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    cluster: StoreCluster,
    store: TaskStore,
    writer: ProgressWriter,
    isOpen: (name: string) => boolean,
  ) {
    this.#cluster = cluster;
    this.#store = store;
    this.#writer = writer;
    this.#isOpen = isOpen;
  }

  /**
   * Claims a webhook. Returns its record with the progress of the node that delivered its events before. Returns
   * undefined if another node delivers the events, if the webhook no longer exists, or if the store is unavailable.
   * Never throws.
   */
  async claim(name: string, record: PushRecord): Promise<PushRecord | undefined> {
    try {
      const key = keyOf(record);
      if (!(await this.#cluster.claimPush(key))) return undefined;
      this.#closed.delete(name);
      const records = await this.#store.listPush(record.taskId);
      return records.find(({ config }) => config.id === key.configId);
    } catch {
      // The next scan tries again.
      return undefined;
    }
  }

  /** Releases a closed webhook after RELEASE_MS, so that other nodes can deliver its events. */
  release(name: string, record: PushRecord): void {
    this.#closed.set(name, keyOf(record));
    this.#timer ??= setTimeout(() => void this.flush(), RELEASE_MS).unref();
  }

  /** Releases the closed webhooks. Never throws. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const released = [...this.#closed];
    this.#closed.clear();
    if (released.length === 0) return;
    await this.#writer.flush();
    for (const [name, key] of released) if (!this.#isOpen(name)) this.#cluster.releasePush(key);
  }
}

function keyOf({ taskId, config }: PushRecord): PushKey {
  return { taskId, configId: config.id };
}
