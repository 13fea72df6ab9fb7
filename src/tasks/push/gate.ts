/**
 * Limits the number of concurrent requests to webhooks and the size of their bodies, in total and per host. Makes no
 * request to an origin (a scheme, a host and a port) whose circuit breaker is open. The limits are fair between the
 * owners of tasks.
 */
import {
  createCircuits,
  createSlots,
  hostNameOf,
  QueueFullError,
  type Slots,
} from '../../base/index.ts';
import type { Admit, DeliveryOutcome, Post } from './deliver.ts';

/** Maximum number of concurrent requests, in total and per host. */
const MAX_POSTS = 256;
const MAX_POSTS_PER_HOST = 16;
/** Maximum size of the bodies of these requests, in total and per host. A single body may be larger than the limit. */
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_BYTES_PER_HOST = 16 * 1024 * 1024;
/** Bodies up to this size are not counted, because the maximum number of requests limits their total size. */
const UNCOUNTED_BYTES = 64 * 1024;

/**
 * Settings of the circuit breakers. `minMs` is longer than the time of an event's first retries (FIRST_RETRIES in
 * webhook.ts). So a short failure of a server does not open its circuit.
 */
const CIRCUIT = { failures: 6, minMs: 12_000, windowMs: 120_000, openMs: 30_000 };

/** The result of a request that was not made. It may be made after `delayMs` milliseconds. */
export interface Delayed {
  readonly delayMs: number;
}

/** The URL of a request, and the owner of the task for which it is made. */
export interface Passage {
  readonly url: string;
  readonly owner: string;
}

interface Host {
  readonly slots: Slots;
  readonly bytes: Slots;
  users: number;
}

export class DeliveryGate {
  readonly #slots = createSlots(MAX_POSTS);
  readonly #bytes = createSlots(MAX_BYTES);
  readonly #hosts = new Map<string, Host>();
  readonly #circuits;

  constructor(now: () => number) {
    this.#circuits = createCircuits(CIRCUIT, now);
  }

  /**
   * Makes the request when there is a free slot. Returns a delay, and makes no request, if the circuit breaker of the
   * origin is open or too many requests wait. Rejects if the request rejects, or if the signal is aborted.
   */
  async pass(
    { url, owner }: Passage,
    post: Post,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome | Delayed> {
    const address = URL.parse(url);
    const origin = address?.origin ?? url;
    // The limits of a host hold for all its ports and schemes together.
    const name = address ? hostNameOf(address).replace(/\.$/, '') : url;
    const wait = this.#circuits.wait(origin, owner);
    if (wait) return { delayMs: wait.ms };
    const host = this.#host(name);
    try {
      using held = new DisposableStack();
      held.defer(await host.slots.take(owner, signal));
      let leave = await this.#slots.take(owner, signal);
      held.defer(() => leave());
      const admit: Admit = async (bytes, onWait) => {
        if (bytes <= UNCOUNTED_BYTES) return;
        const count = Math.min(bytes, MAX_BYTES_PER_HOST);
        const isFree = host.bytes.free(owner, count) && this.#bytes.free(owner, count);
        if (!isFree) {
          onWait();
          // A request that waits here must not delay requests to other hosts.
          leave();
        }
        held.defer(await host.bytes.take(owner, signal, count));
        held.defer(await this.#bytes.take(owner, signal, count));
        if (!isFree) leave = await this.#slots.take(owner, signal);
      };
      const permit = this.#circuits.enter(origin, owner);
      if (!permit) return { delayMs: this.#circuits.wait(origin, owner)?.ms ?? 0 };
      try {
        const outcome = await post(signal, admit);
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
      if (--host.users === 0) this.#hosts.delete(name);
    }
  }

  #host(name: string): Host {
    let host = this.#hosts.get(name);
    if (!host) {
      const slots = createSlots(MAX_POSTS_PER_HOST);
      this.#hosts.set(name, (host = { slots, bytes: createSlots(MAX_BYTES_PER_HOST), users: 0 }));
    }
    host.users++;
    return host;
  }
}
