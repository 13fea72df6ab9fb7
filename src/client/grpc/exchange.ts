/** Sends one request over gRPC, and checks and limits its response. */
import type { DescMessage } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { createTransport, findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { createNodeHttpClient, type Http2SessionManager } from '@connectrpc/connect-node';
import { limitedBody, READ_OPTIONS } from '../../grpc/codec/index.ts';
import type { ByteBudget } from '../connection/request.ts';

const MEGABYTE = 2 ** 20;
/** The error code of HTTP/2 for a stream that was not processed. */
const REFUSED_STREAM = 7;

/** One request and its response. */
export interface GrpcExchange {
  readonly transport: Transport;
  /** Returns whether the request may have reached the agent. */
  isSent(): boolean;
}

interface ExchangeLimits {
  readonly budget: ByteBudget | undefined;
  readonly readMaxBytes: number | undefined;
}

export function exchangeOver(
  baseUrl: string,
  sessions: Http2SessionManager,
  schema: DescMessage,
  { budget, readMaxBytes = 32 * MEGABYTE }: ExchangeLimits,
): GrpcExchange {
  let sent = false;
  let answered = false;
  const ended = Promise.withResolvers<never>();
  const session: Pick<Http2SessionManager, 'authority' | 'request' | 'notifyResponseByteRead'> = {
    authority: sessions.authority,
    async request(...request) {
      const stream = await sessions.request(...request);
      sent = true;
      keepListening(stream.session);
      stream.once('close', () => {
        // With this code, the agent has not processed the request (RFC 9113, section 8.7), for example because it was
        // shutting down.
        if (stream.rstCode === REFUSED_STREAM) sent = false;
        // The library Connect does not notice a reset without an error code.
        if (!answered) ended.reject(new Error('the stream ended without a response'));
      });
      return stream;
    },
    notifyResponseByteRead: (stream) => sessions.notifyResponseByteRead(stream),
  };
  const client = createNodeHttpClient({ httpVersion: '2', sessionProvider: () => session });
  const transport = createTransport({
    baseUrl,
    async httpClient(request) {
      const response = await Promise.race([client(request), ended.promise]);
      answered = true;
      const { status, header, trailer } = response;
      makeReadable(header);
      const isGrpc = header.get('content-type')?.startsWith('application/grpc') === true;
      const encoding = header.get('grpc-encoding')?.toLowerCase() ?? 'identity';
      // Connect refuses a response with another status, type or encoding without reading its body. If nothing read the
      // body, the stream and its connection would stay open.
      if (status !== 200 || !isGrpc || encoding !== 'identity') {
        discard(response.body).catch(() => undefined);
      }
      const body = budget ? counted(response.body, budget) : response.body;
      return {
        ...response,
        body: beforeTrailers(limitedBody(body, schema, readMaxBytes), trailer),
      };
    },
    readMaxBytes,
    writeMaxBytes: 2 ** 32 - 1,
    useBinaryFormat: true,
    binaryOptions: READ_OPTIONS,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 0,
  });
  return { transport, isSent: () => sent };
}

type Stream = Awaited<ReturnType<Http2SessionManager['request']>>;

const heard = new WeakSet<object>();

/**
 * Listens to the errors of a connection, because an error without a listener would end the process. The session manager
 * stops listening when it opens the next connection. At this time, the old connection may not have reported its error
 * yet, for example if the agent supports only HTTP/1.1.
 */
function keepListening(session: Stream['session']): void {
  if (!session || heard.has(session)) return;
  heard.add(session);
  session.on('error', () => undefined);
}

/** Yields the body. Then repairs the trailers, because Connect reads them after the body. */
async function* beforeTrailers(
  body: AsyncIterable<Uint8Array>,
  trailer: Headers,
): AsyncGenerator<Uint8Array> {
  yield* body;
  makeReadable(trailer);
}

/** Removes or escapes the parts of a status that Connect cannot decode. Its decoding error would hide the status. */
function makeReadable(headers: Headers): void {
  for (const repair of [withoutDetails, withEscapedMessage]) {
    try {
      findTrailerError(headers);
      return;
    } catch {
      repair(headers);
    }
  }
}

function withoutDetails(headers: Headers): void {
  headers.delete('grpc-status-details-bin');
}

function withEscapedMessage(headers: Headers): void {
  const text = headers.get('grpc-message') ?? '';
  headers.set('grpc-message', encodeURIComponent(text));
}

/** Reads and drops the body of a refused response. Stops after one megabyte. */
async function discard(body: AsyncIterable<Uint8Array>): Promise<void> {
  let left = MEGABYTE;
  for await (const chunk of body) {
    left -= chunk.byteLength;
    if (left < 0) return;
  }
}

async function* counted(
  body: AsyncIterable<Uint8Array>,
  budget: ByteBudget,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    budget.take(chunk.byteLength);
    yield chunk;
  }
}
