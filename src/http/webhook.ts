/**
 * Webhooks on the wire: what a request says, in the version on which the webhook was set, and how it gets there.
 *
 * They go through a guarded dialler: the address is checked at the moment of connecting, after the name was resolved,
 * so that no name can point inside later. Redirects are not followed.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { RequestOptions } from 'node:http';
import { A2AError, codecOf, type PushNotificationConfig } from '../protocol/index.ts';
import type { Deliver, Delivery, DeliveryOutcome, PushRecord } from '../tasks/index.ts';
import { addressGuard, guardedLookup, literalAddress } from './addresses.ts';

export interface WebhookOptions {
  /** Private networks that webhooks may reach, in CIDR notation. */
  readonly allowNetworks?: readonly string[];
  readonly timeoutMs?: number;
}

export function webhookDelivery(options: WebhookOptions = {}): Deliver {
  const { timeoutMs = 15_000 } = options;
  const allowed = addressGuard(options.allowNetworks);

  const lookup = guardedLookup(allowed);

  /** Throws for what is wrong whatever the name resolves to. */
  function check(text: string): URL {
    const url = URL.parse(text);
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      throw new A2AError('invalidParams', 'A webhook has an http or https URL');
    }
    if (url.username !== '' || url.password !== '') {
      throw new A2AError('invalidParams', "Credentials do not belong into a webhook's URL");
    }
    const literal = literalAddress(url);
    if (literal !== undefined && !allowed(literal)) {
      throw new A2AError('invalidParams', 'Webhooks to this network are not allowed here');
    }
    return url;
  }

  function post(record: PushRecord, body: string, signal: AbortSignal): Promise<DeliveryOutcome> {
    const url = check(record.config.url);
    return new Promise((done, fail) => {
      const requestOptions: RequestOptions = {
        method: 'POST',
        headers: { ...headersOf(record), 'content-length': Buffer.byteLength(body) },
        lookup,
        // A connection of its own: one from a pool might have been made past the guard.
        agent: false,
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      };
      // Not by `import`: see serve.ts.
      const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
      const request = process.getBuiltinModule(module).request(url, requestOptions, (response) => {
        // The status is all that counts; the body is not ours to read.
        done(outcomeOf(response.statusCode ?? 0));
        response.on('error', () => {});
        response.destroy();
      });
      request.once('error', fail);
      // After a 101 there is neither a response nor an error. Whoever has settled already does not mind.
      request.once('close', () => fail(new Error('the connection was closed without an answer')));
      request.end(body);
    });
  }

  return {
    accept(config, version) {
      check(config.url);
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

/** They go into headers. */
function checkSecrets({ token = '', authentication }: PushNotificationConfig): void {
  const secrets = [token, authentication?.credentials ?? '', ...(authentication?.schemes ?? [])];
  if (secrets.some((secret) => !/^[\x20-\x7e]*$/.test(secret))) {
    throw new A2AError('invalidParams', "A webhook's token and credentials are printable ASCII");
  }
}

/** 1.0: the event itself. 0.3: the task as it is, whenever its status changed. */
async function bodyOf({ record, entry, task }: Delivery): Promise<string | undefined> {
  const codec = codecOf(record.version, 'JSONRPC');
  if (record.version === '1.0') return entry.text(codec);
  const whole = entry.event.kind === 'artifact-update' ? undefined : await task();
  return whole && JSON.stringify(codec.encodeEvent(whole));
}

function headersOf({ config, version }: PushRecord): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
    'a2a-version': version,
    'user-agent': 'parley',
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

/** What is the receiver's fault for now may be tried again; other refusals will not get better by asking again. */
function outcomeOf(status: number): DeliveryOutcome {
  if (status >= 200 && status < 300) return 'taken';
  const passing = status >= 500 || status === 408 || status === 425 || status === 429;
  return passing ? 'failed' : 'refused';
}
