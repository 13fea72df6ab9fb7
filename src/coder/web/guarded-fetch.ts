/**
 * `fetch` for addresses that somebody else named: private networks are closed, checked at the moment of connecting, and
 * redirects are not followed, because what goes along (a token in a header) was meant for this host alone.
 *
 * It has what a client of an MCP server needs: method, headers, a body of text or bytes, the signal, a streamed answer.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { addressGuard, guardedLookup, literalAddress } from '../../http/index.ts';

/** To be answered at all; what is streamed afterwards may take its time. */
const ANSWER_MS = 60_000;

export function guardedFetch(
  options: { readonly allowNetworks?: readonly string[] | undefined } = {},
): typeof fetch {
  const allowed = addressGuard(options.allowNetworks);
  const lookup = guardedLookup(allowed);

  return async (input, init) => {
    const request = new Request(input, { ...init, redirect: 'manual' });
    const url = new URL(request.url);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new TypeError('only http and https addresses can be reached');
    }
    const literal = literalAddress(url);
    if (literal !== undefined && !allowed(literal)) {
      throw new TypeError(`${url.hostname} is in a private network, which is closed`);
    }
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
      const headers = Object.fromEntries(request.headers);
      const sent = process.getBuiltinModule(module).request(url, {
        method: request.method,
        // Compressed answers would have to be unpacked here.
        headers: { ...headers, 'accept-encoding': 'identity' },
        lookup,
        // A connection of its own: one from a pool might have been made past the guard.
        agent: false,
        signal: request.signal,
      });
      const late = setTimeout(() => sent.destroy(new Error('there was no answer')), ANSWER_MS);
      sent.once('close', () => {
        clearTimeout(late);
        reject(new Error('the connection was closed without an answer'));
      });
      sent.once('error', reject);
      sent.once('response', (response) => {
        clearTimeout(late);
        resolve(response);
      });
      sent.end(body);
    });
    return responseOf(answer);
  };
}

function responseOf(answer: IncomingMessage): Response {
  const status = answer.statusCode ?? 500;
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) answer.resume();
  // Node's own type of a web stream, which is the one that Response takes.
  const body = empty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array<ArrayBuffer>>);
  return new Response(body, { status, headers });
}
