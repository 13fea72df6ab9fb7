/**
 * The adapter for node:http: a `(request, response)` handler that also mounts in Express, Fastify and connect.
 *
 *   http.createServer(serve(agent).node)        express().use('/agent', serve(agent).node)
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { A2AError } from '../protocol/index.ts';
import type { Logger, Opening, Published, StreamSink } from '../server/index.ts';
import type { App } from './app.ts';
import type { Beating, Heartbeat } from './heartbeat.ts';
import type { FullReply, StreamReply, TransportRequest } from './request.ts';

export interface NodeOptions {
  readonly maxBodyBytes: number;
  readonly publicUrl: string | undefined;
  readonly heartbeat: Heartbeat;
  readonly cors: (request: TransportRequest) => Record<string, string>;
  readonly logger: Logger;
}

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

const LOOPBACK = /^(::1|(::ffff:)?127\.)/;

class NodeRequest implements TransportRequest {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #publicUrl: string | undefined;
  #controller: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, publicUrl: string | undefined) {
    this.#request = request;
    this.#response = response;
    this.#publicUrl = publicUrl;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get url(): string {
    return this.#request.url ?? '/';
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  get base(): string {
    if (this.#publicUrl !== undefined) return this.#publicUrl;
    const secure = 'encrypted' in this.#request.socket;
    // Express and connect leave the mount point here.
    const mount: unknown = Reflect.get(this.#request, 'baseUrl');
    const path = typeof mount === 'string' ? mount : '';
    return `${secure ? 'https' : 'http'}://${this.header('host') ?? 'localhost'}${path}`;
  }

  get remote(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  get local(): boolean {
    return LOOPBACK.test(this.#request.socket.localAddress ?? '');
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = (this.#controller = new AbortController());
      if (this.#response.destroyed) controller.abort();
      else this.#response.once('close', () => controller.abort());
    }
    return this.#controller.signal;
  }
}

export function createNodeHandler(app: App, options: NodeOptions): NodeHandler {
  return (incoming, response) => {
    const request = new NodeRequest(incoming, response, options.publicUrl);
    app(request, () => readBody(incoming, options.maxBodyBytes)).then(
      (reply) => {
        if (response.destroyed) {
          if ('stream' in reply) abandon(reply);
          return;
        }
        const cors = incoming.headers.origin === undefined ? undefined : options.cors(request);
        if ('stream' in reply) writeStream(response, reply, cors, options);
        else writeFull(incoming, response, reply, cors);
      },
      (error: unknown) => {
        options.logger.error({ err: error }, 'a request could not be answered');
        response.destroy();
      },
    );
  };
}

function abandon(reply: StreamReply): void {
  reply.stream.close();
  reply.release();
}

function writeFull(
  incoming: IncomingMessage,
  response: ServerResponse,
  reply: FullReply,
  cors: Record<string, string> | undefined,
): void {
  const { status, body, headers } = reply;
  // One after the other: both may have a Vary.
  const flat = flatten(headers);
  if (cors) flat.push(...flatten(cors));
  if (status !== 204 && status !== 304) {
    flat.push('content-length', String(Buffer.byteLength(body)));
  }
  response.writeHead(status, flat);
  response.end(incoming.method === 'HEAD' ? undefined : body);
  if (!incoming.complete) drainBriefly(incoming);
}

/**
 * Lets a client finish sending what was refused: many read our answer only then, and a connection that was closed
 * before would be a reset to them. So the answer does not say `connection: close`, which node:http takes literally.
 */
function drainBriefly(incoming: IncomingMessage): void {
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
  response: ServerResponse,
  reply: StreamReply,
  cors: Record<string, string> | undefined,
  { heartbeat, logger }: NodeOptions,
): void {
  const sink = new EventSink(response, reply, logger);
  sink.writeHead(cors ? { ...reply.headers, ...cors } : reply.headers);
  reply.stream.pipe(sink);
  if (response.writableEnded) return reply.release();
  response.on('drain', () => sink.drained());
  response.once('close', () => {
    heartbeat.remove(sink);
    reply.stream.close();
    reply.release();
  });
  heartbeat.add(sink);
  // The client is to know that it is connected, even if nothing happens for a while.
  if (!sink.wrote) response.flushHeaders();
}

const LAST_CHUNK = '0\r\n\r\n';

/**
 * Where a stream's events go: the response, with its backpressure.
 *
 * node:http sends a chunk as three pieces, which costs more than all the rest of an event. Here the chunk's frame is
 * part of the one string that is written, and the last event brings the end along.
 */
class EventSink implements StreamSink, Beating {
  stalledAt: number | undefined;
  wrote = false;
  readonly #response: ServerResponse;
  readonly #reply: StreamReply;
  readonly #logger: Logger;
  /** HTTP/1.0 knows no chunks: there the end of the connection is the end of the stream. */
  readonly #chunked: boolean;

  constructor(response: ServerResponse, reply: StreamReply, logger: Logger) {
    this.#response = response;
    this.#reply = reply;
    this.#logger = logger;
    this.#chunked = response.req.httpVersion === '1.1';
  }

  writeHead(headers: Readonly<Record<string, string>>): void {
    const flat = flatten(headers);
    if (this.#chunked) flat.push('transfer-encoding', 'chunked');
    this.#response.writeHead(200, flat);
    this.#response.chunkedEncoding = false;
  }

  take(item: Published | Opening, last: boolean): boolean {
    this.wrote = true;
    const event = this.#chunk(this.#reply.frame(item));
    if (last) {
      this.#end(this.#chunked ? event + LAST_CHUNK : event);
      return false;
    }
    const room = this.#response.write(event);
    if (!room) this.stalledAt ??= performance.now();
    return room;
  }

  end(): void {
    if (!this.#response.writableEnded) this.#end(this.#chunked ? LAST_CHUNK : '');
  }

  /** From here to `close` the reader has to take what is left, or it is dropped like any that does not read. */
  #end(text: string): void {
    this.stalledAt ??= performance.now();
    this.#response.end(text);
  }

  drained(): void {
    this.stalledAt = undefined;
    this.#reply.stream.resume();
  }

  beat(): void {
    const room = this.#response.write(this.#chunk(': keep-alive\n\n'));
    if (!room) this.stalledAt ??= performance.now();
  }

  drop(): void {
    const resumeAfter = this.#reply.stream.cursor;
    this.#logger.warn({ resumeAfter }, 'a reader that does not read was dropped');
    this.#response.destroy();
  }

  #chunk(event: string): string {
    if (!this.#chunked) return event;
    return `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
  }
}

/** Name, value, name, value: node:http takes this form as it is. */
function flatten(headers: Readonly<Record<string, string>>): string[] {
  const flat: string[] = [];
  for (const name in headers) flat.push(name, headers[name]!);
  return flat;
}

/** A framework's parser was here before us, and has left what it made of the body. */
function parsedBody(request: IncomingMessage): string {
  const body: unknown = Reflect.get(request, 'body');
  if (typeof body === 'string') return body;
  if (Buffer.isBuffer(body)) return body.toString();
  return body === undefined ? '' : JSON.stringify(body);
}

function readBody(request: IncomingMessage, limit: number): Promise<string> {
  return new Promise((resolve, reject) => {
    if (request.readableEnded) return resolve(parsedBody(request));
    const tooLarge = () =>
      reject(new A2AError('tooLarge', `A request body has at most ${limit} bytes`));
    if (Number(request.headers['content-length'] ?? 0) > limit) return tooLarge();
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let size = 0;
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        request.off('data', onData);
        request.off('end', onEnd);
        return tooLarge();
      }
      if (!first) first = chunk;
      else (more ??= [first]).push(chunk);
    };
    const onEnd = () => {
      resolve(more ? Buffer.concat(more, size).toString() : (first?.toString() ?? ''));
    };
    // A request that breaks off has nobody to answer: its promise is forgotten together with it.
    request.on('data', onData);
    request.on('end', onEnd);
  });
}
