/** The receiving end of a push notification. */
import { isObject } from '../base/index.ts';
import { A2AError, v1, v03, type StreamEvent } from '../protocol/index.ts';
import { Lifetime, parseJson, readBodyText } from './connection/request.ts';

/** How a push notification is authenticated. */
export interface NotificationOptions {
  /** The token that the configuration was set with; 0.3 and 1.0 send it in `X-A2A-Notification-Token`. */
  readonly token?: string | undefined;
  /** The whole `Authorization` header that the configuration asked for, such as `Bearer abc`. */
  readonly authorization?: string | undefined;
  /** 32 MB. */
  readonly maxBytes?: number | undefined;
}

/**
 * Checks who sends a push notification, and reads what it says: the task in 0.3, any event in 1.0. Throws
 * `unauthenticated`, or `invalidAgentResponse` for what is no notification.
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
      throw new A2AError('unauthenticated', 'This notification is not from whom it should be');
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

/** Compares digests, so that the time it takes says nothing about how much of a guess was right. */
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
