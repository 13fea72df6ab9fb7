/**
 * What an agent offers over WebSocket, on the same port as everything else:
 *
 *   serve(agent, { sockets: [{ path: '/echo', open: (socket) => ({ message: (text) => socket.send(text) }) }] });
 *
 * Host, Origin and credentials are checked as for any request, before there is a connection. A credential is the
 * Authorization header or, where a browser cannot send one, the subprotocol `token.T`.
 */
import type { User } from '../protocol/index.ts';
import type { JsonRoute } from './own-routes.ts';

/** A connection as its route sees it. Frames are text. */
export interface PeerSocket {
  /** The subprotocol that was agreed on; empty: none. */
  readonly protocol: string;
  /** Bytes that were sent and have not left yet. */
  readonly buffered: number;
  readonly open: boolean;
  /** One text frame. Bytes must be UTF-8; the same may go to many, and are not to be changed. */
  send(frame: string | Uint8Array): void;
  /** Calls back once the peer takes nothing of what is buffered for so long; not if all of it leaves before. */
  watch(ms: number, stalled: () => void): void;
  /** Reads no more frames until `resume`. */
  pause(): void;
  resume(): void;
  close(code: number, reason?: string): void;
}

/** Told what happens on a connection. None of these may throw. */
export interface SocketListener {
  message(text: string): void;
  /** What was buffered has left. */
  drain?(): void;
  /** The connection is gone. The last of all. */
  close?(): void;
}

/** The request that opens a WebSocket. */
export interface SocketRequest {
  readonly query: URLSearchParams;
  /** Undefined where nobody is asked who they are. */
  readonly user: User | undefined;
  /** The client's address. */
  readonly remote: string;
}

/** A WebSocket route of the agent. */
export interface SocketRoute {
  readonly path: string;
  /** The subprotocols that are spoken, best first. */
  readonly protocols?: readonly string[];
  open(socket: PeerSocket, request: SocketRequest): SocketListener;
}

/** What a plain request is told where a WebSocket is. */
export function plainRoute({ path }: SocketRoute): JsonRoute {
  const body = { error: 'This is a WebSocket: connect to it with the scheme ws' };
  return { verb: 'GET', path, handle: async () => ({ status: 426, body }) };
}

/** Why a connection was closed by this side. */
export const CLOSE = {
  goingAway: 1001,
  notText: 1003,
  policy: 1008,
  internal: 1011,
  tryAgain: 1013,
  notAuthorized: 4001,
  tooSlow: 4008,
} as const;

/** What a subprotocol that is a credential begins with. */
export const TOKEN_PREFIX = 'token.';

/** The credential in a list of subprotocols, for those who cannot send an Authorization header. */
export function tokenIn(protocols: string | undefined): string | undefined {
  const found = protocols?.split(',').find((name) => name.trim().startsWith(TOKEN_PREFIX));
  return found?.trim().slice(TOKEN_PREFIX.length);
}

/** The subprotocol to agree on. A client that only offered its token wants to hear that it was understood. */
export function chooseProtocol(
  offered: ReadonlySet<string>,
  spoken: readonly string[],
): string | undefined {
  const known = spoken.find((name) => offered.has(name));
  return known ?? [...offered].find((name) => name.startsWith(TOKEN_PREFIX));
}
