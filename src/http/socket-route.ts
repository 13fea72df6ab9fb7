/**
 * Defines an agent's own WebSocket routes on the server's port:
 *
 *   serve(agent, { sockets: [{ path: '/echo', open: (socket) => ({ message: (text) => socket.send(text) }) }] });
 *
 * Host, Origin and credentials are checked before `open` is called. The credential is in the Authorization header.
 * Browsers cannot send this header, so they may send the token T as the subprotocol `token.T`.
 */
import type { User } from '../protocol/index.ts';
import type { JsonRoute } from './own-routes.ts';

/** A WebSocket connection with text frames. */
export interface PeerSocket {
  /** The negotiated subprotocol. Empty if there is none. */
  readonly protocol: string;
  /** Number of bytes that were passed to `send` and are still buffered. */
  readonly buffered: number;
  readonly open: boolean;
  /** Sends a text frame. Bytes must be UTF-8, and must not be changed afterwards. */
  send(frame: string | Uint8Array): void;
  /**
   * Calls `stalled` once if there is no traffic for `ms` milliseconds: the peer reads no buffered data and sends
   * nothing. Stops watching when the buffer is empty.
   */
  watch(ms: number, stalled: () => void): void;
  /** Stops reading frames until `resume`. */
  pause(): void;
  resume(): void;
  close(code: number, reason?: string): void;
}

/** Receives the events of a connection. The methods must not throw. */
export interface SocketListener {
  message(text: string): void;
  /** Called when the buffer has become empty. */
  drain?(): void;
  /** Called when the connection has been closed. No other method is called after it. */
  close?(): void;
}

/** The request that opens a WebSocket. */
export interface SocketRequest {
  readonly query: URLSearchParams;
  /** The user, or undefined if the server does not authenticate. */
  readonly user: User | undefined;
  /** The client's address. */
  readonly remote: string;
}

/** A WebSocket route of the agent. */
export interface SocketRoute {
  readonly path: string;
  /** The supported subprotocols, preferred first. */
  readonly protocols?: readonly string[];
  /** A URI that names the protocol of this route. With it, the agent card declares the route as an interface. */
  readonly binding?: string;
  /** Returns additional headers of the response that accepts a connection. */
  headers?(): Readonly<Record<string, string>>;
  open(socket: PeerSocket, request: SocketRequest): SocketListener;
}

/** Answers plain HTTP requests to the path of a WebSocket. */
export function plainRoute({ path }: SocketRoute): JsonRoute {
  const body = { error: 'This is a WebSocket: connect with a ws:// or wss:// URL' };
  return { verb: 'GET', path, handle: async () => ({ status: 426, body }) };
}

/** The close codes that the server uses. */
export const CLOSE = {
  goingAway: 1001,
  notText: 1003,
  policy: 1008,
  internal: 1011,
  tryAgain: 1013,
  notAuthorized: 4001,
  tooSlow: 4008,
} as const;

/** The prefix of a subprotocol that is a credential. */
export const TOKEN_PREFIX = 'token.';

/** Returns the credential in a list of subprotocols, or undefined if the list has none. */
export function tokenIn(protocols: string | undefined): string | undefined {
  const found = protocols?.split(',').find((name) => name.trim().startsWith(TOKEN_PREFIX));
  return found?.trim().slice(TOKEN_PREFIX.length);
}

/**
 * Chooses the subprotocol. If the client offers no supported subprotocol, chooses its token: browsers close a
 * connection if the server chooses none of the offered subprotocols. Returns undefined if there is no token either.
 */
export function chooseProtocol(
  offered: ReadonlySet<string>,
  spoken: readonly string[],
): string | undefined {
  const known = spoken.find((name) => offered.has(name));
  return known ?? [...offered].find((name) => name.startsWith(TOKEN_PREFIX));
}
