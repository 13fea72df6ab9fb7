/**
 * Records the requests to the agent and its responses as they arrive, with their bytes and times. All of this is kept
 * only in the memory of the page. The values of secret request headers and of cookies are not recorded.
 */
import { signal } from '@preact/signals';
import { reasonOf } from '../../../base/index.ts';
import {
  ConnectionError,
  createSseParser,
  mediaType,
  type SseEvent,
} from '../../../client/index.ts';
import type { AgentAccess, SentResponse } from './agent-access.ts';

/** Maximum number of bytes of a response, and of events of a stream, that are kept for the page. */
const MAX_KEPT_BYTES = 2 ** 20;
const MAX_KEPT_EVENTS = 1000;
/** Maximum number of exchanges that are kept. The oldest ones are dropped. */
const MAX_EXCHANGES = 60;
/** Maximum size of a response. Reading a larger response fails. */
const MAX_BYTES = 32 * 2 ** 20;

/** Request headers whose values are never shown. */
const SECRET = /authorization|cookie|token|secret|password|api-?key|credential/i;

/** Returns whether a request header of this name is always treated as a secret. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

/** A header. The value is undefined if it is secret, or if the page does not know it. */
export type ShownHeader = readonly [name: string, value: string | undefined];

export interface RecordedEvent extends SseEvent {
  /** Milliseconds after the start of the request. */
  readonly at: number;
}

interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly ShownHeader[];
  readonly body: string | undefined;
}

/** A request and its response. The fields of the response change while it arrives. */
export class RecordedExchange {
  readonly id: number;
  readonly request: RecordedRequest;
  readonly #since = performance.now();
  /** Changes whenever a field of the response changes. */
  readonly version = signal(0);
  status: number | undefined;
  statusText = '';
  headers: readonly ShownHeader[] = [];
  /** Milliseconds from the start of the request to the start of the response, and to the end of the response. */
  firstMs: number | undefined;
  endMs: number | undefined;
  /** The number of bytes of the body, including those that are not kept. */
  size = 0;
  /** The number of events, including those that are not kept. */
  eventCount = 0;
  readonly events: RecordedEvent[] = [];
  /** Whether the response is a stream of events. */
  isStream = false;
  problem: string | undefined;
  #chunks: Uint8Array[] = [];
  #kept = 0;

  constructor(id: number, request: RecordedRequest) {
    this.id = id;
    this.request = request;
  }

  get elapsed(): number {
    return performance.now() - this.#since;
  }

  /** The kept bytes of the body, which are its first bytes. */
  get bytes(): Uint8Array<ArrayBuffer> {
    const joined = new Uint8Array(this.#kept);
    let at = 0;
    for (const chunk of this.#chunks) {
      joined.set(chunk, at);
      at += chunk.byteLength;
    }
    return joined;
  }

  /** Whether only the first part of the body is kept. */
  get isCut(): boolean {
    return this.#kept < this.size;
  }

  add(chunk: Uint8Array): void {
    this.size += chunk.byteLength;
    const room = MAX_KEPT_BYTES - this.#kept;
    if (room > 0) {
      const part = chunk.slice(0, room);
      this.#chunks.push(part);
      this.#kept += part.byteLength;
    }
    if (this.size > MAX_BYTES) throw new Error(`the response is larger than ${MAX_BYTES} bytes`);
  }

  addEvents(events: readonly SseEvent[]): void {
    this.eventCount += events.length;
    const at = this.elapsed;
    for (const event of events.slice(0, MAX_KEPT_EVENTS - this.events.length)) {
      this.events.push({ ...event, at });
    }
  }

  end(problem?: string): void {
    if (this.endMs !== undefined) return;
    this.endMs = this.elapsed;
    this.problem = problem;
    this.changed();
  }

  changed(): void {
    this.version.value++;
  }
}

export class ExchangeLog {
  readonly all = signal<readonly RecordedExchange[]>([]);
  #last = 0;

  /**
   * Returns a `fetch` function that records what it sends and receives. `secrets` are the names of headers, in lower
   * case, whose values the person wants to hide. `onSent` is called with each exchange.
   */
  fetchThrough(
    access: AgentAccess,
    secrets: ReadonlySet<string>,
    onSent?: (exchange: RecordedExchange) => void,
  ): typeof globalThis.fetch {
    return async (input, init = {}) => {
      const url = input instanceof Request ? input.url : String(input);
      const { method = 'GET' } = init;
      const headers = new Headers(init.headers);
      const body = typeof init.body === 'string' ? init.body : undefined;
      const hidden = (name: string) => secrets.has(name) || isSecretName(name);
      const added = access.trusts(url)
        ? access.addedHeaders.filter((name) => !headers.has(name))
        : [];
      const exchange = new RecordedExchange(++this.#last, {
        method,
        url,
        body,
        headers: [
          ...Array.from(headers, ([name, value]): ShownHeader => [
            name,
            hidden(name) ? undefined : value,
          ]),
          ...added.map((name): ShownHeader => [name, undefined]),
        ],
      });
      this.all.value = [...this.all.value, exchange].slice(-MAX_EXCHANGES);
      onSent?.(exchange);
      const signal = init.signal ?? undefined;
      // The exchange also ends if the client aborts the request, for example because the client cannot use the
      // response.
      const leave = () => exchange.end(problemOf(signal?.reason));
      signal?.addEventListener('abort', leave, { once: true });
      try {
        const sent = await access.send({ method, url, headers, body, signal });
        return recordResponse(exchange, sent, url);
      } catch (error) {
        exchange.end(problemOf(error));
        throw error;
      }
    };
  }
}

/** Returns the reason that an exchange ended early. The reason is `stopped` if this page ended the exchange. */
function problemOf(error: unknown): string {
  const stopped = error instanceof ConnectionError && error.reason === 'closed';
  return stopped || error instanceof DOMException ? 'stopped' : reasonOf(error);
}

/** Returns the response with a body that is recorded while it is read. */
function recordResponse(
  exchange: RecordedExchange,
  { response, headers }: SentResponse,
  url: string,
): Response {
  const { status, statusText } = response;
  exchange.firstMs = exchange.elapsed;
  exchange.status = status;
  exchange.statusText = statusText;
  exchange.headers = headers.map(([name, value]) => [name, isCookie(name) ? undefined : value]);
  exchange.isStream = mediaType(response) === 'text/event-stream';
  const reader = response.body?.getReader();
  if (!reader) {
    const hidden = response.type === 'opaqueredirect';
    exchange.end(hidden ? 'the server redirects, and the browser hides the target' : undefined);
    return response;
  }
  exchange.changed();
  const parse = exchange.isStream ? createSseParser(MAX_BYTES) : undefined;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            exchange.end();
            return controller.close();
          }
          exchange.add(value);
          if (parse) exchange.addEvents(parse(value));
          exchange.changed();
          controller.enqueue(value);
        } catch (error) {
          exchange.end(problemOf(error));
          reader.cancel(error).catch(() => undefined);
          throw error;
        }
      },
      async cancel(reason) {
        exchange.end('stopped');
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const copy = new Response(body, { status, statusText, headers: response.headers });
  // A constructed response has no URL, but the client needs the URL to resolve addresses in the card.
  return Object.defineProperty(copy, 'url', { value: response.url || url });
}

function isCookie(name: string): boolean {
  return /^set-cookie2?$/i.test(name);
}
