/**
 * Delivers events to webhooks. Each push notification configuration has its own reader of the task's log, which
 * delivers one event at a time.
 *
 * Events are delivered in order, with a few retries. An event that cannot be delivered is skipped. A webhook that keeps
 * failing is stopped until the next execution. `Deliver` makes the requests and decides which addresses are allowed.
 */
import { waitAtMost } from '../base/index.ts';
import { setTimeout as delay } from 'node:timers/promises';
import {
  A2AError,
  isSettled,
  type ProtocolVersion,
  type PushNotificationConfig,
  type Task,
} from '../protocol/index.ts';
import type { EventLog, LiveTask } from './log/event-log.ts';
import { type Loaded, loadTask } from './log/load.ts';
import type { Logger } from './log/logger.ts';
import type { Published } from './log/published.ts';
import type { LogReader } from './log/reader.ts';
import type { LogView, LogViews } from './log/view.ts';
import { sameJson } from './same-json.ts';
import type { PushRecord } from './store/store.ts';

/** One event for one webhook. */
export interface Delivery {
  readonly record: PushRecord;
  readonly entry: Published;
  /** Loads the task up to this entry. The caller must not keep the task, because later events are folded into it. */
  readonly task: () => Promise<Task | undefined>;
}

/** `refused`: a retry is useless. `failed`: a retry may help. */
export type DeliveryOutcome = 'taken' | 'refused' | 'failed';

/**
 * Sends the prepared request once. Rejects if there is no response: no connection, a timeout, or a forbidden address.
 */
export type Post = (signal: AbortSignal) => Promise<DeliveryOutcome>;

/** Makes the requests to webhooks. `webhookDelivery` implements this interface. */
export interface Deliver {
  /**
   * Returns the configuration to store, with an id. Throws A2AError `invalidParams` if the configuration is invalid.
   */
  accept(config: PushNotificationConfig, version: ProtocolVersion): PushRecord['config'];
  /** Prepares the request for all attempts. Returns undefined if this webhook does not get this event. */
  prepare(delivery: Delivery): Promise<Post | undefined>;
}

/** The parts of a webhook that come from the request that set it. */
export type PushOrigin = Pick<PushRecord, 'version' | 'view'>;

export interface PushLimits {
  readonly maxPushConfigsPerTask: number;
}

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 250;
/** Number of consecutive failed events after which a webhook is stopped. */
const GIVE_UP_AFTER = 5;

export class PushNotifier {
  readonly #log: EventLog;
  readonly #deliver: Deliver;
  readonly #logger: Logger;
  readonly #limits: PushLimits;
  readonly #views: LogViews | undefined;
  /** Webhooks that have a reader, by task and configuration. */
  readonly #active = new Map<string, Webhook>();
  /** The last pending save of each task, by task id. */
  readonly #saving = new Map<string, Promise<void>>();
  #closed = false;

  constructor(
    log: EventLog,
    deliver: Deliver,
    logger: Logger,
    limits: PushLimits,
    views?: LogViews,
  ) {
    this.#log = log;
    this.#views = views;
    this.#deliver = deliver;
    this.#logger = logger;
    this.#limits = limits;
  }

  /** Throws if the configuration is invalid. */
  check(config: PushNotificationConfig, version: ProtocolVersion): void {
    this.#deliver.accept(config, version);
  }

  save(taskId: string, config: PushNotificationConfig, origin: PushOrigin): Promise<PushRecord> {
    return this.#inTurn(taskId, () => this.#save(taskId, config, origin));
  }

  /**
   * Saves a configuration that came with a message, unless the task already has the same configuration. Returns whether
   * it was new.
   */
  saveOnce(taskId: string, config: PushNotificationConfig, origin: PushOrigin): Promise<boolean> {
    return this.#inTurn(taskId, async () => {
      const known = await this.#log.store.listPush(taskId);
      const isSame = (record: PushRecord) =>
        record.version === origin.version &&
        record.view === origin.view &&
        sameJson({ ...config, id: config.id ?? record.config.id }, record.config);
      if (known.some(isSame)) return false;
      await this.#save(taskId, config, origin);
      return true;
    });
  }

  async #save(
    taskId: string,
    config: PushNotificationConfig,
    { version, view }: PushOrigin,
  ): Promise<PushRecord> {
    const { store } = this.#log;
    const accepted = this.#deliver.accept(config, version);
    const known = await store.listPush(taskId);
    const { maxPushConfigsPerTask: most } = this.#limits;
    if (known.length >= most && !known.some(({ config: { id } }) => id === accepted.id)) {
      throw new A2AError('invalidParams', `A task has at most ${most} push configurations`);
    }
    const record: PushRecord = {
      taskId,
      config: accepted,
      version,
      ...(view !== undefined && { view }),
    };
    await store.savePush(record);
    this.#active.get(key(record))?.close();
    return record;
  }

  /** Runs the saves of a task one after the other, because the same message may arrive twice at the same time. */
  async #inTurn<Result>(taskId: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#saving.get(taskId);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#saving.set(taskId, promise);
    try {
      await before;
      return await work();
    } finally {
      resolve();
      if (this.#saving.get(taskId) === promise) this.#saving.delete(taskId);
    }
  }

  async remove(taskId: string, configId: string): Promise<void> {
    await this.#log.store.deletePush(taskId, configId);
    this.#active.get(`${taskId}/${configId}`)?.close();
  }

  /** Starts a reader after entry `after` for each of the task's configurations that has no reader. Never throws. */
  async attach(live: LiveTask, after: number): Promise<void> {
    let records: readonly PushRecord[] = [];
    try {
      records = await this.#log.store.listPush(live.taskId);
    } catch (error) {
      this.#logger.error({ err: error, taskId: live.taskId }, 'failed to list webhooks');
    }
    for (const record of records) {
      if (live.lost || this.#closed) return;
      // The reader of an earlier turn is still running.
      if (this.#active.has(key(record))) continue;
      const webhook = new Webhook(record, live, {
        log: this.#log,
        deliver: this.#deliver,
        logger: this.#logger,
        view: this.#viewOf(record),
        onEnd: () => {
          if (this.#active.get(key(record)) === webhook) this.#active.delete(key(record));
        },
      });
      this.#active.set(key(record), webhook);
      webhook.read(after);
    }
  }

  /** A webhook whose view is unknown, because an earlier version stored it, gets the view of an empty request. */
  #viewOf({ view }: PushRecord): LogView | undefined {
    const named = this.#views?.all.find(({ name }) => name === view);
    return named ?? this.#views?.choose({ extensions: [] });
  }

  /** Waits up to `ms` milliseconds until every webhook has delivered the stored events. */
  async drain(ms: number): Promise<void> {
    await waitAtMost(
      ms,
      Promise.all([...this.#active.values()].map((webhook) => webhook.finish())),
    );
  }

  /** Ends all deliveries. */
  close(): void {
    this.#closed = true;
    for (const webhook of this.#active.values()) webhook.close();
  }
}

function key({ taskId, config: { id } }: PushRecord): string {
  return `${taskId}/${id}`;
}

interface WebhookOptions {
  readonly log: EventLog;
  readonly deliver: Deliver;
  readonly logger: Logger;
  readonly view: LogView | undefined;
  readonly onEnd: () => void;
}

/**
 * Delivers a task's events to one webhook. It takes an entry only after the previous entry was delivered or skipped.
 */
class Webhook {
  readonly #record: PushRecord;
  readonly #live: LiveTask;
  readonly #options: WebhookOptions;
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #reader: LogReader | undefined;
  /** The result of the last call of `#taskAt`. */
  #folded: Loaded | undefined;
  #failures = 0;
  #busy = false;
  #finishing = false;
  #readerEnded = false;

  constructor(record: PushRecord, live: LiveTask, options: WebhookOptions) {
    this.#record = record;
    this.#live = live;
    this.#options = options;
  }

  read(after: number): void {
    this.#reader = this.#options.log.read(this.#live, after, {
      // The task may continue while its last event is being delivered.
      endless: true,
      take: (entry) => {
        this.#busy = true;
        void this.#handle(entry);
        return false;
      },
      end: () => {
        this.#readerEnded = true;
        if (!this.#busy) this.close();
      },
    });
    this.#reader.resume();
  }

  /** Resolves when every stored event was delivered or skipped. */
  finish(): Promise<void> {
    this.#finishing = true;
    if (!this.#busy) this.#goOn();
    return this.#over.promise;
  }

  /** Stops immediately, even during a delivery. */
  close(): void {
    this.#abort.abort();
    this.#options.onEnd();
    this.#over.resolve();
    this.#reader?.close();
  }

  /** Takes the next event, or stops if the task is settled and there is no further event. */
  #goOn(): void {
    const { seq, state } = this.#live;
    const settled = this.#finishing || (state !== undefined && isSettled(state));
    const done = settled && this.#reader?.cursor === seq;
    if (done || this.#readerEnded) this.close();
    else this.#reader?.resume();
  }

  async #handle(stored: Published): Promise<void> {
    const { deliver, logger, view } = this.#options;
    const record = this.#record;
    const { seq } = stored;
    const where = { taskId: record.taskId, configId: record.config.id, seq };
    try {
      const entry = view ? stored.in(view) : stored;
      const task = () => this.#taskAt(seq);
      // The reader continues only after `take` has returned, so this must wait even without a request.
      const post = await (entry && deliver.prepare({ record, entry, task }));
      if (!post || (await this.#attempt(post))) {
        this.#failures = 0;
      } else if (!this.#abort.signal.aborted) {
        this.#failures++;
        logger.warn(where, 'failed to deliver an event to a webhook');
      }
    } catch (error) {
      logger.error({ err: error, ...where }, 'a webhook failed');
      this.#failures++;
    }
    this.#busy = false;
    if (this.#failures >= GIVE_UP_AFTER) {
      logger.warn(where, 'a webhook keeps failing and was stopped');
      this.close();
    } else {
      this.#goOn();
    }
  }

  /** Returns the task up to entry `seq`. Continues from the previous call, so that each log entry is read only once. */
  async #taskAt(seq: number): Promise<Task | undefined> {
    const live = this.#live;
    const upToHere = {
      stored: seq,
      read: (after: number, limit: number) => live.read(after, Math.min(limit, seq - after)),
    };
    this.#folded = await loadTask(upToHere, this.#folded);
    const { task } = this.#folded ?? {};
    return task && (this.#options.view?.task(task) ?? task);
  }

  async #attempt(post: Post): Promise<boolean> {
    const { logger } = this.#options;
    const { signal } = this.#abort;
    for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
      try {
        const outcome = await post(signal);
        if (outcome !== 'failed') return outcome === 'taken';
      } catch (error) {
        const configId = this.#record.config.id;
        logger.debug({ err: error, attempt, configId }, 'a webhook did not respond');
      }
      if (attempt === ATTEMPTS) return false;
      const wait = FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      await delay(wait, undefined, { ref: false, signal }).catch(() => {});
    }
    return false;
  }
}
