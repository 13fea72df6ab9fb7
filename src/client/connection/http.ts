/** Makes an AgentService that calls a remote agent with `fetch`. */
import {
  A2AError,
  v1,
  type AgentService,
  type Call,
  type StreamItem,
  type WireCodec,
} from '../../protocol/index.ts';
import { createBinding, type Ask, type Endpoint } from './binding.ts';
import { ConnectionError } from './errors.ts';
import {
  type Lifetime,
  mediaType,
  readBodyText,
  requestLifetime,
  send,
  type ByteBudget,
  type HeaderSource,
} from './request.ts';
import {
  askOnce,
  createHttpService,
  type EventDecoding,
  type Transport,
  type OutgoingRequest,
  type WholeResponse,
} from './service.ts';
import { SseLimitError, createSseParser, seqOf } from './sse.ts';

/** The options of a connection over HTTP. */
export interface HttpOptions {
  /** A replacement for the global `fetch`, for example for tests, for a proxy, or to check addresses. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The headers for every request, usually credentials. */
  readonly headers?: HeaderSource | undefined;
  /** URIs of the extensions to activate in every request. */
  readonly extensions?: readonly string[] | undefined;
  /**
   * The timeout for a unary call, and for the first event of a stream. If the stream sends a message, heartbeats do not
   * extend this time. If it subscribes to a task, each heartbeat restarts this time. Default: 5 minutes. 0 means no
   * timeout.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * How long a stream may be silent after its first event. If it is silent for longer, its connection is closed with a
   * ConnectionError (`timeout`). Each heartbeat restarts this time. Default: 60 seconds. 0 means no limit.
   */
  readonly idleTimeoutMs?: number | undefined;
  /** Maximum size of an event in a stream. Default: 32 MiB. */
  readonly maxEventBytes?: number | undefined;
  /** Maximum size of the response to a unary call. Default: 32 MiB. */
  readonly maxResponseBytes?: number | undefined;
  /** A limit on the total size of all responses. */
  readonly budget?: ByteBudget | undefined;
  /** Signal that ends every call and stream when it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const MEGABYTE = 2 ** 20;

/** Makes the service. Nothing is sent before the first call. */
export function httpService(
  endpoint: Endpoint,
  codec: WireCodec,
  options: HttpOptions = {},
): AgentService {
  const binding = createBinding(endpoint, codec);
  const { extensions } = options;
  return createHttpService({ codec, binding, transport: new FetchTransport(options), extensions });
}

/**
 * Sends a request, in the REST format of A2A 1.0, to a route that an agent has in addition to the protocol. Returns the
 * JSON of the response. If the response is an error, throws this error.
 */
export async function askRest(asked: Ask, options: HttpOptions = {}): Promise<unknown> {
  const binding = createBinding({ url: asked.url, binding: 'HTTP+JSON' }, v1);
  const transport = new FetchTransport(options);
  return askOnce({ codec: v1, binding, transport, extensions: options.extensions }, asked, {});
}

/** A stream whose first event has not arrived yet. */
interface OpeningStream extends Pick<EventDecoding, 'expectsEvent'> {
  readonly url: string;
  readonly lifetime: Lifetime;
  /** How long the agent may be silent after the first event. 0 disables the limit. */
  readonly idleTimeoutMs: number;
}

class FetchTransport implements Transport {
  readonly #options: HttpOptions;
  readonly #timeoutMs: number;

  constructor(options: HttpOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 300_000;
  }

  async whole(request: OutgoingRequest, { signal }: Call): Promise<WholeResponse> {
    const lifetime = this.#lifetime(signal, `${request.url} did not answer`);
    try {
      return await this.#read(await this.#send(request, lifetime), lifetime);
    } finally {
      lifetime.release();
    }
  }

  async stream(
    request: OutgoingRequest,
    source: EventDecoding,
    { signal }: Call,
  ): Promise<AsyncIterable<StreamItem> | WholeResponse> {
    const { idleTimeoutMs = 60_000 } = this.#options;
    const { url } = request;
    const lifetime = this.#lifetime(signal, `${url} sent no event`);
    try {
      const response = await this.#send(request, lifetime);
      if (!response.ok || mediaType(response) !== 'text/event-stream') {
        const whole = await this.#read(response, lifetime);
        lifetime.release();
        return whole;
      }
      const events = this.#events(response, source, url, lifetime);
      const { expectsEvent } = source;
      return await begunStream(events, { url, lifetime, expectsEvent, idleTimeoutMs });
    } catch (error) {
      lifetime.release();
      throw error;
    }
  }

  #lifetime(signal: AbortSignal | undefined, problem: string): Lifetime {
    return requestLifetime([this.#options.signal, signal], this.#timeoutMs, problem);
  }

  #send(
    { headers: ownHeaders, ...request }: OutgoingRequest,
    lifetime: Lifetime,
  ): Promise<Response> {
    const { headers, fetch = globalThis.fetch } = this.#options;
    return send({ ...request, headers, ownHeaders }, lifetime, fetch);
  }

  async #read(response: Response, lifetime: Lifetime): Promise<WholeResponse> {
    const { maxResponseBytes = 32 * MEGABYTE, budget } = this.#options;
    const text = await readBodyText(response, maxResponseBytes, lifetime, budget);
    return { head: response, text };
  }

  async *#events(
    response: Response,
    { decode, expectsEvent }: EventDecoding,
    url: string,
    lifetime: Lifetime,
  ): AsyncGenerator<StreamItem> {
    if (response.body === null) return;
    const { maxEventBytes = 32 * MEGABYTE, budget } = this.#options;
    const parse = createSseParser(maxEventBytes);
    const reader = response.body.getReader();
    let ended = false;
    // The timeout for the first event started with the request. If a stream without events is an error, heartbeats do
    // not restart this timeout.
    let restarts = !expectsEvent;
    try {
      for (;;) {
        if (restarts) lifetime.wait(true);
        const { done, value } = await reader.read();
        if (restarts) lifetime.wait(false);
        if (done) {
          ended = true;
          return;
        }
        budget?.take(value.byteLength);
        for (const { data, type, id } of parse(value)) {
          restarts = true;
          yield { event: decode(data, type), seq: seqOf(id) };
        }
      }
    } catch (error) {
      throw lifetime.explain(error, (cause) =>
        cause instanceof SseLimitError
          ? new A2AError('invalidAgentResponse', cause.message)
          : new ConnectionError('broken', `the stream of ${url} broke off`, { cause }),
      );
    } finally {
      if (ended) lifetime.release();
      else lifetime.leave();
    }
  }
}

/**
 * Waits for the first event of a stream, because the agent may refuse the request. Returns the whole stream, including
 * this event. The `return` of its iterator closes the connection immediately, even while a read waits for an event.
 */
export async function begunStream(
  events: AsyncGenerator<StreamItem>,
  { url, lifetime, expectsEvent, idleTimeoutMs }: OpeningStream,
): Promise<AsyncIterable<StreamItem>> {
  const first = await events.next();
  if (first.done === true && !expectsEvent) return events;
  if (first.done === true) {
    throw new ConnectionError('broken', `${url} sent a stream without any event`);
  }
  const silent = `${url} was silent for ${idleTimeoutMs} ms`;
  lifetime.idleTimeout(idleTimeoutMs, () => new ConnectionError('timeout', silent));
  lifetime.wait(false);
  let head: StreamItem | undefined = first.value;
  const iterator: AsyncIterator<StreamItem> = {
    async next() {
      if (head === undefined) return events.next();
      const value = head;
      head = undefined;
      return { value, done: false };
    },
    async return() {
      head = undefined;
      lifetime.leave();
      // The pending read rejects. Its error is ignored.
      await events.return(undefined).catch(() => undefined);
      return { value: undefined, done: true };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
