/**
 * Gets a page that somebody else named. Private networks are closed, checked at the moment of connecting; redirects are
 * followed only to the same host, because it is a host that people approve; size and time are limited.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { addressGuard, guardedLookup, literalAddress } from '../../http/index.ts';

export interface GuardedGetOptions {
  /** Private networks that are open all the same, in CIDR notation. */
  readonly allowNetworks?: readonly string[] | undefined;
  readonly timeoutMs?: number;
  /** Of the body, decompressed; what is beyond is not read. */
  readonly maxBytes?: number;
}

export interface Page {
  /** Where it was found in the end. */
  readonly url: URL;
  readonly status: number;
  /** Lower case, without parameters. */
  readonly mediaType: string;
  readonly charset: string;
  readonly body: Buffer;
  /** There was more. */
  readonly cut: boolean;
  /** It lies at another host, which was not asked. */
  readonly redirect?: URL;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const MAX_URL = 4096;

/** Why there is no page, in one line. */
export class FetchError extends Error {
  override readonly name = 'FetchError';
}

export function guardedGet(options: GuardedGetOptions = {}) {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = options;
  const allowed = addressGuard(options.allowNetworks);
  const lookup = guardedLookup(allowed);

  /** Throws for what is wrong whatever the name resolves to. */
  function check(text: string, base?: URL): URL {
    const url = URL.parse(text, base?.href);
    if (!url) throw new FetchError(`"${text.slice(0, 200)}" is no URL`);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new FetchError('only http and https addresses can be fetched');
    }
    if (url.href.length > MAX_URL) throw new FetchError('the URL is too long');
    if (url.username !== '' || url.password !== '') {
      throw new FetchError('credentials do not belong into a URL');
    }
    const literal = literalAddress(url);
    if (literal !== undefined && !allowed(literal)) {
      throw new FetchError(`${url.hostname} is in a private network, which is closed`);
    }
    return url;
  }

  function request(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const module = url.protocol === 'https:' ? 'node:https' : 'node:http';
      const sent = process.getBuiltinModule(module).request(
        url,
        {
          headers: {
            'user-agent': 'parley',
            accept: 'text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1',
            'accept-encoding': 'gzip, br, deflate',
          },
          lookup,
          // A connection of its own: one from a pool might have been made past the guard.
          agent: false,
          signal,
        },
        resolve,
      );
      sent.once('error', reject);
      // After a 101 there is neither a response nor an error.
      sent.once('close', () => reject(new Error('the connection was closed without an answer')));
      sent.end();
    });
  }

  return async function get(text: string, signal: AbortSignal): Promise<Page> {
    const limit = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, limit]);
    let url = check(text);
    try {
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        const response = await request(url, either);
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        if (status < 300 || status >= 400 || location === undefined) {
          return { url, status, ...typeOf(response), ...(await bodyOf(response, maxBytes)) };
        }
        response.on('error', () => {});
        response.destroy();
        const next = check(location, url);
        if (next.host !== url.host && !isSecureTwin(url, next)) {
          const empty = { mediaType: '', charset: '', body: Buffer.alloc(0), cut: false };
          return { url, status, ...empty, redirect: next };
        }
        url = next;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FetchError) throw error;
      const why = limit.aborted
        ? `it took longer than ${timeoutMs / 1000} seconds`
        : error instanceof Error
          ? error.message
          : String(error);
      throw new FetchError(`${url.host} could not be fetched: ${why}`, { cause: error });
    }
    throw new FetchError(`${url.host} redirects more than ${MAX_REDIRECTS} times`);
  };
}

/** The same host on https, on the ports that both have of old. */
function isSecureTwin(from: URL, to: URL): boolean {
  return (
    from.protocol === 'http:' &&
    to.protocol === 'https:' &&
    from.hostname === to.hostname &&
    from.port === '' &&
    to.port === ''
  );
}

function typeOf(response: IncomingMessage): { mediaType: string; charset: string } {
  const header = response.headers['content-type'] ?? 'text/plain';
  const mediaType = header.split(';', 1)[0]!.trim().toLowerCase();
  const charset = /;\s*charset\s*=\s*"?([\w:-]+)/i.exec(header)?.[1] ?? 'utf-8';
  return { mediaType, charset };
}

async function bodyOf(
  response: IncomingMessage,
  maxBytes: number,
): Promise<{ body: Buffer; cut: boolean }> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'br'
        ? createBrotliDecompress()
        : encoding === 'deflate'
          ? createInflate()
          : undefined;
  if (!decoder && encoding !== 'identity') {
    response.destroy();
    throw new FetchError(
      `the page is encoded as "${encoding.slice(0, 50)}", which is not understood`,
    );
  }
  if (decoder) response.once('error', (error) => decoder.destroy(error));
  const stream: Readable = decoder ? response.pipe(decoder) : response;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes.subarray(0, maxBytes - size));
      size += bytes.length;
      if (size > maxBytes) break;
    }
  } finally {
    response.destroy();
  }
  return { body: Buffer.concat(chunks), cut: size > maxBytes };
}
