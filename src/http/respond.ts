/** What JSON-RPC and REST share when they answer. */
import { randomUUIDv7 } from 'node:crypto';
import {
  A2AError,
  type Call,
  type ProtocolVersion,
  type User,
  type WireCodec,
  type StreamOperation,
} from '../protocol/index.ts';
import type { AppContext } from './context.ts';
import { invokeStream } from './invoke.ts';
import type { RouteStream } from './own-routes.ts';
import type { StreamReply, TransportRequest } from './request.ts';

const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // Tells nginx and its kind not to hold events back.
  'x-accel-buffering': 'no',
};

/** The error as the peer may see it: an A2AError as it is, anything else as "internal", with the cause in our log. */
export function peerError(app: Pick<AppContext, 'logger'>, error: unknown): A2AError {
  if (error instanceof A2AError) return error;
  const correlationId = randomUUIDv7();
  app.logger.error({ err: error, correlationId }, 'a request failed');
  return new A2AError('internal', `Internal error. Correlation id: ${correlationId}`, {
    info: { correlationId },
  });
}

/** A class, because an object literal with a getter is made anew, slowly, for every request. */
export class TransportCall implements Call {
  readonly user: User | undefined;
  readonly version: ProtocolVersion;
  readonly extensions: readonly string[];
  readonly #request: TransportRequest;

  constructor(
    request: TransportRequest,
    user: User | undefined,
    version: ProtocolVersion,
    extensions: readonly string[],
  ) {
    this.#request = request;
    this.user = user;
    this.version = version;
    this.extensions = extensions;
  }

  /** Most calls never ask for it, and it costs a listener. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get base(): string {
    return this.#request.base;
  }
}

interface OpenStream {
  readonly request: TransportRequest;
  readonly query: URLSearchParams | undefined;
  readonly codec: WireCodec;
  readonly operation: StreamOperation;
  readonly params: unknown;
  readonly call: Call;
  /** Beside those that every stream has. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** What stands around each event, in its `data`. */
  readonly before: string;
  readonly after: string;
}

/** Starts a stream of one of the protocol's operations. */
export function openStream(app: AppContext, options: OpenStream): Promise<StreamReply> {
  const { request, query, codec, operation, params, call, headers } = options;
  return streamReply(app, request, call, headers, async () => {
    const seen = lastEventId(request, query?.get('after'));
    const stream = await invokeStream(app.handler, codec, operation, params, seen, call);
    const before = `data: ${options.before}`;
    const after = `${options.after}\n\n`;
    return {
      stream,
      frame: (item) =>
        item.seq === undefined
          ? `${before}${item.text(codec)}${after}`
          : `id: ${item.seq}\n${before}${item.text(codec)}${after}`,
    };
  });
}

/** Takes a place among the streams and starts one; a refusal gives the place back. */
export async function streamReply(
  app: AppContext,
  request: TransportRequest,
  call: Call,
  headers: Readonly<Record<string, string>> | undefined,
  open: () => Promise<RouteStream>,
): Promise<StreamReply> {
  const release = app.streams.acquire(call.user?.id ?? request.remote);
  try {
    const { stream, frame } = await open();
    return {
      headers: headers ? { ...STREAM_HEADERS, ...headers } : STREAM_HEADERS,
      stream,
      frame,
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** The headers that belong to an error: how to authenticate, or when to try again. */
export function errorHeaders({ detail, kind }: A2AError): Record<string, string> {
  if (kind === 'unauthenticated') return { 'www-authenticate': 'Bearer' };
  const seconds = detail.retryAfterSeconds;
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}

/** The last event that the client has seen: from the header that SSE clients send, or the parameter `after`. */
export function lastEventId(
  request: Pick<TransportRequest, 'header'>,
  after: string | null | undefined,
): number | undefined {
  const text = request.header('last-event-id') ?? after ?? '';
  if (text === '') return undefined;
  const seq = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(seq)) {
    throw new A2AError('invalidParams', 'Last-Event-ID and after are sequence numbers');
  }
  return seq;
}
