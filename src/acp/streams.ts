/**
 * Ways to carry ACP: standard input and output (a message per line), and a WebSocket (a message per text frame).
 *
 * Nothing but messages may be written to standard output while it carries them; logs go to standard error.
 */
import { Readable, Writable } from 'node:stream';
import { ndJsonStream, type AnyMessage, type Stream } from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import { inspectJson } from '../protocol/index.ts';
import { CLOSE, type PeerSocket, type SocketListener } from '../http/index.ts';
import { serveAcp, type AcpOptions } from './serve.ts';

/** One line: pictures come in them. Of frames the server has its own limit. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
/** From so many bytes on that have not left, a peer is waited for. */
const HIGH_WATER = 256 * 1024;
/** So long. */
const STALL_MS = 30_000;

export function stdioStream(
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Stream {
  // The same bytes: Node's type of a web stream leaves open what is in it.
  const bytes = Readable.toWeb(input) as ReadableStream<Uint8Array>;
  return ndJsonStream(Writable.toWeb(output), bytes, { maxMessageBytes: MAX_LINE_BYTES });
}

export interface AcpSocketOptions extends Pick<AcpOptions, 'version' | 'logger'> {
  /** A peer that has read nothing for so long is closed. */
  readonly stallMs?: number;
}

/**
 * Speaks ACP on a WebSocket that leads to one session: its peer gets that one, whatever it asks for, and is in it from
 * then on, under the name that it has told.
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
      socket.close(CLOSE.goingAway, 'the session is over');
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

/** Undefined for what is no JSON, or more of it than anybody has to say. */
function parse(text: string): AnyMessage | undefined {
  try {
    const message: AnyMessage = JSON.parse(text);
    inspectJson(message);
    return message;
  } catch {
    return undefined;
  }
}
