/**
 * Webhooks. Each configuration is a reader of its task's log: it takes one event, delivers it, and takes the next.
 *
 * Delivery is in order, with a few retries; what cannot be delivered is skipped, and a webhook that keeps failing is
 * given up for this execution. How a request gets there (and which addresses are allowed) is `deliver`'s business.
 */
import { randomUUIDv7 } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  A2AError,
  type ProtocolVersion,
  type PushNotificationConfig,
  reduce,
  type Task,
  v03,
  v1,
} from '../protocol/index.ts';
import type { EventLog, LiveTask } from './event-log.ts';
import { loadTask } from './load.ts';
import type { Logger } from './logger.ts';
import type { Published } from './published.ts';
import type { EndReason, LogReader } from './reader.ts';
import type { PushRecord } from './store.ts';

/** One webhook request. */
export interface Delivery {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Deliver {
  /** Throws A2AError `invalidParams` when the address may never be called. */
  check(url: string): void;
  /** Resolves with the HTTP status. Rejects when there was none: no connection, time-out, an address not allowed. */
  send(delivery: Delivery, signal: AbortSignal): Promise<number>;
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
  #closed = false;

  constructor(log: EventLog, deliver: Deliver, logger: Logger, limits: PushLimits) {
    this.#log = log;
    this.#deliver = deliver;
    this.#logger = logger;
    this.#limits = limits;
  }

  /** Refuses an address that may never be called, and secrets that do not fit into a header. */
  check({ url, token = '', authentication }: PushNotificationConfig): void {
    this.#deliver.check(url);
    const secrets = [token, authentication?.credentials ?? '', ...(authentication?.schemes ?? [])];
    if (secrets.some((secret) => !/^[\x20-\x7e]*$/.test(secret))) {
      throw new A2AError('invalidParams', "A webhook's token and credentials are printable ASCII");
    }
  }

  async save(
    taskId: string,
    config: PushNotificationConfig,
    version: ProtocolVersion,
  ): Promise<PushRecord> {
    this.check(config);
    const { store } = this.#log;
    // 0.3 lets a client leave the id out, and then ask for the configuration under this name.
    const id = config.id ?? (version === '0.3' ? 'default' : randomUUIDv7());
    const known = await store.listPush(taskId);
    const { maxPushConfigsPerTask: most } = this.#limits;
    if (known.length >= most && !known.some(({ config: { id: other } }) => other === id)) {
      throw new A2AError('invalidParams', `A task has at most ${most} push configurations`);
    }
    const record: PushRecord = { taskId, config: { ...config, id }, version };
    await store.savePush(record);
    this.#active.get(key(record))?.close();
    return record;
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
      const current = this.#active.get(key(record));
      if (current) {
        current.follow(live);
        continue;
      }
      const webhook = new Webhook(record, {
        log: this.#log,
        deliver: this.#deliver,
        logger: this.#logger,
        onEnd: () => {
          if (this.#active.get(key(record)) === webhook) this.#active.delete(key(record));
        },
      });
      this.#active.set(key(record), webhook);
      webhook.read(live, after);
    }
  }

  /** Ends all deliveries. */
  async close(): Promise<void> {
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
  readonly #options: WebhookOptions;
  readonly #abort = new AbortController();
  #live: LiveTask | undefined;
  #reader: LogReader | undefined;
  #ended: EndReason | undefined;
  /** For 0.3, which is sent the whole task. */
  #folded: { seq: number; task: Task | undefined } = { seq: 0, task: undefined };
  #failures = 0;
  #busy = false;

  constructor(record: PushRecord, options: WebhookOptions) {
    this.#record = record;
    this.#options = options;
  }

  read(live: LiveTask, after: number): void {
    this.#live = live;
    this.#ended = undefined;
    this.#reader = this.#options.log.read(live, after, {
      take: (entry) => {
        this.#busy = true;
        void this.#handle(entry);
        return false;
      },
      end: (reason) => {
        this.#ended = reason;
        if (!this.#busy) this.#goOn();
      },
    });
    this.#reader.resume();
  }

  /** The task goes on, perhaps while its last event is still being delivered. */
  follow(live: LiveTask): void {
    this.#live = live;
  }

  /** Ends it at once, whatever it is delivering. */
  close(): void {
    this.#abort.abort();
    this.#options.onEnd();
    this.#reader?.close();
  }

  /** A reader ends where the task is settled; if it has gone on since, so does the webhook. */
  #goOn(): void {
    const { cursor = 0 } = this.#reader ?? {};
    if (this.#ended === undefined) this.#reader?.resume();
    else if (
      this.#ended === 'final' &&
      !this.#abort.signal.aborted &&
      this.#live!.stored > cursor
    ) {
      this.read(this.#live!, cursor);
    } else this.#options.onEnd();
  }

  async #handle(entry: Published): Promise<void> {
    const { logger } = this.#options;
    const where = { taskId: this.#record.taskId, configId: this.#record.config.id, seq: entry.seq };
    try {
      const body = await this.#body(entry);
      if (body === undefined || (await this.#attempt(body))) {
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
    }
    this.#goOn();
  }

  /** 1.0: the event itself. 0.3: the task as it is, whenever its status changed. */
  async #body(entry: Published): Promise<string | undefined> {
    if (this.#record.version === '1.0') return entry.text(v1);
    const task = await this.#taskAt(entry);
    if (!task || entry.event.kind === 'artifact-update') return undefined;
    return JSON.stringify(v03.encodeEvent(task));
  }

  /** The task up to this entry: folded on from the entry before it, or, where that was not here, from the log. */
  async #taskAt({ seq, event }: Published): Promise<Task | undefined> {
    if (this.#folded.seq === seq - 1) {
      this.#folded = { seq, task: reduce(this.#folded.task, event) };
    } else {
      const live = this.#live!;
      const loaded = await loadTask({
        stored: seq,
        read: (after, limit) => live.read(after, Math.min(limit, seq - after)),
      });
      this.#folded = { seq, task: loaded?.task };
    }
    return this.#folded.task;
  }

  async #attempt(body: string): Promise<boolean> {
    const { deliver, logger } = this.#options;
    const { signal } = this.#abort;
    const { config } = this.#record;
    for (let attempt = 1; attempt <= ATTEMPTS && !signal.aborted; attempt++) {
      try {
        const delivery = { url: config.url, headers: headersOf(this.#record), body };
        const status = await deliver.send(delivery, signal);
        if (status >= 200 && status < 300) return true;
        // Other 4xx will not get better by asking again.
        if (status < 500 && status !== 408 && status !== 425 && status !== 429) return false;
      } catch (error) {
        logger.debug({ err: error, attempt, configId: config.id }, 'a webhook was not reached');
      }
      if (attempt === ATTEMPTS) return false;
      const wait = FIRST_DELAY_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      await delay(wait, undefined, { ref: false, signal }).catch(() => {});
    }
    return false;
  }
}

function headersOf({ config, version }: PushRecord): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
    'a2a-version': version,
  };
  if (config.token) headers['x-a2a-notification-token'] = config.token;
  const { schemes = [], credentials } = config.authentication ?? {};
  const scheme = schemes.find((name) => /^(bearer|basic)$/i.test(name)) ?? schemes[0];
  if (scheme && credentials) {
    // `user:password` is what people write down; the header wants it encoded.
    const plain = /^basic$/i.test(scheme) && credentials.includes(':');
    const value = plain ? Buffer.from(credentials).toString('base64') : credentials;
    headers['authorization'] = `${scheme} ${value}`;
  }
  return headers;
}
