import type { IncomingMessage, RequestOptions } from 'node:http';
import type { NetworkGuard } from './network-guard.ts';

export interface GuardedRequestOptions extends Pick<RequestOptions, 'method' | 'headers'> {
  readonly body?: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/**
 * Requests a URL that someone else chose, and resolves with the response. The guard checks the address when the
 * connection is made. Redirects are not followed. The caller reads or destroys the body.
 */
export async function guardedRequest(
  guard: NetworkGuard,
  url: URL,
  { body, ...options }: GuardedRequestOptions,
): Promise<IncomingMessage> {
  // A socket does not look up an address that is written out.
  guard.parse(url.href);
  return new Promise((resolve, reject) => {
    // Not imported: node:http as a module namespace loads undici, which takes most of the start-up time.
    const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
    const request = process.getBuiltinModule(module).request(url, {
      ...options,
      lookup: guard.lookup,
      // A new connection: a pooled one may have been opened without the guard.
      agent: false,
    });
    request.once('response', resolve);
    request.once('error', reject);
    // After status 101 there is neither a response nor an error. Does nothing if the promise is settled.
    request.once('close', () => reject(new Error('the connection was closed without a response')));
    request.end(body);
  });
}
