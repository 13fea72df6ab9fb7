/**
 * A `fetch` function for MCP servers whose URL is not trusted. Private networks are not allowed. Redirects are not
 * followed, because a token in a header is meant only for this host.
 */
import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { guardedRequest, networkGuard } from '../../base/net/index.ts';

/** Timeout until the response starts. A streamed body may take longer. */
const RESPONSE_MS = 60_000;

/**
 * Returns a `fetch` function with the features that an MCP client needs: a method, headers, a body of text or bytes, a
 * signal, and a streamed response.
 */
export function guardedFetch(
  options: { readonly allowNetworks?: readonly string[] | undefined } = {},
): typeof fetch {
  const guard = networkGuard(options.allowNetworks);
  /** The signal of a Request stops following the caller's signal when the Request is garbage-collected. */
  const requests = new WeakMap<IncomingMessage, readonly unknown[]>();

  return async (input, init) => {
    const request = new Request(input, init);
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(new Error('there was no response')), RESPONSE_MS);
    try {
      const response = await guardedRequest(guard, request.url, {
        method: request.method,
        // Compression is turned off, because this function does not decompress responses.
        headers: { ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' },
        body: request.body === null ? undefined : new Uint8Array(await request.arrayBuffer()),
        signal: AbortSignal.any([init?.signal ?? request.signal, timeout.signal]),
      });
      requests.set(response, [input, request]);
      return toWebResponse(response);
    } catch (error) {
      timeout.signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

function toWebResponse(response: IncomingMessage): Response {
  const status = response.statusCode ?? 500;
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) response.resume();
  // The cast is needed because `toWeb` returns Node's own type of a web stream. `Response` accepts it.
  const body = empty ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array<ArrayBuffer>>);
  return new Response(body, { status, headers });
}
