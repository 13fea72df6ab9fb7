/**
 * `fetch` functions for addresses that are not trusted. Requests to private networks are refused, unless the operator
 * has allowed the network.
 */
import type { IncomingMessage } from 'node:http';
import { hostNameOf, isThisMachine } from '../loopback.ts';
import { guardedRequest } from './guarded-request.ts';
import { networkGuard } from './network-guard.ts';

const RESPONSE_MS = 60_000;

export interface GuardedFetchOptions {
  /** Private networks that are allowed, in CIDR notation. */
  readonly allowNetworks?: readonly string[] | undefined;
  /**
   * Maximum time in milliseconds until the response starts. A streamed body may take longer. Default: 60 seconds. 0
   * means no timeout.
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Returns a `fetch` function for an address that is not trusted. It supports a method, headers, a body of text or
 * bytes, a signal, and a streamed response. It never follows redirects, because the credentials in the headers are
 * meant only for the original host. It ignores the option `redirect`, and returns the response with the redirect. The
 * caller can then follow a redirect to the same origin, or treat it as a failure.
 */
export function guardedFetch(options: GuardedFetchOptions = {}): typeof globalThis.fetch {
  const { allowNetworks, timeoutMs = RESPONSE_MS } = options;
  const guard = networkGuard(allowNetworks);
  /**
   * Keeps the Request of each response alive. The signal of a garbage-collected Request would no longer follow the
   * caller's signal.
   */
  const requests = new WeakMap<IncomingMessage, readonly unknown[]>();

  return async (input, init) => {
    const request = new Request(input, init);
    const timeout = new AbortController();
    const timer =
      timeoutMs > 0
        ? setTimeout(() => timeout.abort(new Error('there was no response')), timeoutMs)
        : undefined;
    try {
      const response = await guardedRequest(guard, request.url, {
        method: request.method,
        // Compression is turned off, because this function does not decompress responses.
        headers: { ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' },
        body: request.body === null ? undefined : new Uint8Array(await request.arrayBuffer()),
        signal: AbortSignal.any([init?.signal ?? request.signal, timeout.signal]),
      });
      requests.set(response, [input, request]);
      return toWebResponse(response, request.url);
    } catch (error) {
      timeout.signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

/**
 * Returns a `fetch` function for the server at `address` and for the URLs that this server names. Requests to the
 * server's own host use the global `fetch` without a guard. If the server is on this machine, all requests to this
 * machine also use the global `fetch`. All other requests use `guardedFetch`. Redirects are never followed, because the
 * server could redirect to a private address. If a request without a guard is redirected and the option `redirect` is
 * `error`, the function rejects. Otherwise, it returns the response with the redirect.
 */
export function fetchNamedBy(
  address: string,
  options: GuardedFetchOptions = {},
): typeof globalThis.fetch {
  const others = guardedFetch(options);
  return (input, init) => {
    const isOwn = isNamedFreely(address, input instanceof Request ? input.url : input);
    if (!isOwn) return others(input, init);
    const redirect = init?.redirect === 'error' ? 'error' : 'manual';
    return globalThis.fetch(input, { ...init, redirect });
  };
}

/**
 * Returns whether the server at `address` may name this URL even if the URL is in a private network. This is the case
 * if the URL has the server's own host, or if the URL and the server are both on this machine.
 */
export function isNamedFreely(address: string, url: string | URL): boolean {
  const named = hostNameOf(address);
  const host = hostNameOf(url);
  return host === named || (isThisMachine(host) && isThisMachine(named));
}

function toWebResponse(response: IncomingMessage, url: string): Response {
  const status = response.statusCode ?? 500;
  if (status < 200 || status > 599) {
    // `Response` does not accept this status. The body is not read, so the connection is closed.
    response.destroy();
    throw new Error(`the server responded with the invalid status ${status}`);
  }
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) response.resume();
  const { Readable } = process.getBuiltinModule('node:stream');
  // The cast is needed, because `toWeb` returns Node's own stream type. `Response` accepts this stream.
  const body = empty ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array<ArrayBuffer>>);
  // A constructed response has no URL, but error messages need the URL.
  return Object.defineProperty(new Response(body, { status, headers }), 'url', { value: url });
}
