/**
 * Transports of ACP: standard input and output (one message per line), and WebSocket (one message per text frame).
 *
 * With stdio, only messages may be written to standard output. Logs go to standard error.
 */
import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type AnyMessage, type Stream } from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import { inspectJson } from '../protocol/index.ts';
import { CLOSE, type PeerSocket, type SocketListener } from '../http/index.ts';
import { serveAcp, type AcpOptions } from './serve.ts';

/** Maximum length of a line. Images are sent inline. WebSocket frames are limited by the server. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** With more unsent bytes than this, writing pauses until the peer has read. */
const HIGH_WATER = 256 * 1024;
/** A peer that reads nothing for this long is disconnected. */
const STALL_MS = 30_000;

export function stdioStream(
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Stream {
  // Node's type does not say that the web stream contains bytes.
  const bytes = Readable.toWeb(input) as ReadableStream<Uint8Array>;
  return ndJsonStream(Writable.toWeb(output), bytes, { maxMessageBytes: MAX_LINE_BYTES });
}

export interface AcpSocketOptions extends Pick<AcpOptions, 'version' | 'logger'> {
  /** A peer that reads nothing for this long is disconnected. */
  readonly stallMs?: number;
}

/**
 * Serves ACP on a WebSocket. Every session request of the peer returns the one session of this socket, which the peer
 * joins under its own name.
 *
 *   liveServeOptions({ …, acp: (socket, enter) => acpSocket(socket, enter, { version, logger }) })
 */
export function acpSocket(
  socket: PeerSocket,
  enter: (clientName: string) => LiveSession,
  { version, logger, stallMs = STALL_MS }: AcpSocketOptions,
): SocketListener {
  let drained = Promise.withResolvers<void>();
  let incoming: ReadableStreamDefaultController<AnyMessage> | undefined;
  let session: LiveSession | undefined;

  const tooSlow = () => {
    logger.warn({ client: session?.self.name }, 'an ACP client reads too slowly');
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

  serveAcp(
    { readable, writable },
    {
      version,
      logger,
      join: ({ clientName }) => (session ??= enter(clientName)),
      async leave(left) {
        session = undefined;
        await left.close();
      },
    },
  );

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
      void session?.close();
    },
  };
}

const PARSE_ERROR = JSON.stringify({
  jsonrpc: '2.0',
  id: null,
  error: { code: -32700, message: 'Parse error' },
});

/** Undefined for invalid JSON, and for JSON beyond the limits of depth and size. */
function parse(text: string): AnyMessage | undefined {
  try {
    const message: AnyMessage = JSON.parse(text);
    inspectJson(message);
    return message;
  } catch {
    return undefined;
  }
}
