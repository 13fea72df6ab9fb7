/**
 * Fetches a web page whose URL is not trusted. Private networks are not allowed, except those in `allowNetworks`.
 * Redirects are followed only on the same host, because a person approves requests to one host. Size and time are
 * limited.
 */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ByteCollector, reasonOf } from '../../base/index.ts';
import { ToolError } from '../../agent/index.ts';
import { AddressError, guardedRequest, networkGuard } from '../../base/net/index.ts';

export interface FetchPageOptions {
  /** Private networks that are allowed, in CIDR notation. */
  readonly allowNetworks?: readonly string[] | undefined;
  /** Time limit for a page with all its redirects. Default: 30 seconds. */
  readonly timeoutMs?: number;
  /** Maximum size of the decompressed body in bytes. Only the start of a larger body is read. Default: 2 MB. */
  readonly maxBytes?: number;
}

export interface Page {
  /** The URL after all redirects that were followed. */
  readonly url: URL;
  readonly status: number;
  /** The media type in lower case, without parameters. */
  readonly mediaType: string;
  readonly charset: string;
  readonly body: Buffer;
  /** True if the body was longer than `maxBytes`. */
  readonly cut: boolean;
  /** The target of a redirect to another host. The target was not requested, and `body` is empty. */
  readonly redirect?: URL;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 2 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const MAX_URL = 4096;
const HEADERS = {
  'user-agent': 'parley',
  accept: 'text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1',
  'accept-encoding': 'gzip, br, deflate',
};

/** Thrown if a page cannot be fetched, if it is an error page, or if it is not text. The message is one line. */
export class FetchError extends ToolError {
  override readonly name = 'FetchError';
}

/**
 * Returns a function that fetches a page. The function throws a FetchError if the page cannot be fetched, or the
 * signal's reason if the signal is aborted.
 *
 *     const page = await pageFetcher()('https://example.com/', signal);
 */
export function pageFetcher(options: FetchPageOptions = {}) {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = options;
  const guard = networkGuard(options.allowNetworks);

  function parse(text: string, base?: URL): URL {
    const url = guard.parse(text, base);
    if (url.href.length > MAX_URL) throw new FetchError('invalid_arguments', 'the URL is too long');
    return url;
  }

  return async function fetchPage(text: string, signal: AbortSignal): Promise<Page> {
    const timeout = AbortSignal.timeout(timeoutMs);
    let host = '';
    try {
      let url = parse(text);
      for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
        host = url.host;
        const response = await guardedRequest(guard, url.href, {
          headers: HEADERS,
          signal: AbortSignal.any([signal, timeout]),
        });
        const status = response.statusCode ?? 0;
        const { location } = response.headers;
        if (status < 300 || status >= 400 || location === undefined) {
          return { url, status, ...typeOf(response), ...(await bodyOf(response, maxBytes)) };
        }
        response.on('error', () => {});
        response.destroy();
        const next = parse(location, url);
        if (next.host !== url.host && !isSameHostWithTls(url, next)) {
          const empty = { mediaType: '', charset: '', body: Buffer.alloc(0), cut: false };
          return { url, status, ...empty, redirect: next };
        }
        url = next;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FetchError) throw error;
      const reason = reasonOf(error);
      const isDenied = error instanceof AddressError;
      if (isDenied && host === '') throw new FetchError('denied', reason);
      const type = timeout.aborted ? 'timeout' : isDenied ? 'denied' : 'network';
      const why = timeout.aborted ? `it took longer than ${timeoutMs / 1000} seconds` : reason;
      throw new FetchError(type, `${host} could not be fetched: ${why}`, { cause: error });
    }
    throw new FetchError('network', `${host} redirects more than ${MAX_REDIRECTS} times`);
  };
}

/** Returns whether a redirect goes from http to https on the same host, both on the default port. */
function isSameHostWithTls(from: URL, to: URL): boolean {
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

const DECODERS = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

async function bodyOf(response: IncomingMessage, maxBytes: number) {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const decoder = DECODERS.get(encoding)?.();
  if (!decoder && encoding !== 'identity') {
    response.destroy();
    throw new FetchError(
      'tool_error',
      `the page has an unknown content encoding: "${encoding.slice(0, 50)}"`,
    );
  }
  if (decoder) response.once('error', (error) => decoder.destroy(error));
  const stream: Readable = decoder ? response.pipe(decoder) : response;
  const collector = new ByteCollector();
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      collector.add(bytes.subarray(0, maxBytes - size));
      size += bytes.length;
      if (size > maxBytes) break;
    }
  } finally {
    response.destroy();
  }
  return { body: Buffer.from(collector.bytes()), cut: size > maxBytes };
}
