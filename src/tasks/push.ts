/**
 * Webhooks. Each configuration is a reader of its task's log: it takes one event, delivers it, and takes the next.
 *
 * Delivery is in order, with a few retries; what cannot be delivered is skipped, and a webhook that keeps failing is
 * given up for this execution. What a request looks like, how it gets there and which addresses are allowed is
 * `deliver`'s business.
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
import { sameJson } from './same-json.ts';
import type { PushRecord } from './store/store.ts';

/** One event on its way to one webhook. */
export interface Delivery {
  readonly record: PushRecord;
  readonly entry: Published;
  /** The task up to this entry. Not to be kept: the next event is folded into it. */
  readonly task: () => Promise<Task | undefined>;
}

/** `refused`: asking again will not make it better. `failed`: it may. */
export type DeliveryOutcome = 'taken' | 'refused' | 'failed';

/** Sends what was prepared, once. Rejects when nobody answered: no connection, time-out, an address not allowed. */
export type Post = (signal: AbortSignal) => Promise<DeliveryOutcome>;

/** Delivers webhooks. `webhookDelivery` implements it over HTTP. */
export interface Deliver {
  /** The configuration as it is kept, with an id. Throws A2AError `invalidParams` on one that can never be used. */
  accept(config: PushNotificationConfig, version: ProtocolVersion): PushRecord['config'];
  /** Makes the request, for all attempts. Undefined: this webhook is not told of this event. */
  prepare(delivery: Delivery): Promise<Post | undefined>;
}

export interface PushLimits {
  readonly maxPushConfigsPerTask: number;
}

const ATTEMPTS = 4;
const FIRST_DELAY_MS = 250;
/** A webhook that fails so many events in a row is given up. */
const GIVE_UP_AFTER = 5;

export class PushNotifier {
  readonly #log: EventLog;
  readonly #deliver: Deliver;
  readonly #logger: Logger;
  readonly #limits: PushLimits;
  /** Webhooks with a reader right now, by task and configuration. */
  readonly #active = new Map<string, Webhook>();
  /** Tasks of which a configuration is being saved: resolves when that is done. */
  readonly #saving = new Map<string, Promise<void>>();
  #closed = false;

  constructor(log: EventLog, deliver: Deliver, logger: Logger, limits: PushLimits) {
    this.#log = log;
    this.#deliver = deliver;
    this.#logger = logger;
    this.#limits = limits;
  }

  /** Refuses a configuration that can never be used. */
  check(config: PushNotificationConfig, version: ProtocolVersion): void {
    this.#deliver.accept(config, version);
  }

  save(
    taskId: string,
    config: PushNotificationConfig,
    version: ProtocolVersion,
  ): Promise<PushRecord> {
    return this.#inTurn(taskId, () => this.#save(taskId, config, version));
  }

  /**
   * Saves what comes with a message, perhaps with each of them: one that says the same as one that is known is that
   * one, and goes on. Says whether it was new.
   */
  saveOnce(
    taskId: string,
    config: PushNotificationConfig,
    version: ProtocolVersion,
  ): Promise<boolean> {
    return this.#inTurn(taskId, async () => {
      const known = await this.#log.store.listPush(taskId);
      const isSame = (record: PushRecord) =>
        record.version === version &&
        sameJson({ ...config, id: config.id ?? record.config.id }, record.config);
      if (known.some(isSame)) return false;
      await this.#save(taskId, config, version);
      return true;
    });
  }

  async #save(
    taskId: string,
    config: PushNotificationConfig,
    version: ProtocolVersion,
  ): Promise<PushRecord> {
    const { store } = this.#log;
    const accepted = this.#deliver.accept(config, version);
    const known = await store.listPush(taskId);
    const { maxPushConfigsPerTask: most } = this.#limits;
    if (known.length >= most && !known.some(({ config: { id } }) => id === accepted.id)) {
      throw new A2AError('invalidParams', `A task has at most ${most} push configurations`);
    }
    const record: PushRecord = { taskId, config: accepted, version };
    await store.savePush(record);
    this.#active.get(key(record))?.close();
    return record;
  }

  /** One after the other for each task: the same message may come twice at the same moment. */
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

  /** Gives every configuration of the task that has none a reader behind entry `after`. Never throws. */
  async attach(live: LiveTask, after: number): Promise<void> {
    let records: readonly PushRecord[] = [];
    try {
      records = await this.#log.store.listPush(live.taskId);
    } catch (error) {
      this.#logger.error({ err: error, taskId: live.taskId }, 'webhooks could not be looked up');
    }
    for (const record of records) {
      if (live.lost || this.#closed) return;
      // It reads on by itself, turns and all.
      if (this.#active.has(key(record))) continue;
      const webhook = new Webhook(record, live, {
        log: this.#log,
        deliver: this.#deliver,
        logger: this.#logger,
        onEnd: () => {
          if (this.#active.get(key(record)) === webhook) this.#active.delete(key(record));
        },
      });
      this.#active.set(key(record), webhook);
      webhook.read(after);
    }
  }

  /** Lets every webhook deliver what is stored, for at most so long. */
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
  readonly onEnd: () => void;
}

/** The reader of one configuration: an entry is taken only when the one before it has been delivered. */
class Webhook {
  readonly #record: PushRecord;
  readonly #live: LiveTask;
  readonly #options: WebhookOptions;
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #reader: LogReader | undefined;
  /** The task as it was when somebody last asked for it. */
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
      // The task may go on while its last event is still being delivered.
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

  /** Resolves when everything that is stored has been delivered or given up. */
  finish(): Promise<void> {
    this.#finishing = true;
    if (!this.#busy) this.#goOn();
    return this.#over.promise;
  }

  /** Ends it at once, whatever it is delivering. */
  close(): void {
    this.#abort.abort();
    this.#options.onEnd();
    this.#over.resolve();
    this.#reader?.close();
  }

  /** Takes the next event; where there is none and the task is settled, that was it. */
  #goOn(): void {
    const { seq, state } = this.#live;
    const settled = this.#finishing || (state !== undefined && isSettled(state));
    const done = settled && this.#reader?.cursor === seq;
    if (done || this.#readerEnded) this.close();
    else this.#reader?.resume();
  }

  async #handle(entry: Published): Promise<void> {
    const { deliver, logger } = this.#options;
    const record = this.#record;
    const where = { taskId: record.taskId, configId: record.config.id, seq: entry.seq };
    try {
      const post = await deliver.prepare({ record, entry, task: () => this.#taskAt(entry.seq) });
      if (!post || (await this.#attempt(post))) {
        this.#failures = 0;
      } else if (!this.#abort.signal.aborted) {
        this.#failures++;
        logger.warn(where, 'a webhook could not be delivered');
      }
    } catch (error) {
      logger.error({ err: error, ...where }, 'a webhook failed');
      this.#failures++;
    }
    this.#busy = false;
    if (this.#failures >= GIVE_UP_AFTER) {
      logger.warn(where, 'a webhook keeps failing and is given up');
      this.close();
    } else {
      this.#goOn();
    }
  }

  /** Folded on from where it was, so that all the tasks together cost one pass over the log. */
  async #taskAt(seq: number): Promise<Task | undefined> {
    const live = this.#live;
    const upToHere = {
      stored: seq,
      read: (after: number, limit: number) => live.read(after, Math.min(limit, seq - after)),
    };
    this.#folded = await loadTask(upToHere, this.#folded);
    return this.#folded?.task;
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
        logger.debug({ err: error, attempt, configId }, 'a webhook was not reached');
      }
      if (attempt === ATTEMPTS) return false;
      const wait = FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      await delay(wait, undefined, { ref: false, signal }).catch(() => {});
    }
    return false;
  }
}
