/** Reads received push notifications. */
import { isObject } from '../base/index.ts';
import { A2AError, v1, v03, type StreamEvent } from '../protocol/index.ts';
import { Lifetime, parseJson, readBodyText } from './connection/request.ts';

/** The options of `readNotification`. */
export interface NotificationOptions {
  /** The token of the push configuration. Both versions send it in `X-A2A-Notification-Token`. */
  readonly token?: string | undefined;
  /** The complete `Authorization` header that the push configuration requires, such as `Bearer abc`. */
  readonly authorization?: string | undefined;
  /** Maximum size of the body in bytes. Default: 32 MiB. */
  readonly maxBytes?: number | undefined;
}

/**
 * Checks the credentials of a push notification and reads its content: the task in 0.3, any event in 1.0. Throws
 * `unauthenticated` if the credentials are wrong, and `invalidAgentResponse` if the body is not a notification.
 *
 *   const event = await readNotification(request, { token });
 */
export async function readNotification(
  request: Request,
  options: NotificationOptions,
): Promise<StreamEvent> {
  const { token, authorization, maxBytes = 2 ** 25 } = options;
  const checks: [string | undefined, string][] = [
    [token, 'x-a2a-notification-token'],
    [authorization, 'authorization'],
  ];
  for (const [expected, header] of checks) {
    if (expected !== undefined && !(await equal(request.headers.get(header) ?? '', expected))) {
      throw new A2AError('unauthenticated', 'The notification has no valid credentials');
    }
  }
  const lifetime = new Lifetime([request.signal]);
  try {
    const body = parseJson(await readBodyText(request, maxBytes, lifetime));
    return (isObject(body) && typeof body['kind'] === 'string' ? v03 : v1).decodeEvent(body);
  } finally {
    lifetime.release();
  }
}

/** Compares the digests of two texts, so that the time does not reveal how much of a guess is right. */
async function equal(a: string, b: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [one, other] = await Promise.all(
    [a, b].map((text) => crypto.subtle.digest('SHA-256', encoder.encode(text))),
  );
  if (one === undefined || other === undefined) return false;
  const right = new Uint8Array(other);
  let difference = 0;
  for (const [at, byte] of new Uint8Array(one).entries()) difference |= byte ^ (right[at] ?? 0);
  return difference === 0;
}
