/** The parts that the JSON-RPC and REST bindings share: errors, calls, and streams. */
import { randomUUIDv7 } from 'node:crypto';
import { lineSafe } from '../base/index.ts';
import {
  A2AError,
  type Call,
  encodeRestError,
  inspectJson,
  type JsonRpcId,
  jsonRpcFailure,
  parseJsonText,
  type ProtocolVersion,
  type User,
  type WireCodec,
  type StreamOperation,
} from '../protocol/index.ts';
import type { Opening, Published, TaskStream } from '../tasks/index.ts';
import type { AppContext } from './context.ts';
import { invokeStream } from './invoke.ts';
import type { RouteStream } from './own-routes.ts';
import { clientOf } from './pending-bytes.ts';
import type { StreamReply, TransportRequest } from './request.ts';

export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Tells nginx and similar proxies not to buffer events.
  'x-accel-buffering': 'no',
};

/**
 * Returns the error for the peer. An A2AError is returned unchanged. Any other error is logged, and replaced by
 * `internal`.
 */
export function peerError(app: Pick<AppContext, 'logger'>, error: unknown): A2AError {
  if (error instanceof A2AError) return error;
  const correlationId = randomUUIDv7();
  app.logger.error({ err: error, correlationId }, 'a request failed');
  return new A2AError('internal', `Internal error. Correlation id: ${correlationId}`, {
    info: { correlationId },
  });
}

/**
 * Parses the body of a request outside JSON-RPC. Returns undefined if there is no body. The body `null` counts as no
 * body, because clients of the Go SDK send it with requests that have no parameters.
 */
export function parseBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  const body = parseJsonText(text) ?? undefined;
  inspectJson(body);
  return body;
}

/** The call of a request. It is a class, because creating object literals with getters is slow. */
export class TransportCall implements Call {
  readonly user: User | undefined;
  readonly version: ProtocolVersion;
  readonly extensions: readonly string[];
  readonly #request: TransportRequest;
  readonly #signal: AbortSignal | undefined;

  /** By default, the call has the signal of its request. */
  constructor(
    request: TransportRequest,
    user: User | undefined,
    version: ProtocolVersion,
    extensions: readonly string[],
    signal?: AbortSignal,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.user = user;
    this.version = version;
    this.extensions = extensions;
  }

  /** The signal, which is created on demand, because it needs a listener and most calls do not use it. */
  get signal(): AbortSignal {
    return this.#signal ?? this.#request.signal;
  }

  get base(): string {
    return this.#request.base;
  }

  get traceparent(): string | undefined {
    return this.#request.header('traceparent');
  }
}

interface OpenStream {
  readonly request: TransportRequest;
  readonly query: URLSearchParams | undefined;
  readonly codec: WireCodec;
  readonly operation: StreamOperation;
  readonly params: unknown;
  readonly call: Call;
  /** Additional response headers. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** The id of a JSON-RPC request. Undefined for a REST request. */
  readonly id?: JsonRpcId;
}

/** Starts the stream of an operation, and counts it for the limits of open streams. */
export async function openStream(app: AppContext, options: OpenStream): Promise<StreamReply> {
  const { request, query, codec, operation, params, call } = options;
  const client = clientOf(call.user, request);
  app.streams.take(client);
  try {
    const seen = lastEventId(request, query?.get('after'));
    const stream = await invokeStream(app.handler, codec, operation, params, seen, call);
    return new OperationReply(app, stream, client, options);
  } catch (error) {
    app.streams.give(client);
    throw error;
  }
}

/**
 * The stream of an operation. It is a class, because functions would keep the whole request in memory while the stream
 * is open.
 */
class OperationReply implements StreamReply {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: TaskStream;
  readonly client: string;
  readonly #streams: AppContext['streams'];
  readonly #codec: WireCodec;
  /** The id of a JSON-RPC request, as JSON. */
  readonly #id: string | undefined;
  #isOpen = true;

  constructor(
    { streams }: AppContext,
    stream: TaskStream,
    client: string,
    { codec, id, headers }: OpenStream,
  ) {
    this.headers = headers ? { ...STREAM_HEADERS, ...headers } : STREAM_HEADERS;
    this.stream = stream;
    this.client = client;
    this.#streams = streams;
    this.#codec = codec;
    this.#id = id === undefined ? undefined : lineSafe(JSON.stringify(id));
  }

  frame(item: Published | Opening): string {
    const text = item.text(this.#codec);
    const id = this.#id;
    // The text before the event is made again for each event. With thousands of open streams, storing it would need
    // much memory.
    const data =
      id === undefined
        ? `data: ${text}\n\n`
        : `data: {"jsonrpc":"2.0","id":${id},"result":${text}}\n\n`;
    return item.seq === undefined ? data : `id: ${item.seq}\n${data}`;
  }

  failure(error: A2AError): string {
    const body =
      this.#id === undefined
        ? encodeRestError(error, this.#codec.version)
        : jsonRpcFailure(this.#codec, JSON.parse(this.#id) as JsonRpcId, error);
    return `data: ${lineSafe(JSON.stringify(body))}\n\n`;
  }

  release(): void {
    if (this.#isOpen) this.#streams.give(this.client);
    this.#isOpen = false;
  }
}

/** Starts the stream of one of the agent's own routes, and counts it for the limits of open streams. */
export async function streamReply(
  app: AppContext,
  request: TransportRequest,
  call: Call,
  headers: Readonly<Record<string, string>> | undefined,
  open: () => Promise<RouteStream>,
): Promise<StreamReply> {
  const client = clientOf(call.user, request);
  const release = app.streams.acquire(client);
  try {
    const opened = await open();
    return {
      headers: headers ? { ...STREAM_HEADERS, ...headers } : STREAM_HEADERS,
      ...opened,
      client,
      readsHeaders: true,
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** An error may repeat text of the request. So a browser must not guess that the response is HTML. */
const ERROR_HEADERS = { 'x-content-type-options': 'nosniff' };

/** Returns the additional response headers of an error. Some state how to authenticate or when to retry. */
export function errorHeaders({ detail, kind }: A2AError): Readonly<Record<string, string>> {
  if (kind === 'unauthenticated') return { ...ERROR_HEADERS, 'www-authenticate': 'Bearer' };
  const seconds = detail.retryAfterSeconds;
  return seconds === undefined
    ? ERROR_HEADERS
    : { ...ERROR_HEADERS, 'retry-after': String(seconds) };
}

/**
 * Returns the sequence number of the last event that the client has received. It is in the header Last-Event-ID or,
 * without this header, in the parameter `after`. Returns undefined if there is neither. Throws `invalidParams` if the
 * value is not a sequence number.
 */
export function lastEventId(
  request: Pick<TransportRequest, 'header'>,
  after: string | null | undefined,
): number | undefined {
  const text = request.header('last-event-id') ?? after ?? '';
  if (text === '') return undefined;
  const seq = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(seq)) {
    throw new A2AError('invalidParams', 'Last-Event-ID and after: must be sequence numbers');
  }
  return seq;
}
