/** Sends one HTTP request with `fetch`. Handles headers, redirects, timeouts, and the maximum size of the response. */
import {
  raceAbort,
  retryAfterMs,
  rootCause,
  MAX_TIMER_MS,
  ByteCollector,
  type MaybePromise,
} from '../../base/index.ts';
import { A2AError, inspectJson, v1 } from '../../protocol/index.ts';
import { ConnectionError, RemoteAgentError } from './errors.ts';

/**
 * Headers for every request, or a function that returns the headers for one request. The function may be async, for
 * example to fetch a token.
 */
export type HeaderSource =
  | Readonly<Record<string, string>>
  | ((request: {
      readonly url: string;
      readonly method: string;
    }) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);

export interface Request {
  readonly url: string;
  readonly method: string;
  readonly headers: HeaderSource | undefined;
  /** Headers that take precedence over `headers`. */
  readonly ownHeaders: Readonly<Record<string, string | undefined>>;
  readonly body?: string | undefined;
}

const MAX_REDIRECTS = 5;

/**
 * The lifetime of one request, or of several requests that belong together. It ends when one of the given signals is
 * aborted, after a timeout, or when `end` is called. At its end, `signal` is aborted with the reason.
 */
export class Lifetime {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #onAbort = (): void => {
    this.end(this.#signals.find((signal) => signal.aborted)?.reason);
  };
  /** The timer for the timeout that is expected first. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = 0;
  #idle: { readonly ms: number; readonly reason: () => Error } | undefined;
  #total: { readonly at: number; readonly reason: () => Error } | undefined;
  #lastSign = 0;
  #waiting = true;

  constructor(signals: readonly (AbortSignal | undefined)[] = []) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#signals) {
      if (signal.aborted) this.end(signal.reason);
      else signal.addEventListener('abort', this.#onAbort, { once: true });
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /**
   * Ends the lifetime when the idle time reaches `ms` milliseconds. `wait` starts and stops the idle time. 0, or a time
   * that is too long for a timer, means no timeout. Replaces the previous idle timeout.
   */
  idleTimeout(ms: number, reason: () => Error): void {
    this.wait(true);
    this.#idle = ms > 0 && ms <= MAX_TIMER_MS ? { ms, reason } : undefined;
    this.#arm(this.#lastSign);
  }

  /** Ends the lifetime after `ms` milliseconds, even if it is not idle. */
  totalTimeout(ms: number, reason: () => Error): void {
    const now = performance.now();
    this.#total = { at: now + ms, reason };
    this.#arm(now);
  }

  /**
   * Starts or stops the idle time. With true, the client waits for the agent, and the idle time starts again. With
   * false, the agent waits for the client, and the idle time is stopped. This function only reads the clock and sets no
   * timer, so it is fast enough to be called for every event.
   */
  wait(waiting: boolean): void {
    this.#waiting = waiting;
    if (waiting) this.#lastSign = performance.now();
  }

  /** Sets the timer for the timeout that comes first. Keeps the current timer if it fires earlier or at that time. */
  #arm(now: number): void {
    const at = Math.min(this.#idleEnd(now), this.#total?.at ?? Infinity);
    if (at === Infinity || (this.#timer !== undefined && this.#firesAt <= at)) return;
    clearTimeout(this.#timer);
    this.#firesAt = at;
    this.#timer = setTimeout(this.#onTimer, at - now);
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    // A timer may fire up to a millisecond early.
    const now = performance.now() + 1;
    if (this.#total && this.#total.at <= now) this.end(this.#total.reason());
    else if (this.#idle && this.#idleEnd(now) <= now) this.end(this.#idle.reason());
    else this.#arm(now);
  };

  #idleEnd(now: number): number {
    return this.#idle ? this.#idle.ms + (this.#waiting ? this.#lastSign : now) : Infinity;
  }

  /** Closes the connection of a stream, because its reader stops before the end. */
  leave(): void {
    this.end(new ConnectionError('closed', 'the reader left the stream'));
    this.release();
  }

  /** Stops the timers and listeners. */
  release(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#onAbort);
  }

  /**
   * Returns the error to throw. If the lifetime has ended, returns the reason of its end. Otherwise, returns one of our
   * own errors unchanged, and converts any other error with `otherwise`.
   */
  explain(error: unknown, otherwise: (cause: unknown) => Error): unknown {
    if (this.signal.aborted) return this.signal.reason;
    const isOurs =
      error instanceof A2AError ||
      error instanceof ConnectionError ||
      error instanceof RemoteAgentError;
    return isOurs ? error : otherwise(error);
  }
}

/**
 * Makes the lifetime of a request, with an idle timeout of `ms` milliseconds. The text of the timeout error is
 * `problem` and the timeout.
 */
export function requestLifetime(
  signals: readonly (AbortSignal | undefined)[],
  ms: number,
  problem: string,
): Lifetime {
  const lifetime = new Lifetime(signals);
  lifetime.idleTimeout(ms, () => new ConnectionError('timeout', `${problem} within ${ms} ms`));
  return lifetime;
}

/**
 * Limits the total number of bytes that an agent may send in all responses. `take` throws a RemoteAgentError with the
 * code `remote-limit` if the limit is exceeded.
 */
export class ByteBudget {
  readonly #max: number;
  #received = 0;

  constructor(max: number) {
    this.#max = max;
  }

  take(bytes: number): void {
    this.#received += bytes;
    if (this.#received <= this.#max) return;
    throw new RemoteAgentError('remote-limit', `it sent more than ${this.#max} bytes`);
  }
}

/** Sends the request. Follows redirects only within the same origin. */
export async function send(
  request: Request,
  lifetime: Lifetime,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  let { url } = request;
  for (let hops = 0; ; hops++) {
    const { method } = request;
    const headers = await headersFor({ ...request, url }, lifetime);
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        headers,
        redirect: 'manual',
        signal: lifetime.signal,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
    } catch (error) {
      throw lifetime.explain(
        error,
        (cause) =>
          new ConnectionError('unreachable', `cannot reach ${url}: ${rootMessage(cause)}`, {
            cause,
          }),
      );
    }
    const next = redirectTarget(response, url);
    if (next === undefined) return response;
    await response.body?.cancel();
    // Only 307 and 308 keep the method of a POST.
    const keepsMethod = method === 'GET' || response.status === 307 || response.status === 308;
    if (next === null || !keepsMethod || hops === MAX_REDIRECTS || !sameOrigin(next, url)) {
      throw new ConnectionError(
        'redirect',
        next === null
          ? `${url} redirects, and the redirect is not followed`
          : `${url} redirects to ${next}, which is not followed; connect to that address if you trust it`,
      );
    }
    url = next;
  }
}

/** Returns the headers of a request. */
export async function headersFor(
  { url, method, headers, ownHeaders }: Request,
  { signal }: Lifetime,
): Promise<Headers> {
  const given =
    typeof headers === 'function' ? await raceAbort(headers({ url, method }), signal) : headers;
  return toHeaders(given, ownHeaders);
}

/** Joins the headers. If two sources have a header with the same name, the later source takes precedence. */
function toHeaders(...sources: readonly (Request['ownHeaders'] | undefined)[]): Headers {
  const headers = new Headers();
  for (const [name, value] of sources.flatMap((source) => Object.entries(source ?? {}))) {
    if (value === undefined) continue;
    try {
      headers.set(name, value);
    } catch {
      // The error of the runtime contains the value, which may be a secret.
      throw new TypeError(
        `the header ${JSON.stringify(name)} has characters that HTTP does not allow`,
      );
    }
  }
  return headers;
}

/**
 * Returns the target of a redirect. Returns null if the target is unknown, because a browser hides it or because the
 * Location header is missing or invalid. Returns undefined if the response is not a redirect.
 */
function redirectTarget(response: Response, from: string): string | null | undefined {
  if (response.type === 'opaqueredirect') return null;
  if (response.status < 300 || response.status > 399 || response.status === 304) return undefined;
  const location = response.headers.get('location');
  return location !== null && URL.canParse(location, from) ? new URL(location, from).href : null;
}

function sameOrigin(a: string, b: string): boolean {
  return credentialOrigin(new URL(a)) === credentialOrigin(new URL(b));
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns the origin of an address, to decide whether it may receive our credentials. The three common loopback names
 * count as one origin if the scheme and the port are equal, because a card often has another of these names than the
 * user wrote. Names below `.localhost` and other loopback addresses are origins of their own.
 */
export function credentialOrigin({ origin, protocol, hostname, port }: URL): string {
  return LOOPBACK_NAMES.has(hostname) ? `${protocol}//localhost:${port}` : origin;
}

function rootMessage(error: unknown): string {
  const inner = rootCause(error);
  if (!(inner instanceof Error)) return String(inner);
  return inner.message || ('code' in inner ? String(inner.code) : inner.name);
}

/** Reads the body as text. If the body is larger than `maxBytes` or breaks off, ends the lifetime and throws. */
export async function readBodyText(
  response: Pick<Response, 'body' | 'url'>,
  maxBytes: number,
  lifetime: Lifetime,
  budget?: ByteBudget,
): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const collector = new ByteCollector();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return new TextDecoder().decode(collector.bytes());
      budget?.take(value.byteLength);
      if (collector.size + value.byteLength > maxBytes) {
        throw new A2AError(
          'invalidAgentResponse',
          `The agent's response is larger than ${maxBytes} bytes`,
        );
      }
      collector.add(value);
    }
  } catch (error) {
    const reason = lifetime.explain(
      error,
      (cause) =>
        new ConnectionError('broken', `the response of ${response.url} broke off`, { cause }),
    );
    lifetime.end(reason);
    throw reason;
  }
}

/** A GET request for a JSON document. */
export interface JsonRequest extends Pick<Request, 'url' | 'headers' | 'ownHeaders'> {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly budget?: ByteBudget | undefined;
}

/**
 * Fetches a JSON document, and passes it to `read` with the URL that it came from. The timeout includes the time that
 * `read` needs. After the timeout, the signal that `read` gets is aborted.
 */
export async function fetchJson<Result>(
  { maxBytes, timeoutMs, fetch = globalThis.fetch, signal, budget, ...request }: JsonRequest,
  read: (raw: unknown, url: string, signal: AbortSignal) => MaybePromise<Result>,
): Promise<Result> {
  const { url } = request;
  const lifetime = requestLifetime([signal], timeoutMs, `${url} did not answer`);
  try {
    const response = await send({ ...request, method: 'GET' }, lifetime, fetch);
    const text = await readBodyText(response, maxBytes, lifetime, budget);
    if (!response.ok) throw errorOfStatus(response);
    return await read(parseJson(text), response.url || url, lifetime.signal);
  } finally {
    lifetime.release();
  }
}

/** Parses JSON from the agent. Throws `invalidAgentResponse` if it is not JSON, or if `inspectJson` refuses it. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    inspectJson(value);
    return value;
  } catch (error) {
    const why = error instanceof A2AError ? error.message : 'it is not JSON';
    throw new A2AError('invalidAgentResponse', `The agent's response is unusable: ${why}`);
  }
}

/** A response without its body. */
export interface ResponseHead extends Pick<Response, 'ok' | 'status' | 'statusText'> {
  readonly headers: Pick<Headers, 'get'>;
}

export function mediaType(response: Pick<ResponseHead, 'headers'>): string {
  const header = response.headers.get('content-type') ?? '';
  return (header.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Returns the error for a response without a usable body, for example an error page of a proxy. */
export function errorOfStatus(response: ResponseHead): A2AError {
  const status = `HTTP ${response.status}${response.statusText ? ` ${response.statusText}` : ''}`;
  if (response.ok) {
    const type = mediaType(response) || 'nothing';
    return new A2AError('invalidAgentResponse', `The agent answered ${status} with ${type}`);
  }
  // An HTTP status has the same meaning in every version, so the codec of 1.0 can decode every status.
  return withRetryAfter(
    v1.decodeError({ message: `The agent answered ${status}` }, response.status),
    response,
  );
}

/** Adds the delay in the response's Retry-After header to the error, unless the error already has a delay. */
export function withRetryAfter(error: A2AError, response: Pick<ResponseHead, 'headers'>): A2AError {
  const ms = retryAfterMs(response.headers.get('retry-after'));
  if (ms === undefined || error.detail.retryAfterSeconds !== undefined) return error;
  return new A2AError(error.kind, error.message, {
    ...error.detail,
    retryAfterSeconds: Math.ceil(ms / 1000),
  });
}
