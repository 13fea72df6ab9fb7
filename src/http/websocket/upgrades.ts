/**
 * Accepts WebSocket connections on the server's port, for the routes of socket-route.ts. This module is loaded only if
 * there are such routes.
 *
 * The steps for a connection are: check Host and Origin (error 403 or 400), check the number of connections (error
 * 503), authenticate the caller, and upgrade. A connection with invalid credentials is upgraded too, and then closed
 * with code 4001, because a web page cannot see an HTTP error. Frames on such a connection are ignored.
 *
 * There are limits on the size of a frame (close code 1009), the number of frames per second (1008) and the bytes of
 * unfinished frames (1013). A peer that sends no frame between two pings is disconnected. Frames are not compressed,
 * because compression needs memory for each connection and time for each frame.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { A2AError, type User } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Admission } from '../admission.ts';
import { NodeRequest } from '../adapters/node.ts';
import { Allowance } from '../allowance.ts';
import { clientOf, type PendingBytes, UNCOUNTED_BYTES } from '../pending-bytes.ts';
import { peerError } from '../respond.ts';
import { restError } from '../rest.ts';
import type { TransportRequest } from '../request.ts';
import {
  chooseProtocol,
  CLOSE,
  type PeerSocket,
  type SocketListener,
  type SocketRoute,
  TOKEN_PREFIX,
  tokenIn,
} from '../socket-route.ts';

/** How long to wait after a close frame until the peer closes its side. Then the connection is terminated. */
const CLOSE_MS = 2000;
/** Rate limit of frames and pings. */
const FRAMES = { burst: 400, perSecond: 100 };

/**
 * Maximum number of chunks and of fragments of an unfinished frame. Each needs some hundred bytes of memory, even if it
 * has a single byte.
 */
const MAX_CHUNKS = 16 * 1024;
const MAX_FRAGMENTS = 1024;

/** Maximum size of a close reason in UTF-8 (RFC 6455, 5.5). `ws` throws if a reason is longer. */
const MAX_REASON_BYTES = 123;

export interface UpgradeOptions {
  readonly routes: readonly SocketRoute[];
  readonly admission: Admission;
  readonly publicUrl: string | undefined;
  readonly maxFrameBytes: number;
  readonly maxSockets: number;
  readonly pending: PendingBytes;
  /**
   * Interval between pings. A peer that has sent no whole frame between two pings is disconnected, except if its
   * connection is paused or stalled.
   */
  readonly pingMs: number;
  readonly logger: Logger;
}

export interface Upgrades {
  /** Returns whether a request is for a WebSocket route. Other requests are answered over HTTP. */
  wanted(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Closes all connections because the server shuts down. */
  close(): void;
}

export function createUpgrades(options: UpgradeOptions): Upgrades {
  const { admission, publicUrl, logger, maxSockets } = options;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const peers = new Set<Peer>();
  /** Number of connections that are being authenticated, or closed because of invalid credentials. */
  let arriving = 0;
  let timer: NodeJS.Timeout | undefined;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Pings are answered below, so that they count against the rate limit.
    autoPong: false,
    maxPayload: options.maxFrameBytes,
    maxBufferedChunks: MAX_CHUNKS,
    maxFragments: MAX_FRAGMENTS,
    handleProtocols: (offered, request) =>
      chooseProtocol(offered, routes.get(pathOf(request))?.protocols ?? []) ?? false,
  });

  server.on('headers', (headers, request) => {
    const own = routes.get(pathOf(request))?.headers?.() ?? {};
    for (const [name, value] of Object.entries(own)) headers.push(`${name}: ${value}`);
  });

  async function admit(request: TransportRequest): Promise<User | undefined | 'nobody'> {
    admission.check(request);
    if (peers.size + arriving > maxSockets) {
      throw new A2AError('unavailable', 'Too many connections are open', { retryAfterSeconds: 5 });
    }
    try {
      return await admission.identify(request);
    } catch (error) {
      if (error instanceof A2AError && error.kind === 'unauthenticated') return 'nobody';
      throw error;
    }
  }

  async function upgrade(incoming: IncomingMessage, raw: Duplex, head: Buffer): Promise<void> {
    const request = new UpgradeRequest(incoming, raw, publicUrl);
    const fields = { path: pathOf(incoming), remote: request.remote };
    let user: Awaited<ReturnType<typeof admit>>;
    arriving++;
    try {
      user = await admit(request);
    } catch (error) {
      const failure = peerError({ logger }, error);
      logger.warn({ ...fields, problem: failure.message }, 'a WebSocket was refused');
      return refuse(raw, request, failure);
    } finally {
      arriving--;
    }
    // The client may have disconnected in the meantime.
    if (raw.destroyed) return;
    server.handleUpgrade(incoming, raw, head, (ws) => {
      if (user === 'nobody') {
        logger.warn({ ...fields, problem: 'not authorised' }, 'a WebSocket was refused');
        arriving++;
        ws.once('close', () => arriving--);
        return turnAway(ws);
      }
      accept(ws, incoming.socket, request, user);
    });
  }

  function accept(ws: WebSocket, raw: Socket, request: NodeRequest, user: User | undefined): void {
    const url = URL.parse(request.url, 'http://localhost');
    const route = routes.get(url?.pathname ?? '')!;
    const query = url?.searchParams ?? new URLSearchParams();
    const unread = new UnfinishedFrame(options.pending, clientOf(user, request));
    const peer = new Peer(ws, raw, unread, logger);
    peers.add(peer);
    ws.once('close', () => {
      peers.delete(peer);
      if (peers.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    });
    timer ??= setInterval(beat, options.pingMs).unref();
    try {
      peer.listen(route.open(peer, { query, user, remote: request.remote }));
    } catch (error) {
      logger.error({ err: error, path: route.path }, 'failed to open a WebSocket');
      peer.close(CLOSE.internal, 'internal error');
    }
  }

  function beat(): void {
    for (const peer of peers) peer.beat();
  }

  return {
    wanted(request) {
      return request.headers.upgrade?.toLowerCase() === 'websocket' && routes.has(pathOf(request));
    },
    handle(request, socket, head) {
      // Node has removed its own error listeners, so without this listener a connection reset would end the process.
      socket.on('error', () => socket.destroy());
      upgrade(request, socket, head).catch((error: unknown) => {
        logger.error({ err: error }, 'failed to open a WebSocket');
        socket.destroy();
      });
    },
    close() {
      for (const peer of peers) peer.close(CLOSE.goingAway, 'going away');
    },
  };
}

/** An upgrade request. Its token may be in the subprotocols, because a browser cannot send an Authorization header. */
class UpgradeRequest extends NodeRequest {
  /** Undefined, so that other code does not drop the connection without a close code. */
  override get connection(): undefined {
    return undefined;
  }

  override header(name: string): string | undefined {
    const value = super.header(name);
    if (name !== 'authorization' || value !== undefined) return value;
    const token = tokenIn(super.header('sec-websocket-protocol'));
    return token === undefined ? undefined : `Bearer ${token}`;
  }
}

/** Counts the bytes of a frame that a client has not sent completely. */
class UnfinishedFrame {
  readonly #pending: PendingBytes;
  readonly #client: string;
  #bytes = 0;
  #counted = 0;

  constructor(pending: PendingBytes, client: string) {
    this.#pending = pending;
    this.#client = client;
  }

  /** Throws if the limits of pending bytes are exceeded. */
  add(bytes: number): void {
    this.#bytes += bytes;
    while (this.#bytes > this.#counted + UNCOUNTED_BYTES) {
      this.#pending.take(this.#client, UNCOUNTED_BYTES, this.#counted);
      this.#counted += UNCOUNTED_BYTES;
    }
  }

  end(): void {
    this.#pending.give(this.#client, this.#counted);
    this.#bytes = 0;
    this.#counted = 0;
  }
}

class Peer implements PeerSocket {
  readonly protocol: string;
  readonly #ws: WebSocket;
  readonly #raw: Socket;
  readonly #unfinished: UnfinishedFrame;
  readonly #logger: Logger;
  #listener: SocketListener | undefined;
  #stalled: (() => void) | undefined;
  /** Whether the peer has sent a whole frame since the last ping, or could not answer the ping. */
  #alive = true;
  readonly #frames = new Allowance(FRAMES);

  constructor(ws: WebSocket, raw: Socket, unfinished: UnfinishedFrame, logger: Logger) {
    this.#ws = ws;
    this.#raw = raw;
    this.#unfinished = unfinished;
    this.#logger = logger;
    this.protocol = ws.protocol.startsWith(TOKEN_PREFIX) ? '' : ws.protocol;
    ws.on('message', (data, isBinary) => this.#take(data, isBinary));
    ws.on('pong', () => (this.#alive = true));
    ws.on('ping', (data) => {
      if (this.#heard() && this.open) ws.pong(data);
    });
    ws.on('error', (error) => {
      logger.warn({ problem: error.message }, 'closed a WebSocket after an invalid frame');
    });
    ws.once('close', () => {
      unfinished.end();
      this.#listener?.close?.();
    });
    raw.on('data', (chunk: Buffer) => this.#received(chunk.length));
    raw.on('drain', () => {
      this.#unwatch();
      this.#listener?.drain?.();
    });
    raw.on('timeout', () => {
      const stalled = this.#stalled;
      this.#unwatch();
      stalled?.();
    });
  }

  get buffered(): number {
    return this.#ws.bufferedAmount;
  }

  get open(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
  }

  send(frame: string | Uint8Array): void {
    if (this.open) this.#ws.send(frame, TEXT);
  }

  watch(ms: number, stalled: () => void): void {
    if (this.#stalled) return;
    this.#stalled = stalled;
    // The timeout of the socket restarts even if only a part of a frame was sent.
    this.#raw.setTimeout(ms);
  }

  #unwatch(): void {
    this.#stalled = undefined;
    this.#raw.setTimeout(0);
  }

  pause(): void {
    if (this.open) this.#ws.pause();
  }

  resume(): void {
    if (this.open) this.#ws.resume();
  }

  close(code: number, reason?: string): void {
    if (!this.open) return;
    // A paused connection would not receive the peer's close frame.
    this.#ws.resume();
    closeSoon(this.#ws, code, reason);
  }

  beat(): void {
    if (!this.#alive) {
      this.#logger.warn({}, 'disconnected a WebSocket that did not answer a ping');
      return this.#ws.terminate();
    }
    // A paused connection cannot receive the pong, and a stalled peer has not read the ping yet.
    this.#alive = this.#ws.isPaused || this.#stalled !== undefined;
    if (this.open) this.#ws.ping();
  }

  #received(bytes: number): void {
    if (!this.open) return;
    try {
      this.#unfinished.add(bytes);
    } catch {
      this.#logger.warn({}, 'closed a WebSocket because too much data is in transit');
      this.close(CLOSE.tryAgain, 'too much data is in transit');
      this.#raw.destroySoon();
    }
  }

  #take(data: WebSocket.RawData, isBinary: boolean): void {
    this.#unfinished.end();
    if (!this.open || !this.#heard()) return;
    if (isBinary) return this.close(CLOSE.notText, 'frames must be text');
    // `ws` delivers one Buffer with its default binary type.
    if (Buffer.isBuffer(data)) this.#listener?.message(data.toString());
  }

  /** Counts a frame. Returns false and closes the connection if there were too many. */
  #heard(): boolean {
    this.#alive = true;
    if (this.#frames.take()) return true;
    if (this.open) this.#logger.warn({}, 'closed a WebSocket that sends too many frames');
    this.close(CLOSE.policy, 'too many frames');
    return false;
  }
}

const TEXT = { binary: false };

function turnAway(ws: WebSocket): void {
  ws.on('error', () => ws.terminate());
  closeSoon(ws, CLOSE.notAuthorized, 'not authorised');
}

/** Closes the connection, and terminates it if the peer does not close its side soon. */
function closeSoon(ws: WebSocket, code: number, reason: string | undefined): void {
  ws.close(code, reason && fittingReason(reason));
  const timer = setTimeout(() => ws.terminate(), CLOSE_MS).unref();
  ws.once('close', () => clearTimeout(timer));
}

/** Returns as many whole characters of the reason as fit into a close frame. */
function fittingReason(reason: string): string {
  const { read } = new TextEncoder().encodeInto(reason, new Uint8Array(MAX_REASON_BYTES));
  return reason.slice(0, read);
}

/** Refuses the upgrade with an HTTP response. */
function refuse(raw: Duplex, request: TransportRequest, failure: A2AError): void {
  const { status, headers, body } = restError(failure, '1.0', request);
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  raw.once('finish', () => raw.destroy());
  raw.end(`${lines.join('\r\n')}\r\n\r\n${String(body)}`);
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return URL.parse(url, 'http://localhost')?.pathname ?? '';
}
