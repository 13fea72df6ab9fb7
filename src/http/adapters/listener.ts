/**
 * Listens on one address. One server can have several listeners.
 *
 * A listener has one port for HTTP/1.1 and HTTP/2. With TLS, the protocol is chosen in the handshake (ALPN). Without
 * TLS, the first bytes of a connection show its protocol. A connection of HTTP/2 begins with `PRI`, which is not a
 * method of HTTP/1.1. The server of HTTP/1.1 owns the port, because most connections use it.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { systemCode } from '../../base/index.ts';
import { isLoopbackAddress } from '../admission.ts';
import { directRequestClass } from './direct-request.ts';
import type { GrpcHandler } from './grpc.ts';
import type { Http2Connections } from './http2.ts';
import type { HttpHandler, HttpResponse } from './messages.ts';

/** The timeout for the headers of a request, unless `requestTimeoutMs` is shorter or 0 (no timeout). */
const HEADERS_MS = 15_000;
/** The timeout for a TLS handshake. */
const HANDSHAKE_MS = 15_000;
/** How long a connection without requests stays open. */
const IDLE_MS = 65_000;

/** The first bytes of an HTTP/2 connection. They are enough to distinguish it from HTTP/1.1. */
const PREFACE = Buffer.from('PRI ');

/** A certificate with its chain, and its private key, both in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerOptions {
  readonly node: HttpHandler;
  /** Handles gRPC requests, which come over HTTP/2. Without `grpc`, `node` handles these requests too. */
  readonly grpc?: GrpcHandler | undefined;
  /** Accepts WebSocket connections (websocket/upgrades.ts). */
  readonly upgrades:
    | {
        wanted(request: IncomingMessage): boolean;
        handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
      }
    | undefined;
  /** The responses of `node` that must still be sent before the server closes. */
  readonly unread?: ReadonlySet<HttpResponse> | undefined;
  /** The timeout for receiving a request, including headers and body. 0: no timeout. */
  readonly requestTimeoutMs: number;
  /** The certificate. Without one, the listener uses no TLS. */
  readonly tls?: TlsPair | undefined;
}

export interface Listener {
  readonly server: Server;
  /** The scheme, the host and the port. */
  readonly url: string;
  readonly port: number;
  /** Uses this certificate for new connections. Open connections stay open. Throws if the listener has no TLS. */
  setTls(pair: TlsPair): void;
  /** Refuses new connections. Open connections stay open, but HTTP/2 connections accept no more requests. */
  stop(): void;
  /** Waits up to `ms` until all responses are sent, and closes all connections. */
  end(ms: number): Promise<void>;
}

export async function openListener(
  port: number,
  host: string,
  { node, grpc, upgrades, unread, requestTimeoutMs, tls }: ListenerOptions,
): Promise<Listener> {
  const headersTimeoutMs = Math.min(HEADERS_MS, requestTimeoutMs);
  /** The interval at which timeouts are checked. */
  const sweepMs = headersTimeoutMs || HEADERS_MS;
  // This is not an import statement, because the module namespace of node:http loads undici, which takes most of the
  // start-up time.
  const http = process.getBuiltinModule('node:http');
  const Request = directRequestClass(http.IncomingMessage, isLoopbackAddress(host));
  const options = {
    IncomingMessage: Request,
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: sweepMs,
    keepAliveTimeout: IDLE_MS,
    shouldUpgradeCallback: (request: IncomingMessage) => upgrades?.wanted(request) === true,
  };
  const secure: SecureServer | undefined =
    tls &&
    process
      .getBuiltinModule('node:https')
      .createServer(
        { ...options, ...tls, handshakeTimeout: HANDSHAKE_MS, ALPNProtocols: ['h2', 'http/1.1'] },
        node,
      );
  const server: Server = secure ?? http.createServer(options, node);
  server.on('upgrade', (request, socket, head) => {
    if (!secure) track(request.socket);
    upgrades?.handle(request, socket, head);
  });

  /**
   * The open sockets. The value is the time at which a socket was opened, or 0 if its protocol need not be detected or
   * is already known. With TLS, all sockets are here.
   *
   * Without TLS, a socket is removed when it turns out to use HTTP/1.1. The HTTP server closes such a socket itself,
   * and without the listener `onClosed`, each socket needs 150 bytes less. If the socket becomes a WebSocket
   * connection, it is added again.
   */
  const sockets = new Map<Socket, number>();
  // One function for all sockets, so that each connection does not keep a function of its own in memory.
  function onClosed(this: Socket): void {
    sockets.delete(this);
  }
  const track = (socket: Socket, since = 0) => {
    sockets.set(socket, since);
    socket.on('close', onClosed);
  };
  let loading: Promise<Http2Connections> | undefined;
  let http2: Http2Connections | undefined;
  let stopped = false;

  /** Hands a socket to HTTP/2, whose module is loaded with the first such socket. */
  function acceptHttp2(socket: Socket): void {
    if (http2) return http2.accept(socket);
    loading ??= import('./http2.ts').then(({ http2Connections }) => {
      const timeouts = { headersTimeoutMs, idleTimeoutMs: IDLE_MS, requestTimeoutMs };
      return (http2 = http2Connections({ handler: node, grpc, ...timeouts }));
    });
    loading.then(
      (loaded) => {
        if (stopped) socket.destroy();
        else if (!socket.destroyed) loaded.accept(socket);
      },
      () => socket.destroy(),
    );
  }

  if (secure) {
    const acceptHttp1 = takeListener(secure, 'secureConnection');
    server.on('connection', (socket) => track(socket));
    secure.on('secureConnection', (socket: TLSSocket) => {
      track(socket);
      if (socket.alpnProtocol === 'h2') acceptHttp2(socket);
      else acceptHttp1(socket);
    });
  } else {
    const acceptHttp1 = takeListener(server, 'connection');
    const decide = (socket: Socket, bytes: Buffer): void => {
      const isHttp2 = beginsHttp2(bytes);
      if (isHttp2 === undefined) {
        socket.once('data', (more: Buffer) => decide(socket, Buffer.concat([bytes, more])));
        return;
      }
      socket.off('end', destroy);
      if (isHttp2) {
        sockets.set(socket, 0);
        socket.pause();
        socket.unshift(bytes);
        acceptHttp2(socket);
      } else {
        // The HTTP server has its own listeners.
        sockets.delete(socket);
        socket.off('close', onClosed);
        socket.off('error', destroy);
        acceptHttp1(socket);
        // `unshift` would pass the bytes on only in a later tick, and would take more time.
        socket.emit('data', bytes);
      }
    };
    // All sockets share the same listener functions, so that no function is created for a connection.
    function onFirstBytes(this: Socket, bytes: Buffer): void {
      this.off('data', onFirstBytes);
      decide(this, bytes);
    }
    server.on('connection', (socket) => {
      track(socket, performance.now());
      socket.on('error', destroy);
      socket.on('end', destroy);
      socket.on('data', onFirstBytes);
    });
  }
  const sweeper = setInterval(() => {
    const late = performance.now() - (headersTimeoutMs || Infinity);
    for (const [socket, since] of sockets) if (since > 0 && since <= late) socket.destroy();
    http2?.sweep();
  }, sweepMs).unref();

  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      clearInterval(sweeper);
      reject(explained(error, port, host));
    });
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    server,
    url: `${secure ? 'https' : 'http'}://${isIP(host) === 6 ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    setTls(pair) {
      if (!secure) throw new Error('this server does not use TLS: set `tls` when you start it');
      secure.setSecureContext(pair);
    },
    stop() {
      stopped = true;
      clearInterval(sweeper);
      // `server.close` would call `closeIdleConnections`, which drops responses that are written but not sent yet.
      // `end` waits for these responses.
      server.closeIdleConnections = () => undefined;
      server.close();
      http2?.stop();
    },
    async end(ms) {
      const until = performance.now() + ms;
      const isBusy = () =>
        http2?.busy === true ||
        [...sockets.keys()].some(({ writableLength }) => writableLength > 0) ||
        // `unread` also has the responses of other listeners.
        [...(unread ?? [])].some(({ req }) => req instanceof Request);
      do await delay(5);
      while (performance.now() < until && isBusy());
      server.closeAllConnections();
      // The HTTP server closes only its own connections.
      for (const socket of sockets.keys()) socket.destroy();
    },
  };
}

/**
 * Returns an error that says what to do. The error has the code and the port, so that programs can write their own
 * message. Returns `error` unchanged if there is no advice for it.
 */
function explained(error: Error, port: number, host: string): Error {
  const code = systemCode(error);
  const message =
    code === 'EADDRINUSE'
      ? `port ${port} is in use: stop the program that uses it, or choose another port (0 picks a free one)`
      : code === 'EACCES'
        ? `no permission to use port ${port}: choose a port above 1023`
        : code === 'EADDRNOTAVAIL'
          ? `${host} is not an address of this machine: use 127.0.0.1 (this machine only) or 0.0.0.0 (all interfaces)`
          : undefined;
  if (message === undefined) return error;
  return Object.assign(new Error(message, { cause: error }), { code, port });
}

/** Returns whether a connection that begins with these bytes uses HTTP/2, or undefined if there are too few bytes. */
function beginsHttp2(bytes: Buffer): boolean | undefined {
  if (bytes[0] !== PREFACE[0]) return false;
  const length = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, length, 0, length) !== 0) return false;
  return length === PREFACE.length ? true : undefined;
}

/** Removes the listener with which a server accepts connections, and returns a function that calls it. */
function takeListener(
  server: Server | SecureServer,
  event: 'connection' | 'secureConnection',
): (socket: Socket) => void {
  const [accept] = server.listeners(event);
  if (!accept) throw new Error(`this version of Node has no listener for ${event}`);
  server.removeAllListeners(event);
  return (socket) => void Reflect.apply(accept, server, [socket]);
}

function destroy(this: Socket): void {
  this.destroy();
}
