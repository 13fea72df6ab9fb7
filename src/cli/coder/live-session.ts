/**
 * Opens a live session of the coding agent in this process, for the terminal and for editors. If an address is given,
 * the session also listens there, so that others can join.
 */
import type { AcpAbout } from '../../acp/index.ts';
import { reasonOf } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { SessionStore, State } from '../../agent/index.ts';
import {
  AnswerLinks,
  LiveAccess,
  openLive,
  type Live,
  liveServeOptions,
  removeWebhooks,
  removeWebhooksAtEnd,
} from '../../live/index.ts';
import { MODE_KEY, MODEL_KEY, WORKSPACE_KEY } from '../../coder/index.ts';
import { EXTENSION_URI, type McpServers } from '../../protocol/development-tool/index.ts';
import { isTerminal, type TaskState, type User } from '../../protocol/index.ts';
import { keepTasks, type RequestHandler } from '../../tasks/index.ts';
import { type Listening, serve } from '../../serve.ts';
import type { TlsPair } from '../../server.ts';
import { openCoder, seesImages, type CoderFlags, type CoderSetup } from './setup.ts';
import { filesIn } from './file-paths.ts';
import type { LiveAddress } from './live-address.ts';
import { lazyGrpc, DEFAULT_HOST, listenOn } from '../program/listen.ts';
import {
  forgetLiveStore,
  openLiveStore,
  removeOrphanTasks,
  sweepLiveStores,
} from './live-store.ts';
import type { ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { serverSigning } from '../program/server-process.ts';
import { localSession, sessionTitle } from './stored-sessions.ts';
import type { StoreLocation } from '../program/store-location.ts';

interface LiveSetup extends Pick<CoderSetup, 'environment' | 'sessions' | 'notify'> {
  readonly values: CoderFlags & { readonly store?: string | undefined };
  /** The real path of the workspace. A live session works in one workspace. */
  readonly roots: readonly [root: string];
  readonly place: StoreLocation;
  /** The id of the session to resume. */
  readonly resume?: string | undefined;
  /** Whether a new session is stored immediately, before its first prompt. */
  readonly keep?: boolean;
  readonly mcpServers?: McpServers | undefined;
  readonly address?: LiveAddress | undefined;
  /**
   * Whether a person at a terminal runs the session. Others can then join after `listen` was called, even if `address`
   * is not given.
   */
  readonly terminal?: boolean;
  /** The certificate of the server. */
  readonly tls?: TlsPair | undefined;
  readonly publicUrl?: string | undefined;
  readonly trustProxy?: boolean | undefined;
  readonly log: ServerLog;
}

export type OpenedLive = Awaited<ReturnType<typeof openLiveSession>>;

export async function openLiveSession(setup: LiveSetup) {
  const { values, environment, roots, sessions, address, log, place } = setup;
  const [root] = roots;
  const sessionId = setup.resume ?? randomUUIDv7();
  await using undo = new AsyncDisposableStack();
  const { terminal = false, tls, publicUrl, trustProxy } = setup;
  const shared = terminal || address !== undefined;
  // Without an address, others can join only after /remote has opened the session to other devices. So every client
  // needs a token.
  const strict = address === undefined || address.strict === true;
  const access = new LiveAccess({ tokens: address?.tokens, trustProxy, strict });
  const coder = await openCoder({ ...setup, shared, live: true, logger: log });
  undo.defer(() => coder.close());
  const named = values.store !== undefined;
  const store = await openLiveStore({ place, named, sessionId, environment, log });
  // The server closes the store. If an error occurs before there is a server, the store is closed here.
  await using unserved = new AsyncDisposableStack();
  unserved.defer(() => store.close());
  // A session is removed as a whole. Until then, its tasks are kept, even by other servers that use the same store.
  await keepTasks(store, { tenant: '', owner: '', contextId: sessionId });
  // The clients' tokens are not stored, so the clients' webhooks must not outlive this process. If an earlier process
  // was killed, its webhooks are still stored. They are removed here, before the server can deliver anything.
  if (setup.resume !== undefined) await removeWebhooks(store, sessionId);
  removeWebhooksAtEnd(store, sessionId, log);
  const session: { live?: Live } = {};
  const links = new AnswerLinks({ live: () => session.live });
  const acpAbout: AcpAbout = {
    version: VERSION,
    logger: log,
    images: seesImages(coder.model.name),
    list: ({ cwd }) => listOne(sessions, sessionId, root, cwd),
  };
  const { acpHttp, acpSocket } = shared ? await import('../../acp/index.ts') : {};
  const server = serve(coder.agent, {
    ...(shared &&
      liveServeOptions({
        coder,
        live: () => session.live,
        access,
        links,
        acp: acpSocket && ((socket, enter) => acpSocket(socket, enter, acpAbout)),
        acpHttp: acpHttp?.(acpAbout),
        logger: log,
      })),
    ...(address && serverSigning({ memory: place.kind === 'memory', environment, log })),
    ...(tls && { tls }),
    ...(shared && { grpc: lazyGrpc() }),
    ...(publicUrl !== undefined && { publicUrl }),
    logger: log,
    store,
    retention: false,
  });
  unserved.move();
  undo.defer(() => server.close(0));
  if (setup.resume !== undefined) await applyFlags(setup, setup.resume);
  const { taskId, former } =
    setup.resume === undefined ? { former: [] } : await tasksOf(server.handler, sessionId);
  // After a crash, only the last task of the session is resumed. The terminal would not show other tasks.
  if (taskId !== undefined) coder.live.add(taskId);
  let opening: Promise<Listening> | undefined;
  let listening: Listening | undefined;
  undo.defer(async () => (await opening?.catch(() => undefined))?.close(0));
  const listenAt = async (where: Pick<LiveAddress, 'host' | 'port'>): Promise<Listening> => {
    listening = await listenOn(server, { ...where, flag: '--a2a-port' });
    return listening;
  };
  if (address) await (opening = listenAt(address));
  else await server.handler.recover();
  // The session can be resumed from now on, even if it gets no prompt.
  if (setup.keep && setup.resume === undefined) {
    await sessions.open(localSession(sessionId), { [WORKSPACE_KEY]: root });
  }
  const live = await openLive({
    coder,
    handler: server.handler,
    workspace: root,
    logger: log,
    contextId: sessionId,
    taskId,
    former,
    mcpServers: setup.mcpServers,
    files: filesIn(root),
    access,
  });
  session.live = live;
  const opened = undo.move();

  /** Returns whether the stored session has any events. */
  async function used(): Promise<boolean> {
    return ((await sessions.get(localSession(sessionId)))?.events.length ?? 0) > 0;
  }

  return {
    live,
    coder,
    /** The task store. The session closes it. */
    store,
    sessionId,
    /** The address where others can join, or undefined if they cannot join. */
    get url() {
      return listening?.url;
    },
    /** The port of this machine where others can join, or undefined if they cannot join. */
    get port() {
      return listening?.port;
    },
    /** The tickets and tokens of the session. */
    access,
    /** The links with which a person answers calls. Each link is for one call. */
    links,
    /** Returns the listening server. If it does not listen yet, starts it on a free port of this machine. */
    listen() {
      opening ??= listenAt({ host: DEFAULT_HOST, port: 0 });
      // After a failure, the next call tries again.
      opening.catch(() => (opening = undefined));
      return opening;
    },
    /** Notes for the user, one line each. */
    notes:
      setup.resume === undefined || taskId !== undefined || former.length > 0
        ? coder.notes
        : [
            ...coder.notes,
            `The agent remembers this session, but its messages cannot be shown here: parley export ${sessionId} prints them.`,
          ],
    used,
    /**
     * Ends the session for all clients, and stops its tasks. If the session has no events and --store is not given,
     * also removes the file with its tasks.
     */
    async close() {
      let forget = false;
      try {
        await live.close();
        forget = place.kind === 'sqlite' && !named && !(await used());
      } finally {
        await opened.disposeAsync();
      }
      if (forget) await forgetLiveStore(environment, sessionId);
    },
  };
}

/** Removes expired sessions and their tasks in the background. Call it after the first frame is drawn. */
export function sweepSoon({ coder, store }: OpenedLive, setup: LiveSetup): void {
  const sweep = async () => {
    await coder.sweep();
    // With --store, the sessions have no files in the data folder.
    const named = setup.values.store !== undefined;
    if (setup.place.kind === 'sqlite' && !named) await sweepLiveStores(setup);
    else if (setup.place.kind !== 'memory') await removeOrphanTasks(store, setup.sessions);
  };
  sweep().catch((error: unknown) => {
    setup.log.warn({ problem: reasonOf(error) }, 'failed to remove the tasks of old sessions');
  });
}

/**
 * Returns the list of sessions for an ACP client that joins over the port. The list contains only this session, because
 * such a client cannot load another one. It is empty if the client asks for the sessions of another folder.
 */
async function listOne(
  sessions: SessionStore,
  sessionId: string,
  cwd: string,
  wanted: string | undefined,
): ReturnType<NonNullable<AcpAbout['list']>> {
  if (wanted !== undefined && wanted !== cwd) return { sessions: [] };
  const stored = await sessions.get(localSession(sessionId));
  const about = stored && {
    title: sessionTitle(stored),
    updatedAt: new Date(stored.updatedAt).toISOString(),
  };
  return { sessions: [{ sessionId, cwd, ...about }] };
}

/**
 * If a flag sets the mode or the model, removes the stored value from the session, so that the flag applies. Also
 * removes the stored mode if it is yolo, because a person who resumes the session may not expect it.
 */
async function applyFlags({ values, sessions }: LiveSetup, id: string): Promise<void> {
  const { state = {} } = (await sessions.get(localSession(id))) ?? {};
  const stateDelta: State = {
    ...((values.approval !== undefined || state[MODE_KEY] === 'yolo') && { [MODE_KEY]: null }),
    ...(values.model !== undefined && { [MODEL_KEY]: null }),
  };
  if (Object.keys(stateDelta).length === 0) return;
  const event = { id: randomUUIDv7(), runId: `flags-${randomUUIDv7()}`, author: 'user' };
  await sessions.append(localSession(id), [
    { ...event, timestamp: Date.now(), aside: true, actions: { stateDelta } },
  ]);
}

/**
 * Returns the task that a session continues, if there is one, and the session's other tasks, the oldest first.
 * Considers only the 50 most recently changed tasks, and ignores submitted tasks. The latest task is continued if it is
 * completed or has not ended.
 */
export async function tasksOf(
  handler: RequestHandler,
  contextId: string,
  user?: User,
): Promise<{ readonly taskId?: string; readonly former: readonly string[] }> {
  const call = { extensions: [EXTENSION_URI], user };
  const { tasks } = await handler.listTasks({ contextId, pageSize: 50, historyLength: 1 }, call);
  // A submitted task has no content yet.
  const used = tasks.filter(({ status: { state } }) => state !== 'submitted');
  const [latest, ...others] = used;
  const isOpen = (state: TaskState) => state === 'completed' || !isTerminal(state);
  const continues = latest && isOpen(latest.status.state);
  const former = (continues ? others : used).map(({ id }) => id).toReversed();
  return { ...(continues && { taskId: latest.id }), former };
}
