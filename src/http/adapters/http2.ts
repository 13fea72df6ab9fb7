/**
 * HTTP/2 connections, for the sockets that the listener recognizes as HTTP/2. This module is loaded with the first such
 * socket.
 *
 * A client can do much more on one HTTP/2 connection than on one HTTP/1.1 connection. So a connection has limits:
 * concurrent streams, memory, headers, and frames that need processing but are not part of a request. Node limits
 * CONTINUATION frames, invalid frames and acknowledgements that the client does not read. PING and SETTINGS frames, and
 * streams that the client opens only to reset them, are limited here. A connection without streams is closed after a
 * while.
 */
import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { Allowance } from '../allowance.ts';
import type { GrpcHandler } from './grpc.ts';
import type { HttpHandler } from './messages.ts';

/** Maximum number of concurrent streams of one connection. Each request is one stream. */
const MAX_STREAMS = 1000;
/** Maximum size of the headers of a request, as in HTTP/1.1. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_HEADERS = 128;
/** Maximum memory of a connection, in MB. A connection that needs more refuses new streams. */
const MAX_SESSION_MB = 32;
/** Limit of PING and SETTINGS frames on one connection. */
const CONTROL_FRAMES = { burst: 500, perSecond: 100 };
/**
 * Some clients of gRPC send a PING to measure the connection whenever they receive data. So one more PING is allowed
 * for each BYTES_PER_PING bytes that the server has sent. The acknowledgement of a PING is much shorter than
 * BYTES_PER_PING, so acknowledgements alone do not allow an endless number of PINGs.
 */
const BYTES_PER_PING = 256;
/**
 * Limit of streams on one connection that end with an error, for example because the client resets them
 * (CVE-2023-44487).
 */
const RESETS = { burst: 200, perSecond: 50 };

/** How long the rest of a body is discarded after the response. */
const REST_MS = 200;

export interface Http2Options {
  readonly handler: HttpHandler;
  /** Handles gRPC requests. Without it, `handler` gets them too. */
  readonly grpc?: GrpcHandler | undefined;
  /** The timeout for the first frame of a connection. 0: no timeout. */
  readonly headersTimeoutMs: number;
  /** The timeout for receiving a request, including its body. 0: no timeout. */
  readonly requestTimeoutMs: number;
  /** How long a connection without streams stays open. */
  readonly idleTimeoutMs: number;
}

export interface Http2Connections {
  /** Takes over a socket. Bytes that were already read must have been put back with `unshift`. */
  accept(socket: Socket): void;
  /** Whether responses are written but not sent yet. */
  readonly busy: boolean;
  /** Closes the connections and the streams whose timeout has passed. Called regularly. */
  sweep(): void;
  /** Accepts no new streams. Open streams stay open. */
  stop(): void;
}

/** A response that ends with an error code if it is destroyed. A response of node:http2 would end without one. */
class Response<
  Request extends Http2ServerRequest = Http2ServerRequest,
> extends Http2ServerResponse<Request> {
  override destroy(): this {
    if (!this.stream.closed) this.stream.close(constants.NGHTTP2_CANCEL);
    return this;
  }

  flushHeaders(): void {
    if (!this.headersSent) this.writeHead(this.statusCode);
  }
}

// Contrary to its types, the response of node:http2 does not have the property `destroyed`.
Object.defineProperty(Response.prototype, 'destroyed', {
  get(this: Response) {
    return this.stream.destroyed;
  },
});

export function http2Connections(options: Http2Options): Http2Connections {
  const { handler, grpc } = options;
  const connections = new Set<Connection>();
  const server = createServer(
    {
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: MAX_HEADER_BYTES,
        enableConnectProtocol: false,
      },
      maxHeaderListPairs: MAX_HEADERS,
      maxSessionMemory: MAX_SESSION_MB,
      streamResetBurst: RESETS.burst,
      streamResetRate: RESETS.perSecond,
      Http2ServerRequest,
      Http2ServerResponse: Response,
    },
    (request, response) => {
      if (grpc && isGrpc(request)) grpc(request, response);
      else handler(request, response);
    },
  );
  server.on('session', (session) => {
    const connection = new Connection(session, options);
    connections.add(connection);
    session.once('close', () => connections.delete(connection));
  });
  return {
    accept(socket) {
      // A server of HTTP/1.1 accepts half-open sockets and closes them itself. Over HTTP/2, a client that has closed
      // its side is gone. If its socket stayed half-open, its streams would stay open until the server next sends data.
      socket.allowHalfOpen = false;
      server.emit('connection', socket);
    },
    get busy() {
      return [...connections].some((each) => each.busy);
    },
    sweep() {
      for (const each of connections) each.sweep();
    },
    stop() {
      for (const each of connections) each.close();
    },
  };
}

/** A connection. Records when each of its streams was opened, and since when it has no streams. */
class Connection {
  readonly #session: ServerHttp2Session;
  readonly #options: Http2Options;
  /** The open streams, with the time at which they were opened. */
  readonly #streams = new Map<ServerHttp2Stream, number>();
  readonly #control = new Allowance(CONTROL_FRAMES);
  readonly #resets = new Allowance(RESETS);
  #idleSince = performance.now();
  /** Whether the client has sent its SETTINGS, with which each connection begins. */
  #isOpen = false;
  #sent = 0;

  constructor(session: ServerHttp2Session, options: Http2Options) {
    this.#session = session;
    this.#options = options;
    session.on('stream', (stream) => this.#opened(stream));
    session.on('ping', () => this.#controlled());
    session.on('remoteSettings', () => {
      this.#isOpen = true;
      this.#controlled();
    });
  }

  get busy(): boolean {
    return [...this.#streams.keys()].some(({ writableLength }) => writableLength > 0);
  }

  close(): void {
    this.#session.close();
  }

  sweep(): void {
    const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs } = this.#options;
    const now = performance.now();
    if (this.#streams.size === 0) {
      const allowedMs = this.#isOpen ? idleTimeoutMs : headersTimeoutMs || Infinity;
      if (now - this.#idleSince < allowedMs) return;
      // A connection that does not end after `close` is ended by the next sweep.
      if (this.#isOpen && !this.#session.closed) this.#session.close();
      else this.#session.destroy();
      return;
    }
    if (requestTimeoutMs === 0) return;
    for (const [stream, since] of this.#streams) {
      if (isReceived(stream) || now - since < requestTimeoutMs) continue;
      stream.close(constants.NGHTTP2_CANCEL);
    }
  }

  #opened(stream: ServerHttp2Stream): void {
    this.#streams.set(stream, performance.now());
    stream.once('finish', () => {
      if (!isReceived(stream)) refuseRest(stream);
    });
    stream.once('close', () => {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) this.#idleSince = performance.now();
      if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && !this.#resets.take()) this.#calm();
    });
  }

  #controlled(): void {
    const { bytesWritten } = this.#session.socket;
    const more = (bytesWritten - this.#sent) / BYTES_PER_PING;
    this.#sent = bytesWritten;
    if (!this.#control.take(more)) this.#calm();
  }

  /** Ends a connection whose client sends too many frames. */
  #calm(): void {
    this.#session.destroy(
      new Error('the client sends too many frames'),
      constants.NGHTTP2_ENHANCE_YOUR_CALM,
    );
  }
}

/**
 * Ends a stream after its response although the client has not sent the whole body (RFC 9113, section 8.1). Waits a
 * little for a client that is about to complete the body, and for the trailers of the response.
 */
function refuseRest(stream: ServerHttp2Stream): void {
  stream.resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), REST_MS).unref();
  stream.once('close', () => clearTimeout(timer));
}

function isGrpc({ headers }: Http2ServerRequest): boolean {
  return headers['content-type']?.startsWith('application/grpc') === true;
}

/** Returns whether the client has sent the whole request. */
function isReceived(stream: ServerHttp2Stream): boolean {
  return stream.endAfterHeaders || stream.readableEnded;
}
