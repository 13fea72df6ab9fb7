import type { IncomingMessage, RequestOptions } from 'node:http';
import type { NetworkGuard } from './network-guard.ts';

export interface GuardedRequestOptions extends Pick<RequestOptions, 'method' | 'headers'> {
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/**
 * Requests a URL that comes from someone else, and returns the response. The guard checks the address when the
 * connection is made. Redirects are not followed. The caller must read or destroy the body.
 */
export async function guardedRequest(
  guard: NetworkGuard,
  address: string,
  { body, ...options }: GuardedRequestOptions,
): Promise<IncomingMessage> {
  // `lookup` is not called if the URL contains an IP address, so this address is checked here.
  const url = guard.parse(address);
  return new Promise((resolve, reject) => {
    // The module is not imported, because the module namespace of node:http loads undici, which takes most of the
    // start-up time.
    const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
    const request = process.getBuiltinModule(module).request(url, {
      ...options,
      lookup: guard.lookup,
      // Always opens a new connection, because a pooled connection may have been opened without the guard.
      agent: false,
    });
    request.once('response', resolve);
    request.once('error', reject);
    // After status 101 there is neither a response nor an error. If the promise is already settled, this has no effect.
    request.once('close', () => reject(new Error('the connection was closed without a response')));
    request.end(body);
  });
}
