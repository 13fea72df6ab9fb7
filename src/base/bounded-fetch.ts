/**
 * Returns a copy of the response whose body fails as soon as `check` throws. `check` is called with each chunk before
 * the reader receives the chunk, so it can limit the size of the response. A response without a body is returned as it
 * is.
 *
 *     let bytes = 0;
 *     limitBody(response, (chunk) => {
 *       if ((bytes += chunk.byteLength) > 1000) throw new Error('the response is too large');
 *     });
 */
export function limitBody(response: Response, check: (chunk: Uint8Array) => void): Response {
  const reader = response.body?.getReader();
  if (!reader) return response;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        try {
          check(value);
        } catch (error) {
          // The connection is no longer needed.
          reader.cancel(error).catch(() => undefined);
          throw error;
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers, url } = response;
  // A constructed response has no URL, but error messages need the URL.
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', {
    value: url,
  });
}

/**
 * Returns a `fetch` for servers that the operator has chosen. It rejects if the server redirects. Otherwise headers
 * with credentials, such as `x-api-key`, would be sent to the new address. Reading a body fails if the body is larger
 * than `maxBytes`.
 */
export function boundedFetch(
  maxBytes: number,
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): typeof globalThis.fetch {
  return async (input, init) => {
    let bytes = 0;
    const response = await fetch(input, { ...init, redirect: 'error' });
    return limitBody(response, (chunk) => {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`);
    });
  };
}
