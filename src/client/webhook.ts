/** Reads received push notifications. */
import { isObject, raceAbort } from '../base/index.ts';
import { A2AError, v1, v03, type ProtocolVersion, type StreamEvent } from '../protocol/index.ts';
import { ConnectionError } from './connection/errors.ts';
import type { PublicJwk } from './connection/jws.ts';
import { Lifetime, parseJson, readBodyText } from './connection/request.ts';
import { MAX_ID_CHARS, webhookVerifier, type WebhookVerifier } from './webhook-signature.ts';

/** The options of `readNotification`. */
export interface NotificationOptions {
  /**
   * The token of the push configuration. Servers of A2A 0.3 and 1.0 send it in the header `X-A2A-Notification-Token`.
   * An empty string is refused with a TypeError.
   */
  readonly token?: string | undefined;
  /**
   * The complete `Authorization` header that the push configuration requires, such as `Bearer abc`. An empty string is
   * refused with a TypeError.
   */
  readonly authorization?: string | undefined;
  /** Public keys of the agents' servers, as JSON. With keys, a notification must be signed. */
  readonly keys?: readonly PublicJwk[] | undefined;
  /** Maximum size of the body in bytes. Default: 32 MiB. */
  readonly maxBytes?: number | undefined;
}

/** The default of `maxBytes`. */
export const MAX_NOTIFICATION_BYTES = 2 ** 25;
const BODY_TIMEOUT_MS = 30_000;

/**
 * Checks the credentials and the signature of a push notification and reads its content: the task in 0.3, any event in
 * 1.0. Throws `unauthenticated` if the credentials or the signature are wrong, and `invalidAgentResponse` if the body
 * is too large or is not a notification. Throws a ConnectionError if the body does not arrive completely within 30
 * seconds. Does not recognize repeated notifications. Use `webhookReceiver` for that.
 *
 *   const event = await readNotification(request, { token });
 */
export async function readNotification(
  request: Request,
  options: NotificationOptions,
): Promise<StreamEvent> {
  return (await openNotification(incoming(request), options, webhookVerifier(options))).event;
}

/** A request to a webhook, independent of the server that received it. */
export interface IncomingNotification {
  readonly method: string;
  readonly signal?: AbortSignal | undefined;
  header(name: string): string | undefined;
  /** The body. It is read only after the headers were checked. */
  body(): Pick<Response, 'body' | 'url'>;
}

export function incoming(request: Request): IncomingNotification {
  return {
    method: request.method,
    signal: request.signal,
    header: (name) => request.headers.get(name) ?? undefined,
    body: () => request,
  };
}

/** A notification whose credentials and signature are valid. */
export interface OpenedNotification {
  readonly event: StreamEvent;
  readonly version: ProtocolVersion;
  /** The id of the notification, which is the same in every attempt to deliver it. */
  readonly id: string | undefined;
  /** A name of the server that signed the notification (`WebhookVerifier.verify`). Empty without signatures. */
  readonly sender: string;
  /** The body. */
  readonly text: string;
}

/**
 * Throws a TypeError if a credential is an empty string, for example because an environment variable is not set.
 * Without this check, a request without the header would be accepted.
 */
export function checkCredentials({ token, authorization }: NotificationOptions): void {
  if (token !== '' && authorization !== '') return;
  const name = token === '' ? 'token' : 'authorization';
  throw new TypeError(
    `\`${name}\` is an empty string, so anybody could send notifications: set a value, or omit the option`,
  );
}

/** Checks and reads a notification. The headers are checked before the body is read. */
export async function openNotification(
  request: IncomingNotification,
  options: NotificationOptions,
  verifier: WebhookVerifier | undefined,
): Promise<OpenedNotification> {
  checkCredentials(options);
  const { token, authorization, maxBytes = MAX_NOTIFICATION_BYTES } = options;
  const checks: [string | undefined, string][] = [
    [token, 'x-a2a-notification-token'],
    [authorization, 'authorization'],
  ];
  for (const [expected, header] of checks) {
    if (expected !== undefined && !(await equal(request.header(header) ?? '', expected))) {
      throw new A2AError('unauthenticated', 'The notification has no valid credentials');
    }
  }
  const head = verifier?.head((name) => request.header(name));
  const lifetime = new Lifetime([request.signal]);
  const late = () => new ConnectionError('timeout', 'the body of the notification took too long');
  lifetime.totalTimeout(BODY_TIMEOUT_MS, late);
  try {
    const reading = readBodyText(request.body(), maxBytes, lifetime);
    const text = await raceAbort(reading, lifetime.signal);
    const sender = head && verifier ? await verifier.verify(head, text) : '';
    const body = parseJson(text);
    const version = isObject(body) && typeof body['kind'] === 'string' ? '0.3' : '1.0';
    const event = (version === '0.3' ? v03 : v1).decodeEvent(body);
    const id = head?.id ?? request.header('webhook-id');
    if (id !== undefined && id.length > MAX_ID_CHARS) {
      throw new A2AError('invalidAgentResponse', 'The id of the notification is too long');
    }
    return { event, version, id, sender, text };
  } finally {
    lifetime.release();
  }
}

/** Returns the SHA-256 digest of a text. */
export async function digestOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

/** Compares the digests of two texts, so that the duration does not reveal how many characters of a guess are right. */
async function equal(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([digestOf(a), digestOf(b)]);
  let difference = 0;
  for (const [at, byte] of one.entries()) difference |= byte ^ (other[at] ?? 0);
  return difference === 0;
}
