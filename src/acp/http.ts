/**
 * ACP over Streamable HTTP, on one path:
 *
 *   POST    sends a message. `initialize` opens a connection, and its response has the header `Acp-Connection-Id`.
 *           All other requests must have this header. Every other POST is answered with 202, and the response to its
 *           message arrives on a GET stream.
 *   GET     reads the messages for the client as server-sent events. With the header `Acp-Session-Id`, these are the
 *           messages of this session. Without the header, they are the messages of the connection itself.
 *   DELETE  closes the connection.
 *
 * The SDK implements the transport, and creates one `Stream` of messages for each connection. This module limits the
 * number of connections and their idle time. Only the user who opened a connection can use it. A lost connection is not
 * resumed. Instead, the client connects again, and continues with `session/load`.
 */
import type { Stream } from '@agentclientprotocol/sdk';
import type { AcpServer } from '@agentclientprotocol/sdk/experimental/server';
import { isObject } from '../base/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { JsonRoute, RouteBase, RouteReply, RouteRequest, RouteText } from '../http/index.ts';
import type { ServedAcp } from './serve.ts';

const MAX_CONNECTIONS = 256;
/** How long a connection without open requests stays open. */
const IDLE_MS = 60_000;
/**
 * Maximum size of output that the client has not read, in characters of JSON. At this size, the session waits. If the
 * client then reads nothing for 60 seconds, the SDK closes the connection.
 */
const MAX_BUFFERED = 4 * 1024 * 1024;
/**
 * Maximum number of sessions of a connection that have unread messages but no open stream. Beyond this, the SDK closes
 * the connection.
 */
const MAX_SESSION_STREAMS = 64;
const CONNECTION_ID = 'acp-connection-id';
/** The request headers that the transport reads. */
const FORWARDED = ['content-type', 'accept', CONNECTION_ID, 'acp-session-id'];

export interface AcpHttpOptions {
  readonly path: string;
  /** Serves a new connection. `request` is the request that opened it. */
  serve(stream: Stream, request: RouteRequest): ServedAcp;
  readonly maxConnections?: number;
  readonly idleMs?: number;
}

interface Connection {
  /** The user who opened the connection. Other users cannot use it. */
  readonly user: string;
  readonly served: ServedAcp;
  /** The number of open requests. */
  requests: number;
  idle?: NodeJS.Timeout;
}

/** Returns the routes of the transport, for `serve`. */
export function acpRoutes(options: AcpHttpOptions): JsonRoute[] {
  const { path, maxConnections = MAX_CONNECTIONS, idleMs = IDLE_MS } = options;
  const connections = new Map<string, Connection>();
  let opening = 0;
  let server: Promise<AcpServer> | undefined;

  /** Counts an open request. Returns a function that must be called when the request has ended. */
  function enter(connection: Connection): () => void {
    clearTimeout(connection.idle);
    connection.requests += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      connection.requests -= 1;
      if (connection.requests > 0) return;
      connection.idle = setTimeout(() => connection.served.close(), idleMs).unref();
    };
  }

  function find(request: RouteRequest): Connection | undefined {
    const id = request.header(CONNECTION_ID);
    if (id === undefined) return undefined;
    const found = connections.get(id);
    if (found?.user === nameOf(request)) return found;
    throw new A2AError('notFound', 'Unknown Acp-Connection-Id: send initialize again');
  }

  async function handle(verb: RouteBase['verb'], request: RouteRequest) {
    if (verb === 'POST') checkId(request.body);
    const connection = find(request);
    if (connection) {
      const leave = enter(connection);
      try {
        const response = await forward(verb, request);
        return await replyOf(response, leave);
      } catch (error) {
        leave();
        throw error;
      }
    }
    if (connections.size + opening >= maxConnections) {
      throw new A2AError('unavailable', 'Too many ACP connections are open', {
        retryAfterSeconds: 5,
      });
    }
    let served: ServedAcp | undefined;
    let failure: Error | undefined;
    opening += 1;
    try {
      const connect = (stream: Stream) => {
        try {
          return (served = options.serve(stream, request));
        } catch (error) {
          failure = error instanceof Error ? error : new Error(String(error));
          throw error;
        }
      };
      const response = await forward(verb, request, connect);
      // If `serve` has failed, the response is not used, because the transport has put the error's message into it.
      if (failure) throw failure;
      const id = response.headers.get(CONNECTION_ID);
      if (served && id !== null) open(id, { user: nameOf(request), served, requests: 0 });
      return await replyOf(response);
    } finally {
      opening -= 1;
    }
  }

  function open(id: string, connection: Connection): void {
    connections.set(id, connection);
    enter(connection)();
    void connection.served.closed.then(() => {
      clearTimeout(connection.idle);
      connections.delete(id);
    });
  }

  async function forward(
    method: RouteBase['verb'],
    request: RouteRequest,
    connect: (stream: Stream) => ServedAcp = refuse,
  ): Promise<Response> {
    const headers = FORWARDED.flatMap((name): [string, string][] => {
      const value = request.header(name);
      return value === undefined ? [] : [[name, value]];
    });
    const { body, call } = request;
    const forwarded = new Request(`http://localhost${path}`, {
      method,
      headers,
      ...(method === 'POST' && { body: JSON.stringify(body ?? null) }),
      ...(call.signal && { signal: call.signal }),
    });
    server ??= openServer();
    return (await server).handleRequest(forwarded, { agent: { connect } });
  }

  return (['GET', 'POST', 'DELETE'] as const).map((verb) => ({
    verb,
    path,
    handle: (request) => handle(verb, request),
  }));
}

/** Loads the transport with the first request. */
async function openServer(): Promise<AcpServer> {
  const { AcpServer: Server } = await import('@agentclientprotocol/sdk/experimental/server');
  return new Server({
    agent: { connect: refuse },
    maxBufferedBytes: MAX_BUFFERED,
    maxBufferedSessionStreams: MAX_SESSION_STREAMS,
  });
}

/** Throws if the id has an invalid type, because the transport would answer such a request with an internal error. */
function checkId(body: unknown): void {
  const id = isObject(body) ? body['id'] : undefined;
  if (id == null || typeof id === 'string' || typeof id === 'number') return;
  throw new A2AError('invalidRequest', 'id: must be a string or a number');
}

function refuse(): never {
  throw new A2AError('notFound', 'Only initialize opens a connection');
}

/** Returns the reply. `leave` is called when the reply is complete. */
async function replyOf(
  response: Response,
  leave: () => void = () => {},
): Promise<RouteReply | RouteText> {
  const headers = Object.fromEntries(response.headers);
  delete headers['connection'];
  const isStream = headers['content-type'] === 'text/event-stream' && response.ok;
  if (isStream && response.body) return { headers, chunks: textOf(response.body, leave) };
  leave();
  return { status: response.status, headers, text: await response.text() };
}

function textOf(body: ReadableStream<Uint8Array>, leave: () => void): AsyncIterable<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value = '' } = await reader.read();
        return done ? { done, value: undefined } : { done, value };
      },
      // `return` is called at the end of every reply. The `finally` block of a generator would not run if the reply
      // ended before the first read.
      async return() {
        leave();
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}

function nameOf({ call }: RouteRequest): string {
  return JSON.stringify(call.user ?? null);
}
