/**
 * Limits the number of concurrent requests to webhooks, in total and per host. Makes no request to a host whose circuit
 * breaker is open. The limits are fair between the owners of tasks.
 */
import { createCircuits, createSlots, QueueFullError, type Slots } from '../../base/index.ts';
import type { DeliveryOutcome, Post } from './deliver.ts';

/** Maximum number of concurrent requests, in total and per host. */
const MAX_POSTS = 256;
const MAX_POSTS_PER_HOST = 16;

/**
 * Settings of the circuit breakers. `minMs` is longer than the first retries of an event take (FIRST_RETRIES in
 * webhook.ts), so that a short failure of a host does not open its circuit.
 */
const CIRCUIT = { failures: 6, minMs: 12_000, windowMs: 120_000, openMs: 30_000 };

/** The result of a request that was not made. It may be made after `delayMs`. */
export interface Delayed {
  readonly delayMs: number;
}

/** The URL of a request, and the owner of the task for which it is made. */
export interface Passage {
  readonly url: string;
  readonly owner: string;
}

export class DeliveryGate {
  readonly #slots = createSlots(MAX_POSTS);
  readonly #hosts = new Map<string, { readonly slots: Slots; users: number }>();
  readonly #circuits;

  constructor(now: () => number) {
    this.#circuits = createCircuits(CIRCUIT, now);
  }

  /** Makes the request when there is a free slot. Rejects if the request rejects, or if the signal is aborted. */
  async pass(
    { url, owner }: Passage,
    post: Post,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome | Delayed> {
    const origin = URL.parse(url)?.origin ?? url;
    const wait = this.#circuits.wait(origin, owner);
    if (wait) return { delayMs: wait.ms };
    const host = this.#host(origin);
    try {
      using _ofHost = await slot(host.slots, owner, signal);
      using _ofAll = await slot(this.#slots, owner, signal);
      const permit = this.#circuits.enter(origin, owner);
      if (!permit) return { delayMs: this.#circuits.wait(origin, owner)?.ms ?? 0 };
      try {
        const outcome = await post(signal);
        if (typeof outcome === 'string') permit.ok();
        else permit.failed();
        return outcome;
      } catch (error) {
        if (signal.aborted) permit.leave();
        else permit.failed();
        throw error;
      }
    } catch (error) {
      if (error instanceof QueueFullError) return { delayMs: 1000 };
      throw error;
    } finally {
      if (--host.users === 0) this.#hosts.delete(origin);
    }
  }

  #host(origin: string) {
    let host = this.#hosts.get(origin);
    if (!host)
      this.#hosts.set(origin, (host = { slots: createSlots(MAX_POSTS_PER_HOST), users: 0 }));
    host.users++;
    return host;
  }
}

async function slot(slots: Slots, owner: string, signal: AbortSignal): Promise<Disposable> {
  const release = await slots.take(owner, signal);
  return { [Symbol.dispose]: release };
}
