/**
 * Webhook deliveries over HTTP. A request is written in the protocol version in which the webhook was configured.
 *
 * The client chose the URL, so requests are guarded: private networks are closed, and redirects are not followed.
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

/** Where webhooks may go, and their timeout. */
export interface WebhookOptions {
  /** Private networks that webhooks may reach, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  readonly timeoutMs?: number;
}

/**
 * Delivers webhooks over HTTP, by default only to public addresses.
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
    const response = await guardedRequest(guard, new URL(config.url), {
      method: 'POST',
      headers: { ...headersOf(config, version), 'content-length': Buffer.byteLength(body) },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    // Only the status counts: the body is not read.
    response.on('error', () => {});
    response.destroy();
    return outcomeOf(response.statusCode ?? 0);
  }

  /** Refuses a URL that must not be requested, whatever its host name resolves to. */
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
      // 0.3 lets a client leave the id out, and then ask for the configuration under this name.
      return { ...config, id: config.id ?? (version === '0.3' ? 'default' : randomUUIDv7()) };
    },
    async prepare(delivery) {
      const body = await bodyOf(delivery);
      return body === undefined ? undefined : (signal) => post(delivery.record, body, signal);
    },
  };
}

/** The token and the credentials are sent in headers. */
function checkSecrets({ token = '', authentication }: PushNotificationConfig): void {
  const secrets = [token, authentication?.credentials ?? '', ...(authentication?.schemes ?? [])];
  if (secrets.some((secret) => !/^[\x20-\x7e]*$/.test(secret))) {
    throw new A2AError(
      'invalidParams',
      'The token and the credentials of a webhook must be printable ASCII',
    );
  }
}

/** 1.0 sends each event. 0.3 sends the whole task, and only when its status changed. */
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
    // Clients may give `user:password` in plain text; the header needs it in base64.
    const plain = /^basic$/i.test(scheme) && credentials.includes(':');
    const value = plain ? Buffer.from(credentials).toString('base64') : credentials;
    headers['authorization'] = `${scheme} ${value}`;
  }
  return headers;
}

/** Temporary failures of the receiver are retried; other error statuses are final. */
function outcomeOf(status: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return 'taken';
  const passing = status >= 500 || status === 408 || status === 425 || status === 429;
  return passing ? 'failed' : 'refused';
}
