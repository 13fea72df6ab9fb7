/** An agent across the network, as an AgentService: JSON-RPC or REST, in the version that its codec speaks. */
import {
  A2AError,
  type AgentService,
  type Call,
  mapOperations,
  type ParamsOf,
  type StreamItem,
  type WireCodec,
  type ResultOf,
  type UnaryOperation,
} from '../protocol/index.ts';
import { createDialect, type Ask, type Endpoint } from './dialect.ts';
import { ConnectionError } from './errors.ts';
import {
  Lifetime,
  errorOfStatus,
  mediaType,
  parseJson,
  readText,
  send,
  withRetryAfter,
  type HeaderSource,
} from './request.ts';
import { SseLimitError, createSseParser, type SseEvent } from './sse.ts';

export interface HttpOptions {
  /** Another fetch: to test, to go through a proxy, to guard addresses. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** For every request: credentials, usually. */
  readonly headers?: HeaderSource | undefined;
  /** URIs of the extensions to name in every request. */
  readonly extensions?: readonly string[] | undefined;
  /** How long a unary call, or the first event of a stream, may take. 5 minutes; 0: for ever. */
  readonly timeoutMs?: number | undefined;
  /** How long a stream may be silent before its connection counts as broken. 60 seconds; 0: for ever. */
  readonly idleTimeoutMs?: number | undefined;
  /** The largest event that a stream may carry. 32 MB. */
  readonly maxEventBytes?: number | undefined;
  /** The largest answer to a unary call. 32 MB. */
  readonly maxResponseBytes?: number | undefined;
  /** Ends everything that is under way. */
  readonly signal?: AbortSignal | undefined;
}

const MEGABYTE = 2 ** 20;

/** Makes the service. Nothing is sent before its first call. */
export function httpService(
  endpoint: Endpoint,
  codec: WireCodec,
  options: HttpOptions = {},
): AgentService {
  const dialect = createDialect(endpoint, codec);
  const {
    timeoutMs = 300_000,
    idleTimeoutMs = 60_000,
    maxEventBytes = 32 * MEGABYTE,
    maxResponseBytes = 32 * MEGABYTE,
  } = options;
  const fetch = options.fetch ?? globalThis.fetch;
  const extensionHeader = codec.version === '0.3' ? 'X-A2A-Extensions' : 'A2A-Extensions';

  function request(
    { url, method, body }: Ask,
    call: Call,
    lifetime: Lifetime,
    own: Readonly<Record<string, string | undefined>>,
  ): Promise<Response> {
    const extensions = new Set([...(options.extensions ?? []), ...(call.extensions ?? [])]);
    const ownHeaders = {
      ...call.headers,
      'A2A-Version': codec.version,
      'Content-Type': body === undefined ? undefined : dialect.contentType,
      [extensionHeader]: extensions.size > 0 ? [...extensions].join(', ') : undefined,
      ...own,
    };
    const { headers } = options;
    return send(
      { url, method, headers, ownHeaders, body: body === undefined ? body : JSON.stringify(body) },
      lifetime,
      fetch,
    );
  }

  /** The result in an answer that is not a stream. */
  async function readResult(response: Response, lifetime: Lifetime): Promise<unknown> {
    const text = await readText(response, maxResponseBytes, lifetime);
    if (text === '' && response.ok) return null;
    const type = mediaType(response);
    if (type !== '' && !type.endsWith('json')) throw errorOfStatus(response);
    let body: unknown;
    try {
      body = parseJson(text);
    } catch (error) {
      throw response.ok ? error : errorOfStatus(response);
    }
    try {
      return dialect.result(body, response);
    } catch (error) {
      throw error instanceof A2AError ? withRetryAfter(error, response) : error;
    }
  }

  function unary<O extends UnaryOperation>(operation: O) {
    return async (params: ParamsOf<O>, call: Call = {}): Promise<ResultOf<O>> => {
      const lifetime = new Lifetime([options.signal, call.signal]);
      lifetime.limit(timeoutMs, `${endpoint.url} did not answer within ${timeoutMs} ms`);
      try {
        const accept = { Accept: 'application/json, application/a2a+json' };
        const response = await request(dialect.ask(operation, params), call, lifetime, accept);
        return codec.decodeResult(operation, await readResult(response, lifetime));
      } finally {
        lifetime.release();
      }
    };
  }

  function toItem(sse: SseEvent): StreamItem {
    const event = codec.decodeEvent(dialect.event(parseJson(sse.data), sse.type));
    const seq = sse.id !== undefined && /^\d{1,15}$/.test(sse.id) ? Number(sse.id) : undefined;
    return { event, seq };
  }

  async function* readEvents(response: Response, lifetime: Lifetime): AsyncGenerator<StreamItem> {
    if (response.body === null) return;
    const parse = createSseParser(maxEventBytes);
    const reader = response.body.getReader();
    let ended = false;
    try {
      for (;;) {
        lifetime.wait(true);
        const { done, value } = await reader.read();
        lifetime.wait(false);
        if (done) {
          ended = true;
          return;
        }
        for (const event of parse(value)) yield toItem(event);
      }
    } catch (error) {
      throw lifetime.explain(error, (cause) =>
        cause instanceof SseLimitError
          ? new A2AError('invalidAgentResponse', cause.message)
          : new ConnectionError('broken', `the stream of ${endpoint.url} broke off`, { cause }),
      );
    } finally {
      if (!ended) lifetime.end(new ConnectionError('closed', 'the stream was left'));
      lifetime.release();
    }
  }

  function stream<O extends 'streamMessage' | 'subscribe'>(operation: O) {
    return async (params: ParamsOf<O>, call: Call = {}): Promise<AsyncIterable<StreamItem>> => {
      const lifetime = new Lifetime([options.signal, call.signal]);
      lifetime.limit(timeoutMs, `${endpoint.url} sent no event within ${timeoutMs} ms`);
      const { after, ...rest } = params as ParamsOf<'subscribe'>;
      const own = {
        Accept: 'text/event-stream',
        'Last-Event-ID': after === undefined ? undefined : String(after),
      };
      try {
        const ask = dialect.ask(operation, rest);
        const response = await request(ask, call, lifetime, own);
        if (!response.ok || mediaType(response) !== 'text/event-stream') {
          // A refusal; or, from some servers, the whole answer at once.
          const event = codec.decodeEvent(await readResult(response, lifetime));
          lifetime.release();
          return once({ event });
        }
        // Refusals may also come as the first event, so it has to be seen before the stream counts as open.
        const events = readEvents(response, lifetime);
        const first = await events.next();
        // Nothing may be left to say about a task that one subscribes to, but a message gets an answer.
        if (first.done === true && operation === 'subscribe') return events;
        if (first.done === true) {
          throw new ConnectionError('broken', `${endpoint.url} sent a stream without any event`);
        }
        const silent = `${endpoint.url} was silent for ${idleTimeoutMs} ms`;
        lifetime.limit(idleTimeoutMs, silent);
        lifetime.wait(false);
        return startingWith(first.value, events, lifetime);
      } catch (error) {
        lifetime.release();
        throw error;
      }
    };
  }

  const service = mapOperations({ unary, stream });
  return {
    ...service,
    async getPushConfig(params, call) {
      if (params.pushNotificationConfigId !== undefined) return service.getPushConfig(params, call);
      // Only 0.3 lets a client leave the id out, and its servers differ in which configuration they return then.
      const [first] = await service.listPushConfigs(params, call);
      if (!first) throw new A2AError('taskNotFound', 'The task has no push configuration');
      return first;
    },
  };
}

async function* once(item: StreamItem): AsyncGenerator<StreamItem> {
  yield item;
}

/** Puts the event that was looked at back in front. To leave closes the connection, even while an event is awaited. */
function startingWith(
  first: StreamItem,
  rest: AsyncGenerator<StreamItem>,
  lifetime: Lifetime,
): AsyncIterable<StreamItem> {
  let head: StreamItem | undefined = first;
  const iterator: AsyncIterator<StreamItem> = {
    async next() {
      if (head === undefined) return rest.next();
      const value = head;
      head = undefined;
      return { value, done: false };
    },
    async return() {
      head = undefined;
      lifetime.end(new ConnectionError('closed', 'the stream was left'));
      lifetime.release();
      // What the abandoned read now rejects with concerns nobody.
      await rest.return(undefined).catch(() => undefined);
      return { value: undefined, done: true };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
