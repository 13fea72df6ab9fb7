/**
 * The bodies of requests to webhooks. In 0.3 each request has the whole task, and a task may have many webhooks. So a
 * body is made only when its request is sent.
 */
import { createSlots } from '../base/index.ts';
import { codecOf } from '../protocol/index.ts';
import type { Delivery } from '../tasks/index.ts';

/** Makes the body of a request. Returns undefined if the task no longer exists. */
export type MakeBody = (signal: AbortSignal) => Promise<string | undefined>;

export class WebhookBodies {
  /** The slot for loading and encoding a task. Only one task at a time is loaded and encoded. */
  readonly #making = createSlots(1);

  of(delivery: Delivery): MakeBody {
    return delivery.record.version === '1.0' ? eventBody(delivery) : this.#taskBody(delivery);
  }

  /** The result keeps no reference to the event, which may be large and is not in the body. */
  #taskBody({ record: { version }, task }: Delivery): MakeBody {
    return async (signal) => {
      const release = await this.#making.take('', signal);
      try {
        const whole = await task();
        return whole && JSON.stringify(codecOf(version, 'JSONRPC').encodeEvent(whole));
      } finally {
        release();
      }
    };
  }
}

function eventBody({ entry }: Delivery): MakeBody {
  return async () => entry.text(codecOf('1.0', 'JSONRPC'));
}
