/**
 * ACP for the clients of `parley serve`, at `/acp`, over WebSocket and Streamable HTTP.
 *
 * Each session belongs to the user who opened it, and works in a workspace of the server. It is the same kind of
 * session as over A2A. Its tasks are in the server's store, and continue if the client disconnects. The agent uses the
 * files and the shell of the server, even if an editor offers its own, because the editor may be on another machine.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Wanted } from '../../acp/index.ts';
import type { SessionKey, SessionStore } from '../../agent/index.ts';
import { sessionKey, SETTINGS_KEY, WORKSPACE_KEY } from '../../coder/index.ts';
import type { JsonRoute, SocketRoute } from '../../http/index.ts';
import type { Live } from '../../live/index.ts';
import type { LiveSession } from '../../live/client/index.ts';
import { extensionMetadata } from '../../protocol/development-tool/index.ts';
import { A2AError, type User } from '../../protocol/index.ts';
import type { ServeOptions } from '../../server.ts';
import type { Logger, RequestHandler } from '../../tasks/index.ts';
import { VERSION } from '../program/product.ts';
import { sessionList, sessionFor } from './stored-sessions.ts';
import { seesImages, type OpenedCoder } from './setup.ts';

const PATH = '/acp';
/** Maximum number of open sessions, in total and per user. */
const MAX_OPEN = 500;
const MAX_PER_USER = 100;

export interface ServedAcpOptions {
  readonly coder: Pick<OpenedCoder, 'workspaces' | 'commands' | 'requireRoles' | 'live'>;
  readonly sessions: SessionStore;
  readonly logger: Logger;
}

interface Open {
  readonly live: Promise<Live>;
  readonly user: string;
  members: number;
}

/** Returns the options for a server that also serves ACP. */
export function servedAcp(
  options: ServedAcpOptions,
): Required<Pick<ServeOptions, 'routes' | 'sockets' | 'guard'>> {
  const { coder, sessions, logger } = options;
  const { workspaces } = coder;
  const images = seesImages(workspaces.model.name);
  const listFor = sessionList(sessions);
  let handler: RequestHandler | undefined;
  /** The open sessions, by their keys as JSON. Clients that load the same session share it. */
  const opened = new Map<string, Open>();
  const joined = new WeakMap<LiveSession, string>();
  let routes: Promise<JsonRoute[]> | undefined;

  function hostFor(user: User | undefined) {
    return {
      version: VERSION,
      logger,
      images,
      list: listFor(sessionKey({ user, tenant: '', contextId: '' }).user),
      join: (wanted: Wanted) => join(user, wanted),
      isShared: (session: LiveSession) => (opened.get(joined.get(session) ?? '')?.members ?? 0) > 1,
      async leave(session: LiveSession) {
        await session.close();
        await release(joined.get(session) ?? '');
      },
    };
  }

  async function join(user: User | undefined, wanted: Wanted): Promise<LiveSession> {
    const { sessionId, cwd, clientName } = wanted;
    const owner = { user, tenant: '', contextId: sessionId ?? randomUUIDv7() };
    const key = sessionKey(owner);
    if (sessionId !== undefined && !(await sessionFor(sessions, key))) {
      throw new A2AError('taskNotFound', 'No such session');
    }
    // A stored session keeps its MCP servers, so the servers that the client names now are ignored.
    const hasServers = sessionId === undefined && Object.keys(wanted.mcpServers).length > 0;
    const settings = {
      workspace_path: cwd,
      ...(hasServers && { mcpServers: wanted.mcpServers }),
    };
    await workspaces
      .check(extensionMetadata(settings), owner, { isReservation: true })
      .catch((error: unknown) => {
        throw asCwd(error);
      });
    const name = JSON.stringify(key);
    const open = opened.get(name) ?? openNew(key, owner, settings, sessionId === undefined);
    open.members += 1;
    try {
      const member = (await open.live).join({ kind: 'acp', name: clientName });
      joined.set(member, name);
      return member;
    } catch (error) {
      await release(name);
      throw error;
    }
  }

  function openNew(key: SessionKey, ...session: Parameters<typeof openSession>): Open {
    const own = [...opened.values()].filter(({ user }) => user === key.user);
    if (opened.size >= MAX_OPEN || own.length >= MAX_PER_USER) {
      throw new A2AError('unavailable', 'Too many sessions are open', { retryAfterSeconds: 5 });
    }
    const open = { live: openSession(...session), user: key.user, members: 0 };
    opened.set(JSON.stringify(key), open);
    return open;
  }

  async function openSession(
    owner: { user: User | undefined; tenant: string; contextId: string },
    settings: { workspace_path: string; mcpServers?: Wanted['mcpServers'] },
    isNew: boolean,
  ): Promise<Live> {
    if (!handler) throw new A2AError('unavailable', 'The server has not started yet');
    const [{ openLive }, { tasksOf }] = await Promise.all([
      import('../../live/index.ts'),
      import('./live-session.ts'),
    ]);
    const { user, contextId } = owner;
    const place = await workspaces.placeFor(settings, owner);
    const workspace = place?.folder ?? settings.workspace_path;
    if (isNew) {
      // The session can be loaded from now on, even if it gets no prompt.
      const state = { [WORKSPACE_KEY]: workspace, [SETTINGS_KEY]: settings };
      await sessions.open(sessionKey(owner), state);
    }
    return openLive({
      coder,
      handler,
      owner: user,
      workspace,
      logger,
      contextId,
      ...(isNew ? {} : await tasksOf(handler, contextId, user)),
      mcpServers: settings.mcpServers,
    });
  }

  /** Closes the session if its last client has left. A turn continues unless session/close has canceled it. */
  async function release(name: string): Promise<void> {
    const open = opened.get(name);
    if (!open) return;
    open.members -= 1;
    if (open.members > 0) return;
    opened.delete(name);
    await open.live.then(
      (live) => live.close(),
      () => undefined,
    );
  }

  /** Loads ACP with the first request. */
  function openRoutes(): Promise<JsonRoute[]> {
    routes ??= import('../../acp/index.ts').then(({ acpRoutes, serveAcp }) =>
      acpRoutes({
        path: PATH,
        serve: (stream, { call }) => serveAcp(stream, hostFor(call.user)),
      }),
    );
    return routes;
  }

  const verbs = ['GET', 'POST', 'DELETE'] as const;
  const socket: SocketRoute = {
    path: PATH,
    protocols: ['acp'],
    headers: () => ({ 'Acp-Connection-Id': randomUUIDv7() }),
    open(peer, { user }) {
      const ready = import('../../acp/index.ts').then(({ serveSocket }) =>
        serveSocket(peer, hostFor(user)),
      );
      return {
        message: (text) => void ready.then((listener) => listener.message(text)),
        drain: () => void ready.then((listener) => listener.drain?.()),
        close: () => void ready.then((listener) => listener.close?.()),
      };
    },
  };
  return {
    routes: verbs.map((verb): JsonRoute => ({
      verb,
      path: PATH,
      async handle(request) {
        const found = (await openRoutes()).find((route) => route.verb === verb);
        if (!found) throw new A2AError('verbNotAllowed');
        return found.handle(request);
      },
    })),
    sockets: [socket],
    // Keeps the server's handler for the sessions, and returns it unchanged.
    guard: (given) => (handler = given),
  };
}

/** Renames `workspace_path` to `cwd` in an error, because the folder has the name `cwd` in ACP. */
function asCwd(error: unknown): unknown {
  if (!(error instanceof A2AError) || !error.message.startsWith('workspace_path')) return error;
  const message = error.message.startsWith('workspace_path: differs')
    ? 'cwd: the session belongs to another folder; send its own folder as cwd, or start a new session'
    : error.message.replace('workspace_path', 'cwd');
  return new A2AError('invalidParams', message);
}
