/**
 * The Agent Client Protocol, as an agent speaks it, for any live session:
 *
 *   const served = serveAcp(stdioStream(), { version, logger, join: (wanted) => live.join({ kind: 'acp', … }) });
 *   await served.closed;
 *
 * `join` says which session a client gets: the one that is live, whatever it asks for, or one of its own. A client that
 * goes away leaves its sessions, and nothing else happens.
 */
import {
  agent,
  MessageTooLargeError,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type InitializeResponse,
  type McpServer as AcpMcpServer,
  type SessionModeState,
  type Stream,
} from '@agentclientprotocol/sdk';
import type { LiveSession } from '../live/client/index.ts';
import type { McpServers } from '../protocol/development-tool/index.ts';
import type { Logger } from '../tasks/index.ts';
import { askedOnly } from './answers.ts';
import { requestError } from './errors.ts';
import { AcpSession } from './session.ts';

/** Sessions of one connection at the same time. */
const MAX_SESSIONS = 32;

/** What a client asks for. */
export interface Wanted {
  /** The session to go on with. Absent: a new one. */
  readonly sessionId?: string;
  /** The folder to work in. */
  readonly cwd: string;
  readonly mcpServers: McpServers;
  /** What the client calls itself. */
  readonly clientName: string;
}

export interface AcpOptions {
  /**
   * The session that the client gets. Where there is none of the id that it asks for, throws the A2AError
   * `taskNotFound`; one of another id is as good as none.
   */
  join(wanted: Wanted): LiveSession | Promise<LiveSession>;
  /** The client is done with a session. Unless told, it is closed. */
  leave?(session: LiveSession): Promise<void>;
  /** Ours, for the client to show. */
  readonly version: string;
  readonly logger: Logger;
}

export interface ServedAcp {
  /** Resolves when the client is gone and has left all its sessions. Never rejects. */
  readonly closed: Promise<void>;
  close(): void;
}

interface SessionRequest {
  readonly cwd: string;
  readonly mcpServers?: AcpMcpServer[];
  readonly sessionId?: string;
}

export function serveAcp(stream: Stream, options: AcpOptions): ServedAcp {
  const { version, logger } = options;
  const joined = new Map<string, AcpSession>();
  let clientName = '';
  let entering: Promise<unknown> = Promise.resolve();

  const answer: InitializeResponse = {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'parley', title: 'Parley', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { resume: {}, close: {} },
    },
    authMethods: [],
  };

  /** One at a time: who asks twice for the same session gets it once. */
  function enter(...asked: Parameters<typeof enterNext>): Promise<AcpSession> {
    const next = entering.then(() => enterNext(...asked));
    entering = next.catch(() => {});
    return next;
  }

  /** Brings the client into the session that it asks for. It is told nothing before `start`. */
  async function enterNext(
    client: AgentContext,
    { cwd, mcpServers = [], sessionId }: SessionRequest,
    history: boolean,
  ): Promise<AcpSession> {
    if (joined.size >= MAX_SESSIONS) {
      throw RequestError.invalidParams({}, `${MAX_SESSIONS} sessions are open: close one first`);
    }
    const session = await options.join({
      cwd,
      mcpServers: serversFrom(mcpServers),
      clientName,
      ...(sessionId !== undefined && { sessionId }),
    });
    try {
      const { signal } = connection;
      const one = await AcpSession.open({ session, client, history, logger, signal });
      if (sessionId !== undefined && one.sessionId !== sessionId) {
        throw RequestError.sessionNotFound(sessionId);
      }
      const before = joined.get(one.sessionId);
      // Whoever asks for a new session and gets the live one again is in it already.
      if (before && sessionId === undefined) return before;
      joined.set(one.sessionId, one);
      before?.stop();
      if (before) await release(before.session);
      return one;
    } finally {
      await release(session);
    }
  }

  /** Leaves a session that nothing here is about any more. */
  async function release(session: LiveSession): Promise<void> {
    if ([...joined.values()].some((each) => each.session === session)) return;
    try {
      await (options.leave?.(session) ?? session.close());
    } catch (error) {
      logger.warn({ err: error }, 'a session could not be left');
    }
  }

  async function leave(one: AcpSession): Promise<void> {
    if (joined.get(one.sessionId) === one) joined.delete(one.sessionId);
    one.stop();
    await release(one.session);
  }

  function start(one: AcpSession): Promise<void> {
    return one.start(() => void leave(one));
  }

  /** Behind the response: a client knows the session only from then on. */
  function startSoon(one: AcpSession): { sessionId: string; modes: SessionModeState } {
    // What becomes of it is told there.
    setImmediate(() => void start(one).catch(() => {}));
    return { sessionId: one.sessionId, modes: one.modes };
  }

  function find(sessionId: string): AcpSession {
    const found = joined.get(sessionId);
    if (!found) throw RequestError.sessionNotFound(sessionId);
    return found;
  }

  /** What goes wrong is told in ACP's terms, and no more of it than the peer may know. */
  function told<Context, Result>(handle: (context: Context) => Result | Promise<Result>) {
    return async (context: Context): Promise<Result> => {
      try {
        return await handle(context);
      } catch (error) {
        throw requestError(error, logger);
      }
    };
  }

  const { initialize, session } = methods.agent;
  const connection = agent({ name: 'parley' })
    .onRequest(initialize, ({ params: { clientInfo } }) => {
      clientName = clientInfo?.title ?? clientInfo?.name ?? '';
      return answer;
    })
    .onRequest(
      session.new,
      told(async ({ client, params }) => startSoon(await enter(client, params, true))),
    )
    .onRequest(
      session.load,
      told(async ({ client, params }) => {
        const one = await enter(client, params, true);
        await start(one);
        return { modes: one.modes };
      }),
    )
    .onRequest(
      session.resume,
      told(async ({ client, params }) => {
        const { modes } = startSoon(await enter(client, params, false));
        return { modes };
      }),
    )
    .onRequest(
      session.close,
      told(({ params: { sessionId } }) => leave(find(sessionId))),
    )
    .onRequest(
      session.setMode,
      told(({ params: { sessionId, modeId } }) => find(sessionId).setMode(modeId)),
    )
    .onRequest(
      session.prompt,
      told(async ({ params: { sessionId, prompt }, signal }) => {
        const one = find(sessionId);
        // A request that is canceled is a turn that is not wanted. A client that is gone is no such thing.
        const cancel = () => void (connection.signal.aborted || cancelTurn(one));
        signal.addEventListener('abort', cancel, { once: true });
        try {
          return { stopReason: await one.prompt(prompt) };
        } finally {
          signal.removeEventListener('abort', cancel);
        }
      }),
    )
    .onNotification(session.cancel, ({ params: { sessionId } }) => {
      const one = joined.get(sessionId);
      if (one) void cancelTurn(one);
    })
    .connect(askedOnly(stream));

  async function cancelTurn(one: AcpSession): Promise<void> {
    try {
      await one.cancel();
    } catch (error) {
      logger.warn({ err: error }, 'a turn could not be canceled');
    }
  }

  return {
    closed: connection.closed.then(async () => {
      const { reason } = connection.signal;
      if (reason instanceof MessageTooLargeError) {
        logger.warn({ problem: reason.message }, 'an ACP client was cut off');
      }
      await Promise.all([...joined.values()].map(leave));
    }),
    close: () => connection.close(),
  };
}

/** ACP's list of MCP servers, by names that tools can have. */
function serversFrom(servers: readonly AcpMcpServer[]): McpServers {
  return Object.fromEntries(
    servers.map((server) => [
      nameFor(server.name),
      'url' in server ? remote(server) : local(server),
    ]),
  );
}

function nameFor(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  return plain.slice(0, 64) || 'server';
}

function remote(server: Extract<AcpMcpServer, { url: string }>): McpServers[string] {
  if (server.type === 'sse') {
    throw RequestError.invalidParams(
      {},
      `mcpServers: ${server.name}: only stdio and http are spoken`,
    );
  }
  return { url: server.url, headers: byName(server.headers) };
}

function local({ command, args, env }: Extract<AcpMcpServer, { command: string }>) {
  return { command, args, env: byName(env) };
}

function byName(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}
