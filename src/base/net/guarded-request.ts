import type { IncomingMessage, RequestOptions } from 'node:http';
import type { NetworkGuard } from './network-guard.ts';

export interface GuardedRequestOptions extends Pick<RequestOptions, 'method' | 'headers'> {
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to a URL that comes from an untrusted source, and returns the response. The guard checks the address
 * when the connection is made. Redirects are not followed. The caller must read or destroy the body.
 */
export async function guardedRequest(
  guard: NetworkGuard,
  address: string,
  { body, ...options }: GuardedRequestOptions,
): Promise<IncomingMessage> {
  // The address is checked here, because `lookup` is not called for a URL that contains an IP address.
  const url = guard.parse(address);
  return new Promise((resolve, reject) => {
    // An import of node:http would also load undici, which takes most of the start-up time.
    const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
    const request = process.getBuiltinModule(module).request(url, {
      ...options,
      lookup: guard.lookup,
      // `false` opens a new connection. A pooled connection may have been opened without the guard.
      agent: false,
    });
    request.once('response', resolve);
    request.once('error', reject);
    // After status 101, neither `response` nor `error` is emitted. If the promise is already settled, this call has
    // no effect.
    request.once('close', () => reject(new Error('the connection was closed without a response')));
    request.end(body);
  });
}
