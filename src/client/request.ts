/** One HTTP request, guarded: its headers, its redirects, its time, the size of its answer. */
import { raceAbort } from '../base/index.ts';
import { A2AError, inspectJson, v1 } from '../protocol/index.ts';
import { ConnectionError } from './errors.ts';

/** Headers for every request, or a function that makes them for one (it may wait, to fetch a token). */
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
  /** Win over `headers`. */
  readonly ownHeaders: Readonly<Record<string, string | undefined>>;
  readonly body?: string | undefined;
}

const MAX_REDIRECTS = 5;

/**
 * How long one request may live. It ends by the signals that it was given, by a time limit, or by us; `explain` turns
 * whatever the runtime then throws into the reason that it really was.
 */
export class Lifetime {
  readonly #controller = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #onAbort: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastSign = 0;
  #waiting = true;

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    this.#onAbort = () => {
      this.end(this.#signals.find((signal) => signal.aborted)?.reason);
    };
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

  /** From now on the request ends when nothing happens for `ms`; 0 or Infinity: never. Replaces the limit before. */
  limit(ms: number, message: string): void {
    clearTimeout(this.#timer);
    this.wait(true);
    if (ms > 0 && ms < 2 ** 31) this.#arm(ms, ms, message);
  }

  /**
   * We begin (or cease) to wait for the agent: the limit counts from here (or stands still, because it is our own
   * reader who takes the time). Costs a look at the clock, no timer.
   */
  wait(waiting: boolean): void {
    this.#waiting = waiting;
    if (waiting) this.#lastSign = performance.now();
  }

  #arm(wait: number, ms: number, message: string): void {
    this.#timer = setTimeout(() => {
      const left = this.#waiting ? ms - (performance.now() - this.#lastSign) : ms;
      if (left > 1) this.#arm(left, ms, message);
      else this.end(new ConnectionError('timeout', message));
    }, wait);
  }

  /** The request is over: nothing may hold on to it. */
  release(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener('abort', this.#onAbort);
  }

  explain(error: unknown, otherwise: (cause: unknown) => Error): unknown {
    if (this.signal.aborted) return this.signal.reason;
    if (error instanceof A2AError || error instanceof ConnectionError) return error;
    return otherwise(error);
  }
}

/** Sends the request and returns the answer's head. Redirects are followed inside the same origin only. */
export async function send(
  request: Request,
  lifetime: Lifetime,
  fetch: typeof globalThis.fetch,
): Promise<Response> {
  let { url } = request;
  for (let hops = 0; ; hops++) {
    const { method } = request;
    const headers = new Headers(
      typeof request.headers === 'function'
        ? await raceAbort(request.headers({ url, method }), lifetime.signal)
        : request.headers,
    );
    for (const [name, value] of Object.entries(request.ownHeaders)) {
      if (value !== undefined) headers.set(name, value);
    }
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
    // 301, 302 and 303 turn a POST into a GET; only 307 and 308 keep it what it is.
    const keepsMethod = method === 'GET' || response.status === 307 || response.status === 308;
    if (next === null || !keepsMethod || hops === MAX_REDIRECTS || !sameOrigin(next, url)) {
      throw new ConnectionError(
        'redirect',
        `${url} redirects${next === null ? '' : ` to ${next}`}, which is not followed: connect there if you trust it`,
      );
    }
    url = next;
  }
}

/** Undefined: no redirect. Null: one whose target cannot be seen, as in browsers. */
function redirectTarget(response: Response, from: string): string | null | undefined {
  if (response.type === 'opaqueredirect') return null;
  if (response.status < 300 || response.status > 399 || response.status === 304) return undefined;
  const location = response.headers.get('location');
  return location !== null && URL.canParse(location, from) ? new URL(location, from).href : null;
}

function sameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

/** The innermost message: fetch says only "fetch failed", its cause says why. */
function rootMessage(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (!(inner instanceof Error)) return String(inner);
  return inner.message || ('code' in inner ? String(inner.code) : inner.name);
}

/** The body as text, or an error when it is larger than `maxBytes`. */
export async function readText(
  response: Pick<Response, 'body' | 'url'>,
  maxBytes: number,
  lifetime: Lifetime,
): Promise<string> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      if (size > maxBytes) {
        throw new A2AError(
          'invalidAgentResponse',
          `what the agent sent is larger than ${maxBytes} bytes`,
        );
      }
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    const reason = lifetime.explain(
      error,
      (cause) =>
        new ConnectionError('broken', `the answer of ${response.url} broke off`, { cause }),
    );
    lifetime.end(reason);
    throw reason;
  }
}

/** Parses JSON from the agent; what is not JSON, or JSON that nothing should walk over, is a bad answer. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    inspectJson(value);
    return value;
  } catch (error) {
    const why = error instanceof A2AError ? error.message : 'it is not JSON';
    throw new A2AError('invalidAgentResponse', `The agent's answer cannot be used: ${why}`);
  }
}

/** What is known of an answer before its body. */
export interface ResponseHead extends Pick<Response, 'ok' | 'status' | 'statusText'> {
  readonly headers: Pick<Headers, 'get'>;
}

export function mediaType(response: Pick<ResponseHead, 'headers'>): string {
  const header = response.headers.get('content-type') ?? '';
  return (header.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** The error for an answer that says nothing but its status: a proxy's page, an empty body. */
export function errorOfStatus(response: ResponseHead): A2AError {
  const said = `HTTP ${response.status}${response.statusText ? ` ${response.statusText}` : ''}`;
  if (response.ok) {
    const type = mediaType(response) || 'nothing';
    return new A2AError('invalidAgentResponse', `The agent answered ${said} with ${type}`);
  }
  // Bare statuses mean the same in every version.
  return withRetryAfter(
    v1.decodeError({ message: `The agent answered ${said}` }, response.status),
    response,
  );
}

/** The same error, with the time that the answer's Retry-After asks to wait. */
export function withRetryAfter(error: A2AError, response: Pick<ResponseHead, 'headers'>): A2AError {
  const header = response.headers.get('retry-after');
  if (header === null || error.detail.retryAfterSeconds !== undefined) return error;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return error;
  return new A2AError(error.kind, error.message, {
    ...error.detail,
    retryAfterSeconds: Math.max(0, Math.ceil(seconds)),
  });
}
