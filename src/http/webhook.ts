/**
 * Delivers webhooks over HTTP. A request has the format of the protocol version in which the webhook was configured.
 *
 * The client chooses the URL, so requests are restricted. By default, private networks are not allowed. The built-in
 * HTTP client never follows redirects. Each request has the headers of Standard Webhooks, so that a receiver can put
 * events in order and drop repeated events. With signing keys, the request is also signed, so that a receiver can
 * verify the sender.
 */
import { randomUUIDv7 } from 'node:crypto';
import { guardedRequest, networkGuard } from '../base/net/index.ts';
import type { SigningKeys } from '../base/signing/index.ts';
import { createSlots, reasonOf, retryAfterMs } from '../base/index.ts';
import {
  A2AError,
  codecOf,
  type ProtocolVersion,
  type PushNotificationConfig,
} from '../protocol/index.ts';
import type { Deliver, Delivery, DeliveryOutcome } from '../tasks/index.ts';

/** The options of `webhookDelivery`. */
export interface WebhookOptions {
  /** Private networks that webhooks may reach, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  /** The timeout for the answer of a webhook, in milliseconds. Default: 15 seconds. */
  readonly timeoutMs?: number;
  /**
   * Whether webhooks of 0.3 get a request for every event. By default, they get no requests for artifact updates,
   * because each request of 0.3 contains the whole task. Webhooks of 1.0 get requests for artifact updates too.
   */
  readonly everyEvent?: boolean;
  /** Sends the requests instead of the built-in HTTP client, for example through a queue. */
  readonly deliver?: DeliverWebhook;
}

/** A request to a webhook. It is complete and already signed. */
export interface WebhookRequest {
  /** The value of the header `webhook-id`. It is the same in all attempts to deliver an event. */
  readonly id: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly taskId: string;
  readonly configId: string;
  /** Sequence number of the event in the task's log. */
  readonly seq: number;
}

/**
 * Sends a request to a webhook once. If the function rejects or returns a failure, the event is sent again later, and
 * the following events of the webhook wait. If the function returns undefined, the event counts as delivered.
 */
export type DeliverWebhook = (
  request: WebhookRequest,
  signal: AbortSignal,
) => Promise<DeliveryOutcome | void>;

/**
 * Makes the body of a request. Returns undefined if the task no longer exists. In 0.3 each request has the whole task,
 * and a task may have many webhooks. So a body is made only when its request is sent.
 */
type MakeBody = (signal: AbortSignal) => Promise<string | undefined>;

/**
 * Makes a `Deliver` that sends webhooks over HTTP, by default only to public addresses. Without `signing`, the requests
 * are not signed.
 *
 *   createHandler(agent, { deliver: webhookDelivery({ allowNetworks: ['10.0.0.0/8'] }) });
 */
export function webhookDelivery(options: WebhookOptions = {}, signing?: SigningKeys): Deliver {
  const { timeoutMs = 15_000, everyEvent = false } = options;
  const guard = networkGuard(options.allowNetworks);
  const send = options.deliver ?? post;
  /** The slot for loading and encoding a task. Only one task at a time is loaded and encoded. */
  const making = createSlots(1);

  /**
   * Returns a function that makes a body with the whole task. It keeps no reference to the event, which may be large
   * and is not in the body.
   */
  function taskBody({ record: { version }, task }: Delivery): MakeBody {
    return async (signal) => {
      const release = await making.take('', signal);
      try {
        const whole = await task();
        return whole && JSON.stringify(codecOf(version, 'JSONRPC').encodeEvent(whole));
      } finally {
        release();
      }
    };
  }

  async function post(
    { url, headers, body }: WebhookRequest,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome> {
    const response = await guardedRequest(guard, url, {
      method: 'POST',
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
      body,
      signal,
    });
    // Only the status is needed, so the body is not read.
    response.on('error', () => {});
    response.destroy();
    return outcomeOf(response.statusCode ?? 0, response.headers['retry-after']);
  }

  /** Throws if the URL itself is not allowed. The built-in HTTP client checks the host's address at each request. */
  function checkUrl(url: string): void {
    try {
      guard.parse(url);
    } catch (error) {
      throw new A2AError('invalidParams', `Invalid webhook: ${reasonOf(error)}`);
    }
  }

  return {
    accept(config, version) {
      checkUrl(config.url);
      checkSecrets(config);
      // In 0.3, a client may omit the id. The client can then read the configuration with the id `default`.
      return { ...config, id: config.id ?? (version === '0.3' ? 'default' : randomUUIDv7()) };
    },
    async prepare(delivery) {
      const { config, version, taskId } = delivery.record;
      const { seq, event } = delivery.entry;
      if (version === '0.3' && !everyEvent && event.kind === 'artifact-update') return undefined;
      const fixed = headersOf(config, version);
      // The configuration's id comes from the client, so it may contain any character.
      const id = `${taskId}.${encodeURIComponent(config.id)}.${seq}`;
      const make = version === '1.0' ? eventBody(delivery) : taskBody(delivery);
      return async (signal, admit) => {
        let body = await make(signal);
        if (body === undefined) return 'taken';
        await admit(body.length, () => (body = undefined));
        body ??= await make(signal);
        if (body === undefined) return 'taken';
        const headers = { ...fixed, ...signatureOf(id, body, signing) };
        const request = { id, url: config.url, headers, body, taskId, configId: config.id, seq };
        const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
        return (await send(request, within)) ?? 'taken';
      };
    },
  };
}

function eventBody({ entry }: Delivery): MakeBody {
  return async () => entry.text(codecOf('1.0', 'JSONRPC'));
}

/** Throws if the token or the credentials cannot be sent in headers. */
function checkSecrets({ token = '', authentication }: PushNotificationConfig): void {
  const secrets = [token, authentication?.credentials ?? '', ...(authentication?.schemes ?? [])];
  if (secrets.some((secret) => !/^[\x20-\x7e]*$/.test(secret))) {
    throw new A2AError(
      'invalidParams',
      'The token and the credentials of a webhook must be printable ASCII',
    );
  }
}

function headersOf(
  config: PushNotificationConfig,
  version: ProtocolVersion,
): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
    'a2a-version': version,
    'user-agent': 'parley',
  };
  if (config.token) headers['x-a2a-notification-token'] = config.token;
  const { schemes = [], credentials } = config.authentication ?? {};
  const scheme = schemes.find((name) => /^(bearer|basic)$/i.test(name)) ?? schemes[0];
  if (scheme && credentials) {
    // Clients may send `user:password` in plain text, but the header needs it in base64.
    const plain = /^basic$/i.test(scheme) && credentials.includes(':');
    const value = plain ? Buffer.from(credentials).toString('base64') : credentials;
    headers['authorization'] = `${scheme} ${value}`;
  }
  return headers;
}

/** Returns the headers of Standard Webhooks. `v1a` is the asymmetric signature, Ed25519. */
function signatureOf(
  id: string,
  body: string,
  signing: SigningKeys | undefined,
): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (!signing) return headers;
  const signature = signing.sign(`${id}.${timestamp}.${body}`).toString('base64');
  return { ...headers, 'webhook-signature': `v1a,${signature}` };
}

/** Returns the outcome for an HTTP status. Only status 410 ends a webhook. All other failures may be temporary. */
function outcomeOf(status: number, retryAfter: string | undefined): DeliveryOutcome {
  if (status >= 200 && status < 300) return 'taken';
  if (status === 410) return 'gone';
  return { failed: `HTTP ${status}`, retryAfterMs: retryAfterMs(retryAfter) };
}
