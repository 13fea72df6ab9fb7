/** Listens on one address, over HTTP or HTTPS. One server can have several listeners. */
import type { IncomingMessage, Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { type AddressInfo, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeHandler } from './node.ts';

/** The timeout for the headers of a request. It is also the interval at which timeouts are checked. */
const HEADERS_MS = 15_000;
/** The timeout for a TLS handshake. */
const HANDSHAKE_MS = 15_000;

/** A certificate with its chain, and its private key, both in PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

export interface ListenerOptions {
  readonly node: NodeHandler;
  /** Accepts WebSocket connections (websocket/upgrades.ts). */
  readonly upgrades:
    | {
        wanted(request: IncomingMessage): boolean;
        handle(request: IncomingMessage, socket: Duplex, head: Buffer): void;
      }
    | undefined;
  readonly requestTimeoutMs: number;
  /** The certificate. Without one, the listener uses plain HTTP. */
  readonly tls?: TlsPair | undefined;
}

export interface Listener {
  readonly server: Server;
  /** The scheme, the host and the port. */
  readonly url: string;
  readonly port: number;
  /** Uses this certificate for new connections. Open connections stay open. Throws if the listener has no TLS. */
  setTls(pair: TlsPair): void;
  /** Refuses new connections. Open connections stay open. */
  stop(): void;
  /** Waits up to `ms` until all responses are sent, and closes all connections. */
  end(ms: number): Promise<void>;
}

export async function openListener(
  port: number,
  host: string,
  { node, upgrades, requestTimeoutMs: requestTimeout, tls }: ListenerOptions,
): Promise<Listener> {
  const headersTimeout = Math.min(HEADERS_MS, requestTimeout);
  const options = {
    requestTimeout,
    headersTimeout,
    connectionsCheckingInterval: headersTimeout || HEADERS_MS,
    keepAliveTimeout: 65_000,
    shouldUpgradeCallback: (request: IncomingMessage) => upgrades?.wanted(request) === true,
  };
  // These are not import statements, because the module namespace of node:http loads undici, which takes most of the
  // start-up time.
  const secure: SecureServer | undefined =
    tls &&
    process
      .getBuiltinModule('node:https')
      .createServer({ ...options, ...tls, handshakeTimeout: HANDSHAKE_MS }, node);
  const server: Server =
    secure ?? process.getBuiltinModule('node:http').createServer(options, node);
  server.on('upgrade', (request, socket, head) => upgrades?.handle(request, socket, head));
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', track);
  secure?.on('secureConnection', track);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
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
      // Otherwise `close` would drop responses that are written but not sent yet. `end` waits for them.
      server.closeIdleConnections = () => undefined;
      server.close();
    },
    async end(ms) {
      await flushed(sockets, ms);
      server.closeAllConnections();
      // The HTTP server does not close upgraded connections.
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Waits until all responses are sent, but at most `ms` milliseconds. */
async function flushed(sockets: ReadonlySet<Socket>, ms: number): Promise<void> {
  const until = performance.now() + ms;
  do await delay(5);
  while (
    performance.now() < until &&
    [...sockets].some(({ writableLength }) => writableLength > 0)
  );
}
