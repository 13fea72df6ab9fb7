/**
 * The routes `/ws` and `/acp`, which connect clients to a live session on the server's port.
 *
 *   const server = serve(coder.agent, liveServeOptions({ coder, live: () => live, tokens, acp, logger }));
 *   const live = await openLive({ coder, handler: server.handler, workspace, logger });
 *
 * On `/ws` the subprotocol selects the protocol, `a2a` or `acp`. Without a subprotocol the first frame decides. If no
 * frame arrives in time, the protocol is A2A.
 */
import { randomUUID } from 'node:crypto';
import { isObject } from '../../base/index.ts';
import { LIVE_BINDING } from '../client/binding.ts';
import type { Editor } from '../client/editor/index.ts';
import type { LiveSession } from '../client/session.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { ServeOptions } from '../../server.ts';
import {
  CLOSE,
  type OwnRoute,
  type PeerSocket,
  type SocketListener,
  type SocketRequest,
  type SocketRoute,
} from '../../http/index.ts';
import { LiveAccess, type LiveToken, tokenOf } from '../access.ts';
import type { AnswerLinks } from '../answer-links.ts';
import { ticketRoute } from '../http/tickets.ts';
import { type Coder, coderServeOptions, rolesOf } from '../../coder/index.ts';
import { HttpClients } from '../http/clients.ts';
import { httpCommands, httpHandler } from '../http/handler.ts';
import { startedLive, type Joining, type Live } from '../hub.ts';
import { A2aSocket } from './a2a-socket.ts';
import { LiveFrames } from './frames.ts';

/** How long to wait for the first frame of a client without a subprotocol. */
const SILENCE_MS = 250;
/** If a client reads nothing for this time, in milliseconds, its connection is closed. */
const STALL_MS = 5000;
const ACP_PATH = '/acp';

/** Adds an ACP client with this name to the session. */
export type Enter = (clientName: string, editor?: Editor) => LiveSession;

/**
 * Handles an ACP connection. To join the session, the function calls `enter` with the name of the client. The returned
 * listener receives all frames, including the first one.
 */
export type AcpSocket = (socket: PeerSocket, enter: Enter) => SocketListener;

/** Returns the routes of ACP over Streamable HTTP. Each connection calls `enter` with the request that opened it. */
export type AcpHttp = (path: string, enter: (request: Arrival) => Enter) => readonly OwnRoute[];

/** The request with which a client connects. */
type Arrival = Pick<SocketRequest, 'query' | 'user'>;

export interface LiveServeOptions {
  readonly coder: Pick<Coder, 'workspaces' | 'commands'>;
  /**
   * Returns the live session, or undefined if it has not started yet. In that case, clients get an error that asks them
   * to try again.
   */
  readonly live: () => Live | undefined;
  /** Decides who may join. Default: clients with one of the `tokens`. Without tokens, any local client may join. */
  readonly access?: LiveAccess | undefined;
  readonly tokens?: readonly LiveToken[] | undefined;
  /** Serves the pages on which a person answers a call without a token. Default: there are no such pages. */
  readonly links?: AnswerLinks | undefined;
  readonly acp?: AcpSocket | undefined;
  readonly acpHttp?: AcpHttp | undefined;
  /** If a client reads nothing for this time, in milliseconds, its connection is closed. Default: 5 seconds. */
  readonly stallMs?: number | undefined;
  readonly logger: Logger;
}

type LiveOptions = Required<
  Pick<ServeOptions, 'authenticate' | 'anonymous' | 'guard' | 'sockets' | 'console'>
> &
  ReturnType<typeof coderServeOptions>;

/** Returns the options for a server that offers only the live session. */
export function liveServeOptions(options: LiveServeOptions): LiveOptions {
  const { coder, logger, access = new LiveAccess(options) } = options;
  const live = () => startedLive(options);
  const frames = new LiveFrames();
  const routes: SocketRoute[] = [webSocketRoute(options, frames)];
  if (options.acp) routes.push(acpRoute(options, options.acp));
  const sockets = routes.map((route) => revocable(route, access));
  const clients = new HttpClients();
  const own = coderServeOptions({ ...coder, commands: httpCommands(clients, live) });
  const overHttp = options.acpHttp?.(ACP_PATH, (request) => entrance(options, request)) ?? [];
  return {
    ...own,
    routes: [...own.routes, ...overHttp, ticketRoute(access), ...(options.links?.routes ?? [])],
    sockets,
    // A browser that opens the address gets the page of the session.
    console: 'home',
    guard: (handler) => httpHandler(handler, { live, clients, logger }),
    authenticate: access.authenticate,
    anonymous: () => access.anonymous,
  };
}

/** Wraps a route, so that a connection is closed when the token of its client is revoked. */
function revocable(route: SocketRoute, access: LiveAccess): SocketRoute {
  return {
    ...route,
    open(socket, request) {
      const release = access.hold(request.user, () => disconnect(socket));
      const listener = route.open(socket, request);
      return {
        message: (text) => listener.message(text),
        drain: () => listener.drain?.(),
        close() {
          release();
          listener.close?.();
        },
      };
    },
  };
}

function disconnect(socket: PeerSocket): void {
  socket.close(CLOSE.notAuthorized, 'revoked');
}

function webSocketRoute(options: LiveServeOptions, frames: LiveFrames): SocketRoute {
  const { acp } = options;
  const asA2a = (socket: PeerSocket, request: SocketRequest) => {
    const live = startedLive(options);
    const { query } = request;
    const { logger, stallMs = STALL_MS } = options;
    return new A2aSocket(socket, {
      live,
      member: join(live, 'a2a', request, { disconnect: () => disconnect(socket) }),
      frames,
      resume: resumeFrom(query),
      presence: query.get('presence') === '1',
      history: historyLimit(query),
      stallMs,
      logger,
    });
  };
  return {
    path: '/ws',
    binding: LIVE_BINDING,
    protocols: acp ? ['a2a', 'acp'] : ['a2a'],
    open(socket, request) {
      const start = (firstFrame?: string): SocketListener =>
        guarded(socket, options.logger, () =>
          acp && (socket.protocol === 'acp' || isInitialize(firstFrame))
            ? acp(socket, entrance(options, request, socket))
            : asA2a(socket, request),
        );
      return socket.protocol === '' && acp ? undecided(start) : start();
    },
  };
}

function acpRoute(options: LiveServeOptions, acp: AcpSocket): SocketRoute {
  return {
    path: ACP_PATH,
    protocols: ['acp'],
    // ACP's WebSocket transport requires this header. The server does not use its value, because each WebSocket is one
    // ACP connection.
    headers: () => ({ 'Acp-Connection-Id': randomUUID() }),
    open: (socket, request) =>
      guarded(socket, options.logger, () => acp(socket, entrance(options, request, socket))),
  };
}

/** Returns the function that joins the session for an ACP client. Throws if the session has not started yet. */
function entrance(options: LiveServeOptions, request: Arrival, socket?: PeerSocket): Enter {
  const live = startedLive(options);
  const own = socket && { disconnect: () => disconnect(socket) };
  return (clientName, editor) => join(live, 'acp', request, { clientName, editor, ...own });
}

/** Waits for the first frame, with a timeout, and then delegates to the listener of the detected protocol. */
function undecided(start: (firstFrame?: string) => SocketListener): SocketListener {
  let chosen: SocketListener | undefined;
  const timer = setTimeout(() => (chosen ??= start()), SILENCE_MS);
  return {
    message(text) {
      clearTimeout(timer);
      chosen ??= start(text);
      chosen.message(text);
    },
    drain: () => chosen?.drain?.(),
    close() {
      clearTimeout(timer);
      chosen?.close?.();
    },
  };
}

/** Opens a connection. If this fails, closes the socket with a reason. */
function guarded(socket: PeerSocket, logger: Logger, open: () => SocketListener): SocketListener {
  try {
    return open();
  } catch (error) {
    const known = error instanceof A2AError;
    if (!known) logger.error({ err: error }, 'failed to add a client to the live session');
    socket.close(known ? CLOSE.tryAgain : CLOSE.internal, known ? error.message : 'internal error');
    return { message() {} };
  }
}

/**
 * Adds the client to the session. The name of the client's token takes precedence over the name that the client gives
 * itself.
 */
function join(
  live: Live,
  kind: 'a2a' | 'acp',
  { query, user }: Arrival,
  own: Pick<Joining, 'editor' | 'disconnect'> & { readonly clientName?: string },
) {
  const { clientName, ...more } = own;
  const given = user?.['name'];
  const name = typeof given === 'string' ? given : (query.get('name') ?? clientName);
  return live.join({ kind, name, roles: rolesOf(user), token: tokenOf(user), ...more });
}

/**
 * Returns the maximum number of messages that the client wants in a snapshot, or undefined if `history` is missing or
 * invalid.
 */
function historyLimit(query: URLSearchParams): number | undefined {
  const history = query.get('history') ?? '';
  return /^\d{1,9}$/.test(history) ? Number(history) : undefined;
}

function resumeFrom(query: URLSearchParams) {
  const after = query.get('after') ?? '';
  const taskId = query.get('task') ?? undefined;
  // If `after` is missing or invalid, the client gets a snapshot.
  return /^\d{1,15}$/.test(after) ? { after: Number(after), taskId } : undefined;
}

/** Returns whether the frame is ACP's `initialize` request. */
function isInitialize(frame: string | undefined): boolean {
  if (frame === undefined) return false;
  try {
    const message: unknown = JSON.parse(frame);
    return isObject(message) && message['method'] === 'initialize';
  } catch {
    return false;
  }
}
