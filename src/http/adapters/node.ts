/**
 * The adapter for node:http and node:http2: a `(request, response)` handler that also mounts in Express and connect.
 *
 *   http.createServer(serve(agent).node)        express().use('/agent', serve(agent).node)
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { isLoopbackAddress } from '../admission.ts';
import { clientOf, type PendingBytes } from '../pending-bytes.ts';
import type { App } from '../app.ts';
import { dropUnread, EventSink, flatten, type UnreadOptions } from './event-sink.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from './messages.ts';
import { Pace } from './pace.ts';
import { isDirect } from './direct-request.ts';
import { readBody } from './request-body.ts';
import { sendText } from './text-writer.ts';
import type {
  FullReply,
  Reply,
  RequestConnection,
  StreamReply,
  TransportRequest,
} from '../request.ts';

export interface NodeOptions extends Omit<UnreadOptions, 'unread'> {
  readonly maxBodyBytes: number;
  readonly pending: PendingBytes;
  readonly publicUrl: string | undefined;
  readonly heartbeat: Heartbeat;
  readonly cors: (request: TransportRequest) => Record<string, string>;
}

type WriteOptions = NodeOptions & UnreadOptions;

/** A handler for `node:http`, Express and connect. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** The response to a request, or the socket of a WebSocket connection. */
type Answered = Pick<HttpResponse, 'destroyed' | 'once' | 'writableFinished'>;

/** The parts of a response that its request uses. */
type RequestResponse = Answered & Pick<HttpResponse, 'destroy'>;

/** Created only once, because a new error with a stack trace for every closed request would be expensive. */
const GONE = new DOMException('The client disconnected', 'AbortError');

export class NodeRequest implements TransportRequest {
  readonly #request: HttpRequest;
  readonly #response: Answered;
  readonly #publicUrl: string | undefined;
  #controller: AbortController | undefined;

  constructor(request: HttpRequest, response: Answered, publicUrl: string | undefined) {
    this.#request = request;
    this.#response = response;
    this.#publicUrl = publicUrl;
  }

  protected get socket(): Socket {
    return this.#request.socket;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get url(): string {
    const url = this.#request.url ?? '/';
    // A server must also accept a whole URL as the request target (RFC 9112, section 3.2.2).
    return url.startsWith('/') || !URL.canParse(url) ? url : pathOf(new URL(url));
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /**
   * The name of a repeated header: `Host` or `Authorization`. Undefined if neither header is repeated. Node uses only
   * the first value of these headers.
   */
  get repeated(): string | undefined {
    const { rawHeaders } = this.#request;
    let host = 0;
    let authorization = 0;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at]!;
      // The length is compared first, because this runs for every request.
      if (name.length === 4 && name.toLowerCase() === 'host') host++;
      else if (name.length === 13 && name.toLowerCase() === 'authorization') authorization++;
    }
    return host > 1 ? 'Host' : authorization > 1 ? 'Authorization' : undefined;
  }

  get base(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const secure = 'encrypted' in this.socket;
    const host = this.header('host') ?? 'localhost';
    return `${secure ? 'https' : 'http'}://${host}${mountOf(this.#request)}`;
  }

  get remote(): string {
    return this.socket.remoteAddress ?? '';
  }

  get local(): boolean {
    if (isDirect(this.#request) && this.#request.isLocal) return true;
    return isLoopbackAddress(this.socket.localAddress ?? '');
  }

  get connection(): RequestConnection | undefined {
    const { socket } = this.#request;
    return {
      drop: () => socket.destroy(),
      onClose: (listener) => this.#response.once('close', listener),
    };
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = (this.#controller = new AbortController());
      if (this.#response.destroyed) controller.abort(GONE);
      else {
        this.#response.once('close', () => {
          // After a complete response, nothing is left to abort. An abort takes time, so it would slow down every
          // request.
          if (!isComplete(this.#response)) controller.abort(GONE);
        });
      }
    }
    return this.#controller.signal;
  }
}

/**
 * A request over HTTP/2. Its Host is the pseudo-header `:authority`. The same connection may carry other requests, also
 * of other users.
 */
class Http2Request extends NodeRequest {
  readonly #headers: HttpRequest['headers'];
  readonly #response: RequestResponse;
  /** Kept, because a request that has ended no longer knows its connection. */
  readonly #socket: Socket;

  constructor(request: HttpRequest, response: RequestResponse, publicUrl: string | undefined) {
    super(request, response, publicUrl);
    this.#headers = request.headers;
    this.#response = response;
    this.#socket = request.socket;
  }

  protected override get socket(): Socket {
    return this.#socket;
  }

  override header(name: string): string | undefined {
    return super.header(name === 'host' && ':authority' in this.#headers ? ':authority' : name);
  }

  /** A Host header that differs from `:authority` counts as a second one (RFC 9113, section 8.3.1). */
  override get repeated(): string | undefined {
    const { host } = this.#headers;
    return host === undefined || host === this.header('host') ? super.repeated : 'Host';
  }

  override get connection(): RequestConnection {
    const response = this.#response;
    return {
      drop: () => response.destroy(),
      onClose: (listener) => response.once('close', listener),
    };
  }
}

/** Returns the TransportRequest for a request that Node has received, over HTTP/1.1 or HTTP/2. */
export function nodeRequest(
  incoming: HttpRequest,
  response: RequestResponse,
  publicUrl: string | undefined,
): TransportRequest {
  return incoming.httpVersionMajor === 2
    ? new Http2Request(incoming, response, publicUrl)
    : new NodeRequest(incoming, response, publicUrl);
}

/** Returns whether the whole response was sent. The socket of a WebSocket connection never has a complete response. */
function isComplete(response: Answered): boolean {
  return 'req' in response && response.writableFinished;
}

function pathOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}

/**
 * Returns the path at which a framework mounted the handler. Express provides this path in `baseUrl`. With connect, the
 * mount path is the original path without the path that the handler gets.
 */
function mountOf(request: HttpRequest): string {
  const base: unknown = Reflect.get(request, 'baseUrl');
  if (typeof base === 'string') return base;
  const original: unknown = Reflect.get(request, 'originalUrl');
  if (typeof original !== 'string') return '';
  const [whole = ''] = original.split('?', 1);
  const [path = ''] = (request.url ?? '/').split('?', 1);
  if (whole.endsWith(path)) return whole.slice(0, -path.length);
  // A request for `/agent` without a trailing slash has the url `/`.
  return path === '/' ? whole : '';
}

/** Returns the handler, and the set of its responses that must still be sent before the server closes. */
export function createNodeHandler(
  app: App,
  given: NodeOptions,
): { readonly node: HttpHandler; readonly unread: ReadonlySet<HttpResponse> } {
  const pace = new Pace();
  const unread = new Set<HttpResponse>();
  const options: WriteOptions = { ...given, unread };
  const node: HttpHandler = (incoming, response) => {
    const request = nodeRequest(incoming, response, options.publicUrl);
    app(request, (user, maxBytes) =>
      readBody(incoming, options, () => clientOf(user, request), maxBytes),
    ).then(
      (reply) => {
        if (response.destroyed) {
          abandon(reply);
          return;
        }
        const cors = incoming.headers.origin === undefined ? undefined : options.cors(request);
        if ('stream' in reply) writeStream(incoming, response, reply, cors, pace, options);
        else if ('chunks' in reply) sendText(response, reply, cors, options);
        else writeFull(incoming, response, reply, cors, options);
      },
      (error: unknown) => {
        options.logger.error({ err: error }, 'failed to answer a request');
        response.destroy();
      },
    );
  };
  return { node, unread };
}

function abandon(reply: Reply): void {
  if ('stream' in reply) reply.stream.close();
  else if ('chunks' in reply) reply.chunks.return?.().catch(() => undefined);
  reply.release?.();
}

function writeFull(
  incoming: HttpRequest,
  response: HttpResponse,
  reply: FullReply,
  cors: Record<string, string> | undefined,
  options: WriteOptions,
): void {
  const { status, body, headers } = reply;
  // The two sets of headers are not merged, because both may have a Vary header.
  const flat = flatten(headers);
  if (cors) flat.push(...flatten(cors));
  const bytes = Buffer.byteLength(body);
  if (status !== 204 && status !== 304) flat.push('content-length', String(bytes));
  response.writeHead(status, flat);
  // Most answers are ASCII, which is faster to write as latin1.
  const encoding = bytes === body.length ? 'latin1' : 'utf8';
  if (incoming.method === 'HEAD') response.end();
  else response.end(body, encoding);
  if (response.writableLength > 0) {
    if (reply.release) response.once('close', reply.release);
    dropUnread(response, options);
  } else reply.release?.();
  // Over HTTP/2, the rest of the body is refused after the response (http2.ts).
  if (!incoming.complete && incoming.httpVersionMajor === 1) drainBriefly(incoming);
}

/**
 * Reads and discards the rest of a refused body, for at most 5 seconds and 64 MB. Many clients read the answer only
 * after they have sent the whole body. If the body were not read, they would get a connection reset. For the same
 * reason, the answer does not have `connection: close`.
 */
function drainBriefly(incoming: HttpRequest): void {
  const timer = setTimeout(() => incoming.destroy(), 5000).unref();
  let left = 64 * 1024 * 1024;
  incoming.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.once('close', () => clearTimeout(timer));
  incoming.resume();
}

function writeStream(
  incoming: HttpRequest,
  response: HttpResponse,
  reply: StreamReply,
  cors: Record<string, string> | undefined,
  pace: Pace,
  options: WriteOptions,
): void {
  const sink = new EventSink(response, reply, pace, options);
  sink.writeHead(cors ? { ...reply.headers, ...cors } : reply.headers);
  reply.stream.pipe(sink);
  if (response.writableEnded) {
    response.once('close', () => sink.forget());
    return reply.release();
  }
  // A stream may be open for days, so data that it no longer needs is not kept in memory.
  if (isDirect(incoming)) {
    incoming.rawHeaders = incoming.rawTrailers = NO_HEADERS;
    if (!reply.readsHeaders) incoming.headers = callHeaders(incoming.headers);
  }
  sink.listen();
  // Send the headers before the first event, so that the client can see that it is connected.
  if (sink.silent) response.flushHeaders();
}

const NO_HEADERS: string[] = [];

/** The last result of `callHeaders`. Most requests to a server have the same values. */
let lastCallHeaders: IncomingHttpHeaders = {};

/** Returns the headers that a `Call` reads. */
function callHeaders({ host, traceparent }: IncomingHttpHeaders): IncomingHttpHeaders {
  const last = lastCallHeaders;
  if (host === last.host && traceparent === last['traceparent']) return last;
  return (lastCallHeaders = { host, traceparent });
}
