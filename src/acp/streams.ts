/**
 * The transports of ACP: standard input and output (one message per line), WebSocket (one message per text frame), and
 * Streamable HTTP (http.ts).
 *
 * With stdio, only messages may be written to standard output. Logs go to standard error.
 */
import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type AnyMessage, type Stream } from '@agentclientprotocol/sdk';
import type { Editor, LiveSession } from '../live/client/index.ts';
import { inspectJson } from '../protocol/index.ts';
import { CLOSE, type PeerSocket, type SocketListener, type SocketRequest } from '../http/index.ts';
import { acpRoutes } from './http.ts';
import { serveAcp, type AcpAbout, type AcpOptions, type Wanted } from './serve.ts';

/** Maximum size of a line on standard input. A line may contain images. WebSocket frames are limited by the server. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** Number of unsent bytes at which writing pauses until the peer has read them. */
const HIGH_WATER = 256 * 1024;
const STALL_MS = 30_000;

export function stdioStream(
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Stream {
  // Node's type declaration does not specify that the web stream contains bytes.
  const bytes = Readable.toWeb(input) as ReadableStream<Uint8Array>;
  return ndJsonStream(Writable.toWeb(output), bytes, { maxMessageBytes: MAX_LINE_BYTES });
}

/** Adds a client with this name to the session. */
type Enter = (clientName: string, editor?: Editor) => LiveSession;

export interface AcpSocketOptions extends AcpAbout {
  /** Time in milliseconds after which a peer that reads nothing is disconnected. Default: 30,000. */
  readonly stallMs?: number;
}

/**
 * Serves ACP on a WebSocket. The socket has one session at a time. Until the client leaves this session, session/new
 * returns it, and session/load and session/resume accept only its id. `enter` gets the name that the peer sent in
 * `initialize`.
 *
 *   liveServeOptions({ …, acp: (socket, enter) => acpSocket(socket, enter, { version, logger }) })
 */
export function acpSocket(
  socket: PeerSocket,
  enter: Enter,
  about: AcpSocketOptions,
): SocketListener {
  const { close, join, leave } = oneSession(enter);
  const listener = serveSocket(socket, { ...about, join, leave });
  return {
    ...listener,
    close() {
      listener.close?.();
      void close();
    },
  };
}

/** Serves ACP on a WebSocket, with as many sessions as the client opens. */
export function serveSocket(
  socket: PeerSocket,
  { stallMs = STALL_MS, ...options }: AcpOptions & Pick<AcpSocketOptions, 'stallMs'>,
): SocketListener {
  let drained = Promise.withResolvers<void>();
  let incoming: ReadableStreamDefaultController<AnyMessage> | undefined;

  const tooSlow = () => {
    options.logger.warn({}, 'an ACP client reads too slowly');
    socket.close(CLOSE.tooSlow, 'load the session again');
  };

  const readable = new ReadableStream<AnyMessage>({
    start: (controller) => void (incoming = controller),
    cancel() {
      incoming = undefined;
      socket.close(CLOSE.goingAway, 'the session has ended');
    },
  });
  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      socket.send(JSON.stringify(message));
      if (socket.buffered < HIGH_WATER) return;
      socket.watch(stallMs, tooSlow);
      await drained.promise;
    },
  });

  serveAcp({ readable, writable }, options);

  return {
    message(text) {
      const message = parse(text);
      if (message !== undefined) incoming?.enqueue(message);
      else if (socket.buffered < HIGH_WATER) socket.send(PARSE_ERROR);
      else socket.watch(stallMs, tooSlow);
    },
    drain() {
      drained.resolve();
      drained = Promise.withResolvers();
    },
    close() {
      drained.resolve();
      incoming?.close();
      incoming = undefined;
    },
  };
}

/** Serves ACP over Streamable HTTP. Each connection has one session at a time, as in `acpSocket`. */
export function acpHttp(about: AcpAbout) {
  return (path: string, enter: (request: Pick<SocketRequest, 'user' | 'query'>) => Enter) =>
    acpRoutes({
      path,
      serve: (stream, { call, query }) => {
        const { join, leave } = oneSession(enter({ user: call.user, query }));
        return serveAcp(stream, { ...about, join, leave });
      },
    });
}

/**
 * Returns the functions `join` and `leave` for a connection with one session at a time. `join` returns the same session
 * until the client leaves it.
 */
function oneSession(enter: Enter) {
  let session: LiveSession | undefined;
  return {
    join: ({ clientName, editor }: Wanted) => (session ??= enter(clientName, editor)),
    leave: async (left: LiveSession) => {
      session = undefined;
      await left.close();
    },
    close: () => session?.close(),
  };
}

const PARSE_ERROR = JSON.stringify({
  jsonrpc: '2.0',
  id: null,
  error: { code: -32700, message: 'Parse error' },
});

/** Parses a message. Returns undefined if the JSON is invalid, too deep or too large. */
function parse(text: string): AnyMessage | undefined {
  try {
    const message: AnyMessage = JSON.parse(text);
    inspectJson(message);
    return message;
  } catch {
    return undefined;
  }
}
