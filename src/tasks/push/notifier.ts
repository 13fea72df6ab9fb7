/**
 * The webhooks of all tasks. Each push notification configuration is a reader of its task's log, with a stored cursor.
 *
 * Every event for a webhook is delivered at least once and in order, unless it becomes a dead letter or the webhook is
 * removed. If the store is durable, this is also true after a restart. The store is queried for due webhooks when the
 * server starts, at the time of each webhook's next attempt, and at regular intervals. If a task is removed, its
 * webhooks are removed with it, and get no more events. `Deliver` makes the requests and decides which addresses are
 * allowed.
 */
import { MAX_TIMER_MS, type MaybePromise, Turns, waitAtMost } from '../../base/index.ts';
import {
  A2AError,
  isSettled,
  type ProtocolVersion,
  type PushNotificationConfig,
} from '../../protocol/index.ts';
import type { EventLog } from '../log/event-log.ts';
import type { LiveTask } from '../log/live-task.ts';
import type { Logger } from '../log/logger.ts';
import type { LogView, LogViews } from '../log/view.ts';
import { sameJson } from '../store/same-json.ts';
import { MAX_DEAD_LETTERS } from '../store/store-rules.ts';
import type {
  DeadLetter,
  DeadLetterQuery,
  DuePush,
  PushKey,
  PushProgress,
  PushRecord,
  Scope,
} from '../store/store.ts';
import type { Deliver } from './deliver.ts';
import { PushClaims } from './claims.ts';
import { DeliveryGate } from './gate.ts';
import { ProgressWriter } from './progress.ts';
import { dueTime, MAX_WAIT_MS, PARK_MS, Webhook, type WebhookLimits } from './webhook.ts';

/** The parts of a webhook that come from the request that set it. */
export type PushOrigin = Pick<PushRecord, 'version' | 'view'>;

/** The limits of webhooks. */
export interface PushLimits extends WebhookLimits {
  readonly maxPushConfigsPerTask: number;
}

export interface NotifierOptions {
  readonly deliver: Deliver;
  readonly logger: Logger;
  readonly limits: PushLimits;
  readonly views: LogViews | undefined;
  readonly now: () => number;
}

/**
 * Maximum number of open webhooks that scans have found. The webhooks of a task that is executed here are opened
 * without a scan.
 */
const MAX_BACKLOG = 1000;
const PAGE = 100;
/** Minimum time between two scans. A scan queries the store for due webhooks. */
const SCAN_MS = 1000;
/** How often all due webhooks are checked. This finds webhooks that were closed because the store was unavailable. */
const FULL_SCAN_MS = 300_000;
/**
 * How often all due webhooks are checked if several nodes share the store. This also finds the webhooks of nodes that
 * are gone.
 */
const CLUSTER_SCAN_MS = 2000;
/**
 * The position after the webhooks of running tasks. These webhooks have the due time 0 and are open, so most scans skip
 * them.
 */
const AFTER_RUNNING = { dueAt: 0, position: Number.MAX_SAFE_INTEGER };

export class PushNotifier {
  readonly #log: EventLog;
  readonly #options: NotifierOptions;
  readonly #gate: DeliveryGate;
  readonly #writer: ProgressWriter;
  /**
   * The open webhooks, by task and configuration. This process delivers their events, or waits for their next events.
   */
  readonly #active = new Map<string, Webhook>();
  /** The open webhooks that a scan has found. */
  readonly #backlog = new Set<string>();
  /** The webhooks that are being saved or removed. They must not be opened in the meantime. */
  readonly #changing = new Set<string>();
  /** Runs the saves of a task one after the other, because the same message may arrive twice at the same time. */
  readonly #saving = new Turns();
  /** Decides which of several nodes delivers the events of a webhook. Undefined if the store has no cluster. */
  #claims: PushClaims | undefined;
  #fullScanMs = FULL_SCAN_MS;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  /** Whether the next scan checks all due webhooks. */
  #full = false;
  #fullAt = Infinity;
  #scanning = false;
  #closed = false;

  constructor(log: EventLog, options: NotifierOptions) {
    this.#log = log;
    this.#options = options;
    this.#gate = new DeliveryGate(options.now);
    this.#writer = new ProgressWriter(log.store, options.logger);
  }

  /** Throws if the configuration is invalid, or if the store would refuse it. */
  check(config: PushNotificationConfig, version: ProtocolVersion): void {
    const accepted = this.#options.deliver.accept(config, version);
    this.#checkRoom([], accepted.id);
    this.#log.store.checkPush?.(accepted);
  }

  /** Throws if the configuration is invalid, or if the task would have too many webhooks with it. */
  async checkRoom(
    taskId: string,
    config: PushNotificationConfig,
    origin: PushOrigin,
  ): Promise<void> {
    const known = await this.#list(taskId);
    const { id } = this.#options.deliver.accept(config, origin.version);
    if (!sameWebhook(known, config, origin)) this.#checkRoom(known, id);
  }

  #checkRoom(known: readonly PushRecord[], id: string): void {
    const { maxPushConfigsPerTask: most } = this.#options.limits;
    if (known.length < most || known.some(({ config }) => config.id === id)) return;
    throw new A2AError('invalidParams', `A task has at most ${most} push configurations`);
  }

  /**
   * Saves a configuration. Its webhook gets the events after entry `after`. If it replaces a configuration with the
   * same id, its webhook also gets the events that the earlier webhook did not take. So no event is lost when a
   * receiver moves to another URL. If the task already has the same configuration, ignores `after`: the webhook
   * continues after its own cursor, and waits no longer for its next attempt.
   */
  save(
    taskId: string,
    config: PushNotificationConfig,
    origin: PushOrigin,
    after: number,
  ): Promise<PushRecord> {
    return this.#saving.run(taskId, async () => {
      const known = sameWebhook(await this.#list(taskId), config, origin);
      if (!known) return this.#save(taskId, config, origin, after);
      const { cursor, dueAt } = known.progress;
      const progress = dueAt === undefined ? known.progress : { cursor, attempts: 0, dueAt: 0 };
      return this.#replace({ ...known, progress });
    });
  }

  /**
   * Saves a configuration that came with a message, unless the task already has the same configuration. Returns whether
   * it was new. `after` returns the last entry that the webhook does not get.
   */
  saveOnce(
    taskId: string,
    config: PushNotificationConfig,
    origin: PushOrigin,
    after: () => MaybePromise<number>,
  ): Promise<boolean> {
    return this.#saving.run(taskId, async () => {
      if (sameWebhook(await this.#list(taskId), config, origin)) return false;
      await this.#save(taskId, config, origin, await after());
      return true;
    });
  }

  async #save(
    taskId: string,
    config: PushNotificationConfig,
    { version, view }: PushOrigin,
    after: number,
  ): Promise<PushRecord> {
    const accepted = this.#options.deliver.accept(config, version);
    const known = await this.#list(taskId);
    const earlier = known.find(({ config: { id } }) => id === accepted.id);
    this.#checkRoom(known, accepted.id);
    return this.#replace({
      taskId,
      config: accepted,
      version,
      ...(view !== undefined && { view }),
      progress: {
        cursor: Math.min(after, earlier?.progress.cursor ?? after),
        attempts: 0,
        dueAt: 0,
      },
    });
  }

  /** Stores the record. The open webhook is closed, because it has the earlier configuration and cursor. */
  async #replace(record: PushRecord): Promise<PushRecord> {
    await this.#whileClosed(key(record), () => this.#log.store.savePush(record));
    return record;
  }

  /** Runs `change` while the webhook is closed and all its progress is stored or discarded. */
  async #whileClosed(name: string, change: () => MaybePromise<void>): Promise<void> {
    this.#changing.add(name);
    try {
      this.#active.get(name)?.close();
      await this.#writer.forget(name);
      await change();
    } finally {
      this.#changing.delete(name);
    }
  }

  /** Returns the webhooks of a task, with their latest progress. */
  async #list(taskId: string): Promise<readonly PushRecord[]> {
    await this.#writer.flush();
    return this.#log.store.listPush(taskId);
  }

  /** Removes a webhook. With `only`, removes it only if it still has this configuration. */
  async remove(taskId: string, configId: string, only?: PushNotificationConfig): Promise<void> {
    await this.#whileClosed(`${taskId}/${configId}`, () =>
      this.#log.store.deletePush(taskId, configId, only),
    );
  }

  /**
   * Removes a webhook whose receiver has refused further events. If a client has replaced the configuration in the
   * meantime, here or at another node, opens the webhook with the new configuration instead. Disposes of `live`. Never
   * throws.
   */
  async #removeGone({ taskId, config }: PushRecord, live: LiveTask): Promise<void> {
    using held = live;
    try {
      await this.remove(taskId, config.id, config);
      await this.attach(held);
    } catch (error) {
      const { logger } = this.#options;
      logger.error({ err: error, taskId, configId: config.id }, 'failed to remove a webhook');
    }
  }

  /** Returns the latest dead letters of the scope, of a task, or of a webhook. */
  async deadLetters(
    scope: Scope,
    { taskId, configId }: Pick<DeadLetterQuery, 'taskId' | 'configId'>,
  ): Promise<readonly DeadLetter[]> {
    await this.#writer.flush();
    const { tenant, owner } = scope;
    const limit = MAX_DEAD_LETTERS;
    return this.#log.store.deadLetters({ tenant, owner, taskId, configId, limit });
  }

  /**
   * Sends the events of a webhook again, starting with its first dead letter, so that the receiver gets the newest
   * event last. Removes the dead letters, and returns their number.
   */
  retry(live: LiveTask, configId: string): Promise<number> {
    const { taskId } = live;
    return this.#saving.run(taskId, async () => {
      const record = (await this.#list(taskId)).find(({ config: { id } }) => id === configId);
      if (!record) throw new A2AError('taskNotFound', 'Push configuration not found');
      const letters = await this.deadLetters(live, { taskId, configId });
      if (letters.length === 0) return 0;
      const cursor = Math.min(record.progress.cursor, ...letters.map(({ seq }) => seq - 1));
      await this.#replace({ ...record, progress: { cursor, attempts: 0, dueAt: 0 } });
      await this.attach(live);
      return letters.length;
    });
  }

  /**
   * Opens the webhooks of the task that are due soon and are not open. `found` has the names of those that a scan has
   * found. Never throws.
   */
  async attach(live: LiveTask, found?: ReadonlySet<string>): Promise<void> {
    let records: readonly PushRecord[] = [];
    try {
      records = await this.#list(live.taskId);
    } catch (error) {
      this.#options.logger.error({ err: error, taskId: live.taskId }, 'failed to list webhooks');
    }
    for (const record of records) {
      if (live.lost || this.#closed) return;
      const name = key(record);
      // The webhook may still be busy with an earlier turn.
      if (this.#active.has(name) || this.#changing.has(name)) continue;
      const now = this.#options.now();
      const dueAt = dueTime(record.progress, now);
      if (dueAt > now + PARK_MS) this.#wake(dueAt);
      else if (!this.#claims) this.#open(name, record, live, found?.has(name) === true);
      else await this.#openClaimed(name, record, live, found?.has(name) === true);
    }
  }

  /** Opens a webhook if no other node delivers its events. Never throws. */
  async #openClaimed(
    name: string,
    record: PushRecord,
    live: LiveTask,
    isBacklog: boolean,
  ): Promise<void> {
    const claimed = await this.#claims?.claim(name, record);
    if (!claimed || live.lost || this.#closed) return;
    if (this.#active.has(name) || this.#changing.has(name)) return;
    this.#open(name, claimed, live, isBacklog);
    if (!this.#active.has(name)) this.#claims?.release(name, record);
  }

  /** Closes webhooks that another node has saved or removed, and webhooks whose events another node delivers now. */
  changedElsewhere(keys: readonly PushKey[]): void {
    for (const { taskId, configId } of keys) {
      const name = `${taskId}/${configId}`;
      this.#active.get(name)?.close();
      void this.#writer.forget(name);
    }
  }

  /** Closes all webhooks, because the lease of this node has ended. Other nodes open them again. */
  closeAll(): void {
    for (const webhook of this.#active.values()) webhook.close();
  }

  #open(name: string, record: PushRecord, live: LiveTask, isBacklog: boolean): void {
    const { taskId, config } = record;
    const configId = config.id;
    const { deliver, logger, limits, now } = this.#options;
    const report = (progress: PushProgress, deadLetter?: DeadLetter) =>
      this.#writer.add(name, { taskId, configId, progress, deadLetter });
    const isDone = !live.running && !live.runsElsewhere && record.progress.cursor >= live.seq;
    if (isDone) {
      if (live.state && isSettled(live.state)) report({ ...record.progress, dueAt: undefined });
      return;
    }
    const webhook = new Webhook(record, live, {
      log: this.#log,
      deliver,
      gate: this.#gate,
      logger,
      limits,
      view: this.#viewOf(record),
      now,
      onProgress: report,
      onGone: () => void this.#removeGone(record, live.hold()),
      onEnd: (wakeAt) => {
        if (this.#active.get(name) === webhook) this.#active.delete(name);
        this.#claims?.release(name, record);
        if (wakeAt !== undefined) this.#wake(wakeAt);
        if (!this.#backlog.delete(name) || !this.#full) return;
        if (this.#backlog.size < MAX_BACKLOG / 2) this.#wake(now());
      },
    });
    this.#active.set(name, webhook);
    if (isBacklog) this.#backlog.add(name);
    webhook.start();
  }

  /**
   * Returns the view of a webhook. If the stored view is unknown, for example because an earlier version of the agent
   * declared it, the webhook gets the view of an empty request.
   */
  #viewOf({ view }: PushRecord): LogView | undefined {
    const { views } = this.#options;
    const named = views?.all.find(({ name }) => name === view);
    return named ?? views?.choose({ extensions: [] });
  }

  /** Starts to deliver the events that an earlier process or another node has not delivered. */
  start(): void {
    const { cluster } = this.#log;
    if (cluster) {
      this.#claims = new PushClaims(cluster, this.#log.store, this.#writer, (name) =>
        this.#active.has(name),
      );
      this.#fullScanMs = CLUSTER_SCAN_MS;
    }
    this.#full = true;
    void this.#scan();
  }

  /** Schedules a scan for due webhooks at this time, unless an earlier scan is scheduled. */
  #wake(at: number): void {
    if (this.#closed || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const wait = Math.min(Math.max(at - this.#options.now(), SCAN_MS), MAX_TIMER_MS);
    this.#timer = setTimeout(() => void this.#scan(), wait).unref();
  }

  /** Opens the webhooks that are due. Never throws. */
  async #scan(): Promise<void> {
    const { logger, now } = this.#options;
    this.#timerAt = Infinity;
    if (this.#closed) return;
    if (this.#scanning) return this.#wake(now());
    this.#scanning = true;
    const untilFull = this.#fullAt - now();
    // If the clock was set back, the time of the next full scan may be far away.
    const isLost = untilFull > this.#fullScanMs && Number.isFinite(untilFull);
    this.#full ||= untilFull <= 0 || isLost;
    try {
      await this.#writer.flush();
      let isComplete = await this.#openDue(this.#full ? undefined : AFTER_RUNNING);
      if (isComplete && this.#full) {
        // If the clock was set back, due webhooks may come after webhooks that are not due.
        const dueAt = now() + MAX_WAIT_MS;
        isComplete = await this.#openDue({ dueAt, position: Number.MAX_SAFE_INTEGER });
        if (isComplete) this.#fullAt = now() + this.#fullScanMs;
      }
      // If too many webhooks are due, the remaining ones are opened when half of the open webhooks have ended.
      this.#full = !isComplete;
    } catch (error) {
      if (!this.#closed) logger.error({ err: error }, 'failed to list the webhooks that are due');
      this.#wake(now() + PARK_MS);
    } finally {
      this.#scanning = false;
    }
    this.#wake(this.#fullAt);
  }

  /**
   * Opens the due webhooks after the position `after`. Returns false if it has stopped early because too many webhooks
   * are open.
   */
  async #openDue(after: Pick<DuePush, 'dueAt' | 'position'> | undefined): Promise<boolean> {
    const { store } = this.#log;
    let page: readonly DuePush[];
    do {
      page = await store.duePush({ after, limit: PAGE });
      for (const due of page) {
        if (this.#closed) return true;
        const now = this.#options.now();
        const dueAt = dueTime(due, now);
        if (dueAt > now + SCAN_MS) {
          this.#wake(dueAt);
          return true;
        }
        const name = `${due.taskId}/${due.configId}`;
        if (this.#active.has(name)) continue;
        if (this.#backlog.size >= MAX_BACKLOG) return false;
        using live = await this.#log.open(due, due.taskId);
        if (live) await this.attach(live, new Set([name]));
      }
      after = page.at(-1);
    } while (page.length === PAGE);
    return true;
  }

  /**
   * Waits up to `ms` milliseconds until every webhook has delivered the stored events, or has left them for a later
   * retry.
   */
  async drain(ms: number): Promise<void> {
    await waitAtMost(
      ms,
      Promise.all([...this.#active.values()].map((webhook) => webhook.finish())),
    );
  }

  /** Ends all deliveries, and stores their progress. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const webhook of this.#active.values()) webhook.close();
    await this.#writer.flush();
    await this.#claims?.flush();
  }
}

/**
 * Returns the webhook with the same configuration and origin, or undefined if there is none. If `config` has no id, any
 * id matches.
 */
function sameWebhook(
  records: readonly PushRecord[],
  config: PushNotificationConfig,
  { version, view }: PushOrigin,
): PushRecord | undefined {
  return records.find(
    (record) =>
      record.version === version &&
      record.view === view &&
      sameJson({ ...config, id: config.id ?? record.config.id }, record.config),
  );
}

function key({ taskId, config: { id } }: PushRecord): string {
  return `${taskId}/${id}`;
}
