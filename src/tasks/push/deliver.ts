/** The interface between the delivery of events to webhooks and the transport that makes the requests. */
import type { ProtocolVersion, PushNotificationConfig, Task } from '../../protocol/index.ts';
import type { Published } from '../log/published.ts';
import type { PushRecord } from '../store/store.ts';

/** One event for one webhook. */
export interface Delivery {
  readonly record: PushRecord;
  readonly entry: Published;
  /** Loads the task up to this entry. The caller must not keep the task, because later events are folded into it. */
  readonly task: () => Promise<Task | undefined>;
}

/**
 * `taken`: the receiver has the event. `gone`: the receiver has refused further events, so the webhook is removed. A
 * FailedDelivery is tried again, until the event becomes a dead letter.
 */
export type DeliveryOutcome = 'taken' | 'gone' | FailedDelivery;

/** A failed delivery. */
export interface FailedDelivery {
  /** Why it failed, for the operator and the owner of the task. It must not contain secrets. */
  readonly failed: string;
  /** How long the receiver asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Waits until a request with a body of this size may be sent. Calls `onWait` first if the request has to wait. Then the
 * caller must drop the body, and make it again after the wait. Rejects if the delivery is aborted.
 */
export type Admit = (bytes: number, onWait: () => void) => Promise<void>;

/**
 * Sends the prepared request once. Rejects if there is no response, for example because of a timeout or a forbidden
 * address. Calls `admit` once before it sends a body, because many large bodies would fill the memory.
 */
export type Post = (signal: AbortSignal, admit: Admit) => Promise<DeliveryOutcome>;

/** Makes the requests to webhooks. `webhookDelivery` implements this interface. */
export interface Deliver {
  /**
   * Returns the configuration to store, with an id. Throws A2AError `invalidParams` if the configuration is invalid.
   */
  accept(config: PushNotificationConfig, version: ProtocolVersion): PushRecord['config'];
  /**
   * Prepares the request. Returns undefined if this webhook does not get this event. A large event is prepared again
   * for each attempt. Any other event is usually prepared only once.
   */
  prepare(delivery: Delivery): Promise<Post | undefined>;
}
