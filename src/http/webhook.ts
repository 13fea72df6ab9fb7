/**
 * Delivers webhooks over HTTP. A request has the format of the protocol version in which the webhook was configured.
 *
 * The client chooses the URL, so requests are restricted: by default, private networks are not allowed, and redirects
 * are never followed.
 */
import { randomUUIDv7 } from 'node:crypto';
import { guardedRequest, networkGuard } from '../base/net/index.ts';
import { reasonOf } from '../base/index.ts';
import {
  A2AError,
  codecOf,
  type ProtocolVersion,
  type PushNotificationConfig,
} from '../protocol/index.ts';
import type { Deliver, Delivery, DeliveryOutcome, PushRecord } from '../tasks/index.ts';

/** The options of `webhookDelivery`. */
export interface WebhookOptions {
  /** Private networks that webhooks may reach, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  readonly timeoutMs?: number;
}

/**
 * Makes a `Deliver` that sends webhooks over HTTP, by default only to public addresses.
 *
 *   createHandler(agent, { deliver: webhookDelivery({ allowNetworks: ['10.0.0.0/8'] }) });
 */
export function webhookDelivery(options: WebhookOptions = {}): Deliver {
  const { timeoutMs = 15_000 } = options;
  const guard = networkGuard(options.allowNetworks);

  async function post(
    { config, version }: PushRecord,
    body: string,
    signal: AbortSignal,
  ): Promise<DeliveryOutcome> {
    const response = await guardedRequest(guard, config.url, {
      method: 'POST',
      headers: { ...headersOf(config, version), 'content-length': Buffer.byteLength(body) },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    // Only the status is needed, so the body is not read.
    response.on('error', () => {});
    response.destroy();
    return outcomeOf(response.statusCode ?? 0);
  }

  /** Throws if the URL itself is not allowed. The address of its host is checked at each request. */
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
      // In 0.3, a client may omit the id. It can then read the configuration with the id `default`.
      return { ...config, id: config.id ?? (version === '0.3' ? 'default' : randomUUIDv7()) };
    },
    async prepare(delivery) {
      const body = await bodyOf(delivery);
      return body === undefined ? undefined : (signal) => post(delivery.record, body, signal);
    },
  };
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

/**
 * Returns the body of the request. In 1.0, this is the event. In 0.3, it is the whole task, or undefined for an
 * artifact update, which is not sent.
 */
async function bodyOf({ record, entry, task }: Delivery): Promise<string | undefined> {
  const codec = codecOf(record.version, 'JSONRPC');
  if (record.version === '1.0') return entry.text(codec);
  const whole = entry.event.kind === 'artifact-update' ? undefined : await task();
  return whole && JSON.stringify(codec.encodeEvent(whole));
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

/** Returns the outcome for an HTTP status. Only temporary failures of the receiver are retried. */
function outcomeOf(status: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return 'taken';
  const passing = status >= 500 || status === 408 || status === 425 || status === 429;
  return passing ? 'failed' : 'refused';
}
