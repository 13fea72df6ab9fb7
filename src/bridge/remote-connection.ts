/**
 * The way to a remote agent. Its card is looked for when it is first needed and kept; each run has a client of its own,
 * with the run's credentials and limits, over the same pool of connections.
 *
 * Credentials go to the origin that the address names, and to no other: neither a redirect nor a card can lead them
 * elsewhere, unless `origins` allows it.
 */
import type { CanceledRun, SessionKey } from '../agent/index.ts';
import {
  connect,
  ConnectionError,
  discover,
  type AgentClient,
  type FoundCard,
  type Preference,
  type RetryOptions,
} from '../client/index.ts';
import type { AgentCard } from '../protocol/index.ts';
import { quote, RemoteAgentError, type RemoteLimits } from './remote-limits.ts';

/** What a request is for, to those who make its headers. */
export interface RemoteRequest {
  readonly url: string;
  readonly method: string;
  readonly session: SessionKey;
  readonly runId: string;
}

type Headers = Readonly<Record<string, string>>;

export interface RemoteConnectionOptions extends Preference {
  /** The agent's address, or its card's. */
  readonly url: string | URL;
  /** For every request; a function is asked each time, and may wait: credentials, usually. */
  readonly headers?: Headers | ((request: RemoteRequest) => Headers | Promise<Headers>);
  /** Further origins that the card may lead to. */
  readonly origins?: readonly string[];
  /** URIs of the extensions to name in every request. */
  readonly extensions?: readonly string[];
  readonly retry?: RetryOptions;
  readonly fetch?: typeof globalThis.fetch;
}

export interface RemoteConnection {
  /** The card that was found last. */
  readonly card: AgentCard | undefined;
  /** A client for one run. `stop` is aborted when the remote sends too much. */
  open(
    run: Pick<CanceledRun, 'runId' | 'session' | 'signal'>,
    stop: AbortController,
  ): Promise<AgentClient>;
  /** The card may be out of date: it is looked for again when it is next needed. */
  forget(): void;
}

export function remoteConnection(
  options: RemoteConnectionOptions,
  limits: Required<RemoteLimits>,
): RemoteConnection {
  const { version, binding, extensions, retry } = options;
  const address = new URL(options.url).href;
  const origins = new Set([address, ...(options.origins ?? [])].map((url) => new URL(url).origin));
  let found: FoundCard | undefined;
  let stale = false;

  return {
    get card() {
      return found?.card;
    },
    async open({ session, runId, signal }, stop) {
      const { headers } = options;
      const http = {
        version,
        binding,
        extensions,
        headers:
          typeof headers === 'function'
            ? (request: { url: string; method: string }) => headers({ ...request, session, runId })
            : headers,
        fetch: counting(options.fetch ?? globalThis.fetch, limits.maxBytes, stop),
        // How long an answer may take, the call itself sees to.
        timeoutMs: 0,
        idleTimeoutMs: limits.idleMs,
        maxEventBytes: limits.maxEventBytes,
        maxResponseBytes: limits.maxEventBytes,
      };
      const stopped = AbortSignal.any([signal, stop.signal]);
      if (!found || stale) {
        found = restrictToOrigins(origins, await discover(address, { ...http, signal: stopped }));
        stale = false;
      }
      return connect(found.url, { ...http, card: found.card, retry });
    },
    forget() {
      stale = true;
    },
  };
}

/** The card with those of its interfaces that credentials may go to. */
export function restrictToOrigins(
  origins: ReadonlySet<string>,
  { card, url }: FoundCard,
): FoundCard {
  const supportedInterfaces = card.supportedInterfaces.filter(
    (offer) => URL.canParse(offer.url, url) && origins.has(new URL(offer.url, url).origin),
  );
  if (supportedInterfaces.length > 0) return { card: { ...card, supportedInterfaces }, url };
  const offers = quote(card.supportedInterfaces.map((offer) => offer.url).join(', '));
  throw new RemoteAgentError(
    'remote-untrusted',
    `the card at ${url} leads to another origin (${offers}); name it in \`origins\` if you trust it`,
  );
}

/** Fetches, and stops everything once more bytes have come than are borne with. */
function counting(
  fetch: typeof globalThis.fetch,
  maxBytes: number,
  stop: AbortController,
): typeof globalThis.fetch {
  let bytes = 0;
  return async (input, init) => {
    const response = await fetch(input, init);
    const reader = response.ok ? response.body?.getReader() : undefined;
    if (!reader) return response;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            return;
          }
          bytes += value.byteLength;
          if (bytes > maxBytes) {
            const error = new RemoteAgentError(
              'remote-limit',
              `it sent more than ${maxBytes} bytes`,
            );
            stop.abort(error);
            throw error;
          }
          controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers, url } = response;
    // A response that one makes has no address, and errors name it.
    return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', {
      value: url,
    });
  };
}

/** Nobody listened, so nothing was sent: the one failure after which to send again is safe with any server. */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof ConnectionError) || error.reason !== 'unreachable') return false;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && cause.code === 'ECONNREFUSED') return true;
  }
  return false;
}
