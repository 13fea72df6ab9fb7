/**
 * The API that `parley inspect` offers to the inspector's page. It sends the requests of the page to the agent, because
 * the page itself may send requests only to its own server.
 *
 * Only the origins that the person named on the command line are trusted: they may be in any network, and only they get
 * the headers that the person gave on the command line. Requests to another origin, for example one in the agent's
 * card, are allowed after the person has agreed. Such an origin must have a public address or be on the agent's host.
 * If the agent is on this machine, the origin may be on this machine too.
 */
import * as z from 'zod';
import { isObject, reasonOf, rootCause } from '../../base/index.ts';
import { AddressError, fetchNamedBy } from '../../base/net/index.ts';
import { type AgentCheck, type CheckedAgent, checkInterface } from '../../client/checks/index.ts';
import { ConnectionError, hasOriginOf, interfaceUrl, isGrpc } from '../../client/index.ts';
import { NO_STORE, type JsonRoute } from '../../http/index.ts';
import { A2AError, AgentInterface } from '../../protocol/index.ts';
import type { RelayLine, RelayState } from './relay-format.ts';

/** Maximum number of requests at the same time. */
const MAX_OPEN = 16;
/** Maximum number of origins that the person can add. */
const MAX_ORIGINS = 16;
/** Maximum size of a request of the page. Such a request contains the request to the agent. */
const MAX_BODY_BYTES = 4 * 2 ** 20;
/** Maximum size of a response. */
const MAX_BYTES = 64 * 2 ** 20;
/** Maximum time until a response starts, and the maximum time without data after that. */
const START_MS = 120_000;
const SILENT_MS = 600_000;
/** Maximum time for an answer of the agent over gRPC. */
const TRY_MS = 15_000;

/** Refused headers: those that belong to one connection, and those that change how a proxy reads the request. */
const RESERVED =
  /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|expect|proxy-.*)$/i;

const RelayedRequest = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).default('GET'),
  url: z.string().max(8192),
  headers: z.record(z.string().max(256), z.string().max(16_384)).default({}),
  body: z.string().optional(),
});

const TriedInterface = z.strictObject({
  interface: AgentInterface,
  cardUrl: z.url({ protocol: /^https?$/ }),
  headers: RelayedRequest.shape.headers,
});

export interface AgentRelayOptions {
  /** The agent's address, as the person has given it. */
  readonly url: string;
  /** Headers for requests to the agent and to `trustedOrigins`. The page learns only the names of these headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Other origins that the person has named on the command line. */
  readonly trustedOrigins?: readonly string[] | undefined;
}

/** The required fields of a card, without the list of interfaces. `tryGrpc` adds a list with the checked interface. */
const EMPTY_CARD = {
  name: 'agent',
  description: '',
  version: '',
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

/** The routes of the API. Each needs the token of the person who started `parley inspect`. */
export function inspectorRoutes({
  url: address,
  headers: own = {},
  trustedOrigins = [],
}: AgentRelayOptions): JsonRoute[] {
  const trusted = [address, ...trustedOrigins];
  const agreed = new Set<string>();
  const guarded = fetchNamedBy(address, { timeoutMs: 0 });
  let open = 0;

  const state = (): RelayState => ({
    url: address,
    trusted: trusted.map((each) => new URL(each).origin),
    agreed: [...agreed],
    headers: Object.keys(own),
  });

  /** Allows requests to an origin, because the person has agreed. These requests get no headers of the command line. */
  function agree(text: unknown): void {
    if (typeof text !== 'string') throw new A2AError('invalidParams', 'origin: must be a string');
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
      throw new A2AError('invalidParams', 'origin: must be an origin, such as https://api.example');
    }
    if (!agreed.has(url.origin) && agreed.size >= MAX_ORIGINS) {
      throw new A2AError('invalidParams', `origin: at most ${MAX_ORIGINS} origins can be added`);
    }
    agreed.add(url.origin);
  }

  /** Checks a gRPC interface of the agent. The page cannot do this, because a browser cannot use gRPC. */
  async function tryGrpc(body: unknown): Promise<AgentCheck> {
    const { interface: offer, cardUrl, headers } = parsed(TriedInterface, body);
    if (!isGrpc(offer) || !hasOriginOf(trusted, cardUrl)) {
      throw new A2AError('invalidParams', 'interface: must be a gRPC interface of the agent');
    }
    const url = interfaceUrl(offer, cardUrl);
    const isTrusted = url !== null && hasOriginOf(trusted, url.href);
    const isAllowed = isTrusted || agreed.has(url?.origin ?? '');
    const ended = new AbortController();
    const agent: CheckedAgent = {
      address,
      found: { url: cardUrl, card: { ...EMPTY_CARD, supportedInterfaces: [offer] } },
      optionsFor: () => {
        if (!isAllowed) throw new ConnectionError('untrusted', 'the origin is not allowed');
        return {
          headers: isTrusted ? Object.fromEntries(headersOf({ ...own, ...headers })) : {},
          trustedOrigins: isTrusted ? [url.origin] : [],
          timeoutMs: TRY_MS,
          signal: ended.signal,
        };
      },
    };
    begin();
    try {
      return await checkInterface(agent, offer);
    } finally {
      open--;
      // Closes the connection.
      ended.abort();
    }
  }

  /** Counts a request that begins, or throws if there are too many. */
  function begin(): void {
    if (open >= MAX_OPEN) {
      throw new A2AError('unavailable', `At most ${MAX_OPEN} requests can run at the same time`);
    }
    open++;
  }

  /**
   * Sends a request. Returns the lines of the answer, in the format of relay-format.ts. Throws an A2AError if the
   * request is invalid or not allowed, or if too many requests are running.
   */
  function send(sent: unknown): AsyncIterable<string> {
    const { method, url: text, body, headers: given } = parsed(RelayedRequest, sent);
    const url = URL.parse(text);
    if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
      throw new A2AError('invalidParams', 'url: must be an http address without credentials');
    }
    const isTrusted = hasOriginOf(trusted, url.href);
    if (!isTrusted && !agreed.has(url.origin)) {
      throw new A2AError(
        'forbidden',
        `${url.origin} is not the agent's origin: agree to requests to it first`,
      );
    }
    const headers = headersOf({ ...(isTrusted && own), ...given });
    const request = {
      method,
      headers,
      redirect: 'manual' as const,
      ...(body !== undefined && { body }),
    };
    begin();
    const fetch = isTrusted ? globalThis.fetch : guarded;
    return linesOf(
      (signal) => fetch(url, { ...request, signal }),
      () => open--,
    );
  }

  return [
    {
      verb: 'GET',
      path: '/inspector',
      handle: async () => ({ headers: NO_STORE, body: state() }),
    },
    {
      verb: 'POST',
      path: '/inspector/origins',
      maxBodyBytes: 8192,
      async handle({ body }) {
        agree(isObject(body) ? body['origin'] : undefined);
        return { headers: NO_STORE, body: state() };
      },
    },
    {
      verb: 'POST',
      path: '/inspector/checks',
      maxBodyBytes: 65_536,
      handle: async ({ body }) => ({ headers: NO_STORE, body: await tryGrpc(body) }),
    },
    {
      verb: 'POST',
      path: '/inspector/requests',
      maxBodyBytes: MAX_BODY_BYTES,
      handle: async ({ body }) => ({
        headers: { ...NO_STORE, 'content-type': 'application/x-ndjson' },
        chunks: send(body),
      }),
    },
  ];
}

function parsed<T>(schema: z.ZodType<T>, body: unknown): T {
  const { success, data, error } = schema.safeParse(body);
  if (!success) throw new A2AError('invalidParams', z.prettifyError(error));
  return data;
}

function headersOf(given: Readonly<Record<string, string>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) {
    if (RESERVED.test(name)) {
      throw new A2AError('invalidParams', `headers: ${name} is set by the connection itself`);
    }
    try {
      headers.set(name, value);
    } catch {
      // The error of the runtime contains the value, which may be a secret.
      throw new A2AError(
        'invalidParams',
        `headers: ${JSON.stringify(name)} has characters that HTTP does not allow`,
      );
    }
  }
  // The response must not be compressed, because the page shows the bytes as the agent sends them.
  headers.set('accept-encoding', 'identity');
  return headers;
}

/**
 * Calls `send` and returns the lines of the answer. When the page stops reading, the request to the agent ends
 * immediately. `done` is called once, when the answer ends or the page stops reading.
 */
function linesOf(
  send: (signal: AbortSignal) => Promise<Response>,
  done: () => void,
): AsyncIterable<string> {
  const leaving = new AbortController();
  let over = false;
  const finish = (): void => {
    clearTimeout(timer);
    leaving.abort();
    if (!over) done();
    over = true;
  };
  let timer: NodeJS.Timeout | undefined;
  let late = false;
  const wait = (ms: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      late = true;
      leaving.abort();
    }, ms);
  };

  async function* lines(): AsyncGenerator<RelayLine> {
    try {
      wait(START_MS);
      const response = await send(leaving.signal);
      const { status, statusText } = response;
      if (status > 599) {
        yield errorLine('unreachable', `the agent responded with ${status}, not an HTTP status`);
        return;
      }
      yield { response: { status, statusText, headers: [...response.headers] } };
      let size = 0;
      wait(SILENT_MS);
      for await (const chunk of response.body ?? []) {
        size += chunk.byteLength;
        if (size > MAX_BYTES) {
          yield errorLine('limit', `the response is larger than ${MAX_BYTES} bytes`);
          return;
        }
        yield { bytes: Buffer.from(chunk).toString('base64') };
        wait(SILENT_MS);
      }
      yield { end: true };
    } catch (error) {
      yield late
        ? errorLine('timeout', 'the agent sent nothing for too long')
        : errorLine('unreachable', causeOf(error));
    } finally {
      finish();
    }
  }

  const source = lines();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { value, done: ended } = await source.next();
        return ended === true
          ? { value: undefined, done: true }
          : { value: `${JSON.stringify(value)}\n`, done: false };
      },
      async return() {
        finish();
        await source.return(undefined);
        return { value: undefined, done: true };
      },
    }),
  };
}

function errorLine(reason: 'unreachable' | 'timeout' | 'limit', message: string): RelayLine {
  return { error: { reason, message } };
}

function causeOf(error: unknown): string {
  const inner = rootCause(error);
  if (inner instanceof AddressError) {
    return 'the address is in a private network: name its origin with --trusted-origin to allow it';
  }
  return reasonOf(inner);
}
