/**
 * Delivers the events of a task to one webhook, in order and one at a time. Each event for the webhook is delivered at
 * least once or becomes a dead letter, unless the webhook is removed.
 *
 * A failed delivery is tried again, five times within about ten seconds, then less often. If the webhook has failed for
 * a day (`pushGiveUpMs`), the event becomes a dead letter, and the delivery continues with the next event.
 */
import { backoffMs, rest, systemCode } from '../../base/index.ts';
import { isSettled, type Task } from '../../protocol/index.ts';
import type { EventLog } from '../log/event-log.ts';
import type { LiveTask } from '../log/live-task.ts';
import { type Loaded, loadUpTo } from '../log/load.ts';
import type { Logger } from '../log/logger.ts';
import { Published } from '../log/published.ts';
import type { LogReader } from '../log/reader.ts';
import { roughSize } from '../log/size.ts';
import type { LogView } from '../log/view.ts';
import type { DeadLetter, PushProgress, PushRecord } from '../store/store.ts';
import type { Deliver, DeliveryOutcome, FailedDelivery, Post } from './deliver.ts';
import type { Delayed, DeliveryGate } from './gate.ts';

/** Number of retries that are always made, even if the webhook has failed for a long time. */
const FIRST_RETRIES = 5;
/** Maximum delay between two attempts, even if the receiver asks for a longer delay. */
const MAX_DELAY_MS = 3_600_000;
/** If the next attempt is further away than this, the webhook is closed, and opened again when the attempt is due. */
export const PARK_MS = 20_000;
/**
 * Maximum time until the next attempt. If a stored time is further away, the clock was set back after it was stored.
 */
export const MAX_WAIT_MS = MAX_DELAY_MS + 1000;
const MAX_REASON_CHARS = 300;
/** Maximum size of a task that a webhook keeps in memory between two events. */
const MAX_KEPT_BYTES = 64 * 1024;
/**
 * Maximum size of an event that a webhook keeps in memory while it waits for the next attempt. A larger event is read
 * again for each attempt, because many webhooks may wait at the same time.
 */
const MAX_EVENT_BYTES = 16 * 1024;

/** The limits for retries of a failing webhook. */
export interface WebhookLimits {
  /**
   * The delay before the first retry, in milliseconds. It doubles with each retry, up to `pushMaxRetryMs`. Each delay
   * is randomly reduced by up to half.
   */
  readonly pushRetryMs: number;
  /**
   * Maximum delay between two attempts, in milliseconds. If the receiver asks for a longer delay, it gets the longer
   * delay, but at most an hour.
   */
  readonly pushMaxRetryMs: number;
  /** How long a webhook may fail until its events become dead letters, in milliseconds. */
  readonly pushGiveUpMs: number;
}

/** Returns the time of the next attempt. If it is too far away, the clock was set back, and this returns `now`. */
export function dueTime({ dueAt = 0 }: Pick<PushProgress, 'dueAt'>, now: number): number {
  return dueAt > now + MAX_WAIT_MS ? now : dueAt;
}

export interface WebhookSetup {
  readonly log: EventLog;
  readonly deliver: Deliver;
  readonly gate: DeliveryGate;
  readonly logger: Logger;
  readonly limits: WebhookLimits;
  readonly view: LogView | undefined;
  readonly now: () => number;
  readonly onProgress: (progress: PushProgress, deadLetter?: DeadLetter) => void;
  /** Called when the receiver has refused further events. */
  readonly onGone: () => void;
  /**
   * Called once, when the webhook is closed. `wakeAt` is the time of the next attempt. It is set if the webhook closes
   * instead of waiting for this attempt, because the attempt is far away or the server shuts down.
   */
  readonly onEnd: (wakeAt?: number) => void;
}

/** An event that is being delivered. */
interface Outgoing {
  readonly seq: number;
  /** Returns the request, or undefined if the webhook does not get the event. */
  post(): Promise<Post | undefined>;
}

export class Webhook {
  readonly #record: PushRecord;
  readonly #live: LiveTask;
  readonly #options: WebhookSetup;
  readonly #abort = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  #progress: PushProgress;
  #reader: LogReader | undefined;
  /** The result of the last call of `#taskAt`, unless it is large. */
  #folded: Loaded | undefined;
  #busy = false;
  /** Whether the webhook waits for the time of the next attempt. */
  #waits = false;
  #finishing = false;
  #readerEnded = false;

  constructor(record: PushRecord, live: LiveTask, options: WebhookSetup) {
    this.#record = record;
    this.#live = live;
    this.#options = options;
    this.#progress = record.progress;
  }

  /** Starts to deliver the events after the cursor. */
  start(): void {
    this.#reader = this.#options.log.read(this.#live, this.#progress.cursor, {
      // The task may continue while its last event is being delivered.
      endless: true,
      take: (entry) => {
        this.#busy = true;
        void this.#handle(entry.size > MAX_EVENT_BYTES ? this.#large(entry) : this.#small(entry));
        return false;
      },
      end: () => {
        this.#readerEnded = true;
        if (!this.#busy) this.close();
      },
    });
    this.#goOn();
  }

  /**
   * Resolves when every stored event was delivered, or when the next attempt is far away. With a durable store, does
   * not wait for a retry, because the remaining events are delivered after a restart.
   */
  finish(): Promise<void> {
    this.#finishing = true;
    if (!this.#busy) this.#goOn();
    else if (this.#waits && this.#options.log.store.durable) this.close();
    return this.#over.promise;
  }

  /** Stops immediately, even during a delivery. */
  close(wakeAt?: number): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#options.onEnd(wakeAt);
    this.#over.resolve();
    this.#reader?.close();
  }

  /**
   * Takes the next event, or waits for it. Stops after the last event of a settled task. At shutdown, stops when no
   * event is left. Also stops if the log was lost.
   */
  #goOn(): void {
    const { seq, state } = this.#live;
    const settled = state !== undefined && isSettled(state);
    const caughtUp = this.#reader?.cursor === seq;
    if (caughtUp && settled) this.#report({ ...this.#progress, dueAt: undefined });
    if ((caughtUp && (settled || this.#finishing)) || this.#readerEnded) this.close();
    else this.#reader?.resume();
  }

  /**
   * Delivers one event. Resumes the reader only after an `await`, because the reader must not be resumed before `take`
   * has returned.
   */
  async #handle(outgoing: Outgoing): Promise<void> {
    while (await this.#whenDue()) {
      const outcome = await this.#attempt(outgoing);
      if (this.#abort.signal.aborted) return;
      if (this.#settle(outgoing.seq, outcome)) break;
    }
    if (this.#abort.signal.aborted) return;
    this.#busy = false;
    this.#goOn();
  }

  #small(entry: Published): Outgoing {
    let post: Post | 'unknown' | undefined = 'unknown';
    return {
      seq: entry.seq,
      post: async () => {
        if (post === 'unknown') post = await this.#prepare(entry);
        return post;
      },
    };
  }

  /** The result keeps no reference to the event, which is read again for each attempt. */
  #large(entry: Published): Outgoing {
    const { seq, size } = entry;
    const isWanted = this.#isWanted(entry);
    const post: Post = async (signal, admit) => {
      const isEvent = this.#record.version === '1.0';
      // In version 1.0, the body is the event, so its size is known. The event is read only when the body may be sent.
      if (isEvent) await admit(size, () => {});
      const prepared = await this.#prepare(await this.#entryAt(seq));
      return prepared ? prepared(signal, isEvent ? async () => {} : admit) : 'taken';
    };
    return { seq, post: async () => ((await isWanted) ? post : undefined) };
  }

  async #isWanted(entry: Published): Promise<boolean> {
    try {
      return (await this.#prepare(entry)) !== undefined;
    } catch {
      // The error occurs again when the request is made, and is handled there.
      return true;
    }
  }

  async #entryAt(seq: number): Promise<Published> {
    const [entry] = await this.#live.read(seq - 1, 1);
    if (entry?.seq !== seq) throw new Error('the event is not in the store');
    return new Published(entry);
  }

  /** Waits for the time of the next attempt. Returns false if the webhook was closed. */
  async #whenDue(): Promise<boolean> {
    const { signal } = this.#abort;
    const now = this.#options.now();
    const dueAt = dueTime(this.#progress, now);
    const wait = dueAt - now;
    if (wait > PARK_MS || (wait > 0 && this.#finishing && this.#options.log.store.durable)) {
      this.close(dueAt);
    } else if (wait > 0) {
      this.#waits = true;
      await rest(wait, signal);
      this.#waits = false;
    }
    return !signal.aborted;
  }

  async #prepare(stored: Published): Promise<Post | undefined> {
    const { deliver, view } = this.#options;
    const { seq } = stored;
    const entry = view ? stored.in(view) : stored;
    return entry && deliver.prepare({ record: this.#record, entry, task: () => this.#taskAt(seq) });
  }

  async #attempt(outgoing: Outgoing): Promise<DeliveryOutcome | Delayed | 'skipped'> {
    const { gate, logger } = this.#options;
    const { taskId, config } = this.#record;
    const { tenant, owner } = this.#live;
    try {
      const post = await outgoing.post();
      if (!post) return 'skipped';
      const passage = { url: config.url, owner: JSON.stringify([tenant, owner]) };
      return await gate.pass(passage, post, this.#abort.signal);
    } catch (error) {
      logger.debug(
        { err: error, taskId, configId: config.id },
        'failed to deliver an event to a webhook',
      );
      // The owner of the task sees the reason. So the reason does not contain the error's message, which may have
      // internal addresses.
      const isTimeout = error instanceof Error && /^(?:Abort|Timeout)Error$/.test(error.name);
      return { failed: isTimeout ? 'timeout' : (systemCode(error) ?? 'no response') };
    }
  }

  /** Records the outcome of an attempt. Returns whether to continue with the next event. */
  #settle(seq: number, outcome: DeliveryOutcome | Delayed | 'skipped'): boolean {
    const { logger, onGone, now } = this.#options;
    const { taskId, config } = this.#record;
    const { failingSince } = this.#progress;
    switch (outcome) {
      case 'taken':
        this.#report({ cursor: seq, attempts: 0, dueAt: 0 });
        return true;
      case 'skipped':
        this.#report({ cursor: seq, attempts: 0, failingSince, dueAt: 0 });
        return true;
      case 'gone':
        logger.info({ taskId, configId: config.id }, 'a webhook wants no more events: removed it');
        this.close();
        onGone();
        return false;
      default:
    }
    if ('failed' in outcome) return this.#fail(seq, outcome);
    // The delays are random, so that the webhooks of one host are not all tried again at the same time.
    const delayMs = Math.min(outcome.delayMs, MAX_DELAY_MS / 2);
    const wait = Math.max(delayMs, this.#options.limits.pushRetryMs) * (1 + Math.random());
    this.#report({ ...this.#progress, dueAt: Math.ceil(now() + wait) });
    return false;
  }

  #fail(seq: number, { failed, retryAfterMs = 0 }: FailedDelivery): boolean {
    const { logger, limits, now } = this.#options;
    const { taskId, config } = this.#record;
    const at = now();
    const { cursor, failingSince = at } = this.#progress;
    const attempts = this.#progress.attempts + 1;
    if (attempts > FIRST_RETRIES && at - failingSince >= limits.pushGiveUpMs) {
      const reason = failed.slice(0, MAX_REASON_CHARS);
      const letter = { taskId, configId: config.id, seq, reason, attempts, at };
      logger.warn(letter, 'gave up an event for a webhook: it is a dead letter now');
      this.#report({ cursor: seq, attempts: 0, failingSince, dueAt: 0 }, letter);
      return true;
    }
    const most = Math.min(limits.pushMaxRetryMs, MAX_DELAY_MS);
    const backoff = backoffMs(attempts, limits.pushRetryMs, most);
    const dueAt = Math.ceil(at + Math.max(backoff, Math.min(retryAfterMs, MAX_DELAY_MS)));
    this.#report({ cursor, attempts, failingSince, dueAt });
    return false;
  }

  #report(progress: PushProgress, deadLetter?: DeadLetter): void {
    this.#progress = progress;
    this.#options.onProgress(progress, deadLetter);
  }

  /** Returns the task up to entry `seq`, or undefined if it no longer exists. Continues from `#folded`. */
  async #taskAt(seq: number): Promise<Task | undefined> {
    const live = this.#live;
    const folded = await loadUpTo(seq, (after, limit) => live.read(after, limit), this.#folded);
    const { task } = folded ?? {};
    // A large task is loaded again for the next event, because each webhook of the task would keep a copy.
    this.#folded = roughSize(task) > MAX_KEPT_BYTES ? undefined : folded;
    return task && (this.#options.view?.task(task) ?? task);
  }
}
