/**
 * WebSocket on the server's own port, for the routes of socket-route.ts. Loaded only where there are any.
 *
 * The way of a connection: Host and Origin (403), room (503), credentials, upgrade. Who has the wrong credentials is
 * upgraded only to be told so with 4001, because a browser does not show its page any other answer; what such a client
 * sends is not looked at.
 *
 * A connection has limits: the size of a frame (1009), frames per second (1008), and the time that a peer may be silent
 * when it is pinged. Frames are not compressed: that would cost each connection a context, and each frame each time.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { A2AError, type User } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Admission } from '../admission.ts';
import { NodeRequest } from '../adapters/node.ts';
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

/** For the other side to close too, once it was told to. */
const CLOSE_MS = 2000;
/** Frames, and pings, that a peer may send at once, and per second from then on. */
const BURST = 400;
const PER_SECOND = 100;

/** A reason has at most 123 bytes; ours are in ASCII, mostly. */
const MAX_REASON = 60;

export interface UpgradeOptions {
  readonly routes: readonly SocketRoute[];
  readonly admission: Admission;
  readonly publicUrl: string | undefined;
  readonly maxFrameBytes: number;
  readonly maxSockets: number;
  /** Between two pings. A peer that has not answered one when the next is due is gone. */
  readonly pingMs: number;
  readonly logger: Logger;
}

export interface Upgrades {
  /** Whether a request asks for a WebSocket that there is. Anything else is answered as a request. */
  wanted(request: IncomingMessage): boolean;
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Tells everybody that the server goes away. */
  close(): void;
}

export function createUpgrades(options: UpgradeOptions): Upgrades {
  const { admission, publicUrl, logger, maxSockets } = options;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const peers = new Set<Peer>();
  /** Connections that are not peers yet, or will not be. */
  let arriving = 0;
  let timer: NodeJS.Timeout | undefined;
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Answered by hand, so that a flood of pings counts like any other.
    autoPong: false,
    maxPayload: options.maxFrameBytes,
    handleProtocols: (offered, request) =>
      chooseProtocol(offered, routes.get(pathOf(request))?.protocols ?? []) ?? false,
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
    // Whoever left meanwhile is not there to be upgraded.
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
    const peer = new Peer(ws, raw, logger);
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
      logger.error({ err: error, path: route.path }, 'a WebSocket could not be opened');
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
      // Node's own listeners are gone, and a reset is no reason to go down.
      socket.on('error', () => socket.destroy());
      upgrade(request, socket, head).catch((error: unknown) => {
        logger.error({ err: error }, 'a WebSocket could not be opened');
        socket.destroy();
      });
    },
    close() {
      for (const peer of peers) peer.close(CLOSE.goingAway, 'going away');
    },
  };
}

/** A browser cannot send an Authorization header with a WebSocket: its token comes as a subprotocol. */
class UpgradeRequest extends NodeRequest {
  override header(name: string): string | undefined {
    const value = super.header(name);
    if (name !== 'authorization' || value !== undefined) return value;
    const token = tokenIn(super.header('sec-websocket-protocol'));
    return token === undefined ? undefined : `Bearer ${token}`;
  }
}

class Peer implements PeerSocket {
  readonly protocol: string;
  readonly #ws: WebSocket;
  readonly #raw: Socket;
  readonly #logger: Logger;
  #listener: SocketListener | undefined;
  #stalled: (() => void) | undefined;
  /** Something was heard since the last ping. */
  #alive = true;
  #allowance = BURST;
  #since = performance.now();

  constructor(ws: WebSocket, raw: Socket, logger: Logger) {
    this.#ws = ws;
    this.#raw = raw;
    this.#logger = logger;
    this.protocol = ws.protocol.startsWith(TOKEN_PREFIX) ? '' : ws.protocol;
    ws.on('message', (data, isBinary) => this.#take(data, isBinary));
    ws.on('pong', () => (this.#alive = true));
    ws.on('ping', (data) => {
      if (this.#heard() && this.open) ws.pong(data);
    });
    ws.on('error', (error) => {
      logger.warn({ problem: error.message }, 'a WebSocket was closed for what it sent');
    });
    ws.once('close', () => this.#listener?.close?.());
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
    // The socket's own timer looks at what has left of a frame, and not only at whole ones.
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
    // A paused one would not hear that the other side closes.
    this.#ws.resume();
    closeSoon(this.#ws, code, reason);
  }

  beat(): void {
    if (!this.#alive) {
      this.#logger.warn({}, 'a WebSocket whose peer is gone was dropped');
      return this.#ws.terminate();
    }
    // One that is not read from cannot be heard; one that has much to read answers when it comes to the ping.
    this.#alive = this.#ws.isPaused || this.#stalled !== undefined;
    if (this.open) this.#ws.ping();
  }

  #take(data: WebSocket.RawData, isBinary: boolean): void {
    if (!this.open || !this.#heard()) return;
    if (isBinary) return this.close(CLOSE.notText, 'frames are text');
    // It is one Buffer, unless somebody changes the socket's binary type.
    if (Buffer.isBuffer(data)) this.#listener?.message(data.toString());
  }

  /** Counts a frame. False: there were too many. */
  #heard(): boolean {
    this.#alive = true;
    const now = performance.now();
    const earned = ((now - this.#since) / 1000) * PER_SECOND;
    this.#allowance = Math.min(BURST, this.#allowance + earned) - 1;
    this.#since = now;
    if (this.#allowance >= 0) return true;
    if (this.open) this.#logger.warn({}, 'a WebSocket that sends too much was closed');
    this.close(CLOSE.policy, 'too many frames');
    return false;
  }
}

const TEXT = { binary: false };

function turnAway(ws: WebSocket): void {
  ws.on('error', () => ws.terminate());
  closeSoon(ws, CLOSE.notAuthorized, 'not authorised');
}

/** Closes, and does not wait long for the other side to do so too. */
function closeSoon(ws: WebSocket, code: number, reason: string | undefined): void {
  ws.close(code, reason?.slice(0, MAX_REASON));
  const timer = setTimeout(() => ws.terminate(), CLOSE_MS).unref();
  ws.once('close', () => clearTimeout(timer));
}

/** An answer in HTTP, on a connection that will not be a WebSocket. */
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
  raw.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return URL.parse(url, 'http://localhost')?.pathname ?? '';
}
