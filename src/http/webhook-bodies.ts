/**
 * The bodies of requests to webhooks. In 0.3 each request has the whole task, and a task may have many webhooks. So a
 * body is made only when its request is sent, and only a few large bodies exist at the same time.
 */
import { createSlots, type Slots } from '../base/index.ts';
import { codecOf } from '../protocol/index.ts';
import type { Delivery, DeliveryOutcome } from '../tasks/index.ts';

/** Maximum length of a body that does not count as large. */
const LARGE_CHARS = 256 * 1024;
/** Maximum number of large bodies. They are shared fairly between the webhooks' origins. */
const MAX_LARGE = 8;

export class WebhookBodies {
  readonly #large = createSlots(MAX_LARGE);
  /** The slot for loading and encoding a task. Only one task at a time is loaded and encoded. */
  readonly #making = createSlots(1);

  /** Calls `send` with the body of the delivery. If the task no longer exists, nothing is sent. */
  async use(
    delivery: Delivery,
    signal: AbortSignal,
    send: (body: string) => Promise<DeliveryOutcome>,
  ): Promise<DeliveryOutcome> {
    const { record, entry } = delivery;
    // The text of an event is already in memory, and all webhooks of a task share it.
    if (record.version === '1.0') return send(entry.text(codecOf('1.0', 'JSONRPC')));
    const origin = URL.parse(record.config.url)?.origin ?? '';
    let body = await this.#make(delivery, signal);
    if (body === undefined) return 'taken';
    if (body.length <= LARGE_CHARS) return send(body);
    const mustWait = !this.#large.free(origin);
    if (mustWait) body = undefined;
    using _large = await taken(this.#large, origin, signal);
    body ??= await this.#make(delivery, signal);
    return body === undefined ? 'taken' : await send(body);
  }

  async #make({ record, task }: Delivery, signal: AbortSignal): Promise<string | undefined> {
    using _making = await taken(this.#making, '', signal);
    const whole = await task();
    return whole && JSON.stringify(codecOf(record.version, 'JSONRPC').encodeEvent(whole));
  }
}

async function taken(slots: Slots, caller: string, signal: AbortSignal): Promise<Disposable> {
  const release = await slots.take(caller, signal);
  return { [Symbol.dispose]: release };
}
