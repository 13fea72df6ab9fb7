/**
 * The fetch that vendors' packages are given. It does not follow redirects, because the key would go along to wherever
 * they point, and it ends an answer that does not end by itself.
 */

/** Of one answer, as it comes from the wire. Pictures come in base64, and every token in a JSON object of its own. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;

export function guardedFetch(maxBytes = MAX_RESPONSE_BYTES): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await globalThis.fetch(input, { ...init, redirect: 'error' });
    if (response.body === null) return response;
    let bytes = 0;
    const limited = response.body.pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          bytes += chunk.length;
          if (bytes > maxBytes) {
            controller.error(new Error(`the answer is over ${maxBytes} bytes`));
          } else {
            controller.enqueue(chunk);
          }
        },
      }),
    );
    const { status, statusText, headers } = response;
    return new Response(limited, { status, statusText, headers });
  };
}
