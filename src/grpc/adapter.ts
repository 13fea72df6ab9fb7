/** Passes HTTP/2 requests of Node to the methods, and writes their responses, with backpressure and limits. */
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { DescMessage } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createContextValues } from '@connectrpc/connect';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { MAX_TIMER_MS } from '../base/index.ts';
import {
  type Beating,
  clientOf,
  type GrpcContext,
  type GrpcHandler,
  nodeRequest,
  Pace,
  UNCOUNTED_BYTES,
} from '../http/index.ts';
import { A2AError } from '../protocol/index.ts';
import { CALL, type GrpcCall } from './call.ts';
import { httpStatusOf, limitedBody } from './codec/index.ts';
import { grpcError } from './errors.ts';
import { EventWriter } from './event-writer.ts';

/** How long the rest of a refused request is discarded. */
const DISCARD_MS = 5000;
/** The status in the metrics if the client disconnects before the answer. */
const CLOSED_BY_CLIENT = httpStatusOf(Code.Canceled);
const INTERNAL: number = Code.Internal;
/** Created only once, because a new error with a stack trace for every closed request would be expensive. */
const GONE = new ConnectError('The client disconnected', Code.Canceled);
/** The content types of messages in protobuf. gRPC with JSON and gRPC-Web are not supported. */
const BINARY = /^application\/grpc(?:\+proto)?\s*(?:;|$)/i;

/** Makes a handler that calls the methods of a router. */
export function createAdapter(router: ConnectRouter, context: GrpcContext): GrpcHandler {
  const methods = new Map(router.handlers.map((method) => [method.requestPath, method]));
  const { app, publicUrl } = context;
  const pace = new Pace();

  async function answer(request: Http2ServerRequest, response: Http2ServerResponse) {
    const gone = new AbortController();
    const since = performance.now();
    let isObserved = false;
    let isRead = false;
    request.once('close', () => gone.abort(GONE));
    const call: GrpcCall = {
      request: nodeRequest(request, response, publicUrl),
      user: undefined,
      observed(status) {
        if (isObserved) return;
        isObserved = true;
        context.observe?.(call.request, status, (performance.now() - since) / 1000);
      },
      expired() {
        if (isRead || response.stream.destroyed) return;
        if (response.headersSent) return response.stream.close(constants.NGHTTP2_CANCEL);
        refuse(request, Code.DeadlineExceeded, 'The request did not arrive before its deadline');
        call.observed(httpStatusOf(Code.DeadlineExceeded));
      },
      send(stream, frame, headers) {
        const client = clientOf(call.user, call.request);
        const options = { stream, frame, client, pace, context };
        return new EventWriter(response, options).run(headers);
      },
    };
    const method = methods.get(request.url);
    if (!BINARY.test(request.headers['content-type'] ?? '')) {
      refuseType(request);
      return call.observed(415);
    }
    if (!method) {
      refuse(request, Code.Unimplemented, 'This server has no such gRPC method');
      return call.observed(httpStatusOf(Code.Unimplemented));
    }
    const answered = await method({
      httpVersion: request.httpVersion,
      method: request.method,
      url: `http://localhost${request.url}`,
      header: headersOf(request),
      body: countedBody(request, method.method.input, call, context, () => (isRead = true)),
      signal: gone.signal,
      contextValues: createContextValues().set(CALL, call),
    });
    await new ResponseWriter(response, call, context).write(answered);
    // The methods report their own errors. Other errors, for example a deadline that has passed, are known only here.
    call.observed(gone.signal.aborted ? CLOSED_BY_CLIENT : statusOf(answered));
    if (!request.complete) discardRest(request);
  }

  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.stream?.destroyed) return;
      // Here, only the limits of pending bytes throw an A2AError.
      if (error instanceof A2AError) {
        app.logger.warn({}, 'disconnected a client because too much data is in transit');
        return response.stream.close(constants.NGHTTP2_CANCEL);
      }
      app.logger.error({ err: error }, 'failed to answer a gRPC request');
      response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  };
}

/** Returns the HTTP status for the gRPC status of a response. */
function statusOf({ status, trailer }: UniversalServerResponse): number {
  const code = Number(trailer?.get('grpc-status') ?? 0);
  if (code === 0) return status;
  // gRPC requires the code INTERNAL for malformed messages, but such a message is an error of the client.
  return code === INTERNAL ? 400 : httpStatusOf(code);
}

/**
 * Discards the rest of a refused request for a while, and then closes the stream. Meanwhile, the client can read the
 * status.
 */
function discardRest(request: Http2ServerRequest): void {
  const { stream } = request;
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), DISCARD_MS).unref();
  stream.once('close', () => clearTimeout(timer));
  request.resume();
}

/** Refuses a content type with HTTP status 415, as gRPC specifies. */
function refuseType(request: Http2ServerRequest): void {
  request.stream.respond({ ':status': 415 }, { endStream: true });
  discardRest(request);
}

/** Sends a status without calling a method. */
function refuse(request: Http2ServerRequest, code: Code, message: string): void {
  const headers = {
    ':status': 200,
    'content-type': 'application/grpc+proto',
    'grpc-status': String(code),
    'grpc-message': message,
  };
  // A response without protobuf messages has its status in the headers, and the headers end the stream.
  request.stream.respond(headers, { endStream: true });
  discardRest(request);
}

function headersOf({ headers }: Http2ServerRequest): Headers {
  const out = new Headers();
  for (const name in headers) {
    const value = headers[name];
    if (name.startsWith(':') || value === undefined) continue;
    out.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  // connect does not accept parameters in the content type.
  out.set('content-type', 'application/grpc');
  if (isBeyondTimers(out.get('grpc-timeout'))) out.delete('grpc-timeout');
  return out;
}

/** The units of a deadline that can be too long for a timer, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000 };

/** Returns whether a deadline is too far away for a timer (more than 24 days). Such a timer would fire immediately. */
function isBeyondTimers(timeout: string | null): boolean {
  const [, count, unit = ''] = /^(\d{1,8})([HMS])$/.exec(timeout ?? '') ?? [];
  return Number(count) * (UNITS[unit] ?? 0) > MAX_TIMER_MS;
}

/**
 * Returns the trailers, with the punctuation in `grpc-message` unescaped. connect escapes most punctuation there. gRPC
 * specifies this only for `%` and for characters that are not printable ASCII, and grpc-js does not unescape characters
 * such as `:` and `/`.
 */
function trailersOf(trailer: Headers): Record<string, string> {
  const out = Object.fromEntries(trailer);
  const { 'grpc-message': text } = out;
  if (text !== undefined) out['grpc-message'] = text.replaceAll(PUNCTUATION, decodeURIComponent);
  return out;
}

/**
 * Escaped printable ASCII except `%`. A space at the start or the end stays escaped, because a header must not begin or
 * end with a space.
 */
const PUNCTUATION = /(?<!^)%20(?!$)|%(?!20|25|7F)[2-7][\dA-F]/g;

/**
 * Iterates over the body, and counts its bytes while it is being received. Limits the size of the message in the body,
 * and the number of messages inside this message.
 */
async function* countedBody(
  request: Http2ServerRequest,
  schema: DescMessage,
  call: GrpcCall,
  { app, maxBodyBytes }: GrpcContext,
  onRead: () => void,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let held = 0;
  let client = '';
  try {
    const chunks: AsyncIterable<Buffer> = request;
    for await (const chunk of limitedBody(chunks, schema, maxBodyBytes)) {
      size += chunk.length;
      if (size > UNCOUNTED_BYTES) {
        client ||= clientOf(call.user, call.request);
        app.pending.take(client, size - held, held);
        held = size;
      }
      yield chunk;
    }
    onRead();
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    call.observed(error.httpStatus);
    throw grpcError(error);
  } finally {
    app.pending.give(client, held);
  }
}

/** Writes one response. */
class ResponseWriter implements Beating {
  stalledAt: number | undefined;
  readonly #response: Http2ServerResponse;
  readonly #call: GrpcCall;
  readonly #context: GrpcContext;

  constructor(response: Http2ServerResponse, call: GrpcCall, context: GrpcContext) {
    this.#response = response;
    this.#call = call;
    this.#context = context;
  }

  async write({ status, header, body, trailer }: UniversalServerResponse): Promise<void> {
    const response = this.#response;
    const { heartbeat } = this.#context;
    const chunks = body && Symbol.asyncIterator in body ? body[Symbol.asyncIterator]() : undefined;
    heartbeat.add(this);
    try {
      for (;;) {
        const next = await chunks?.next();
        if (response.stream.destroyed) return;
        if (!response.headersSent) response.writeHead(status, Object.fromEntries(header ?? []));
        if (!next || next.done) break;
        if (!response.write(next.value)) await this.#drained(next.value.length);
      }
      if (trailer) response.addTrailers(trailersOf(trailer));
      response.end();
      if (response.stream.writableLength > 0) this.#awaitReader();
    } finally {
      if (this.stalledAt === undefined) heartbeat.remove(this);
      await chunks?.return?.();
    }
  }

  /** Disconnects the client if it does not read the end of the response. */
  #awaitReader(): void {
    this.stalledAt = performance.now();
    this.#response.stream.once('close', () => this.#context.heartbeat.remove(this));
  }

  /** Waits until the client has read the written data, or has disconnected. */
  async #drained(bytes: number): Promise<void> {
    const { stream } = this.#response;
    const client = clientOf(this.#call.user, this.#call.request);
    const { pending } = this.#context.app;
    const counted = bytes > UNCOUNTED_BYTES ? bytes : 0;
    if (counted > 0) pending.take(client, counted);
    this.stalledAt = performance.now();
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        stream.off('close', done);
        resolve();
      };
      this.#response.once('drain', done);
      stream.once('close', done);
    });
    this.stalledAt = undefined;
    pending.give(client, counted);
  }

  /** Sends nothing, because gRPC has no message that clients ignore. Clients can send HTTP/2 pings. */
  beat(): void {}

  drop(): void {
    this.#context.app.logger.warn({}, 'disconnected a client that stopped reading');
    this.#response.stream.close(constants.NGHTTP2_CANCEL);
  }
}
