/**
 * Serves the agent side of the Agent Client Protocol for live sessions:
 *
 *   const served = serveAcp(stdioStream(), { version, logger, join: (wanted) => live.join({ kind: 'acp', … }) });
 *   await served.closed;
 *
 * `join` returns the session for a client, for example the shared live session or a new session. When a client
 * disconnects, it leaves its sessions.
 */
import {
  agent,
  MessageTooLargeError,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type AuthenticateRequest,
  type AuthMethod,
  type ClientCapabilities,
  type InitializeResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type McpServer as AcpMcpServer,
  type Stream,
} from '@agentclientprotocol/sdk';
import { isAbsolute } from 'node:path';
import { isObject, Turns } from '../base/index.ts';
import type { Editor, LiveSession } from '../live/client/index.ts';
import { McpServers } from '../protocol/development-tool/index.ts';
import { A2AError } from '../protocol/index.ts';
import type { Logger } from '../tasks/index.ts';
import { askedOnly } from './answers.ts';
import type { ChoiceState } from './config-options.ts';
import { clientEditor, type ClientEditor } from './client-editor.ts';
import { openAcpSession, type AcpSession } from './session.ts';

/** Maximum number of open sessions per connection. */
const MAX_SESSIONS = 32;

/** The SDK no longer has this method. Clients that were written for older versions of ACP still use it. */
const SET_MODEL = 'session/set_model';

const INTERNAL = -32603;
const NOT_FOUND = -32002;

/** The parameters of session/new, session/load and session/resume, with the name and the editor of the client. */
export interface Wanted {
  /** The session to continue. Absent for a new session. */
  readonly sessionId?: string;
  /** The working directory. */
  readonly cwd: string;
  readonly mcpServers: McpServers;
  /** The name that the client sent in `initialize`, or an empty string. */
  readonly clientName: string;
  /** The files and terminals that the client offers. */
  readonly editor?: Editor;
}

/** The options that the host of a single session sets for its connections. */
export type AcpAbout = Pick<AcpOptions, 'version' | 'logger' | 'images' | 'list'>;

/** The parameters of session/list. */
export interface SessionQuery {
  /** If set, only the sessions of this folder are listed. */
  readonly cwd?: string;
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string;
}

/** The methods by which a person gives the agent access to a model. They have ACP's type `agent`. */
export interface AcpAuthentication {
  readonly methods: readonly AuthMethod[];
  /** Checks one of the methods. Returns an instruction for the person, or undefined if the method works. */
  authenticate(methodId: string): string | undefined;
}

export interface AcpOptions {
  /** Returns the sessions that the client may load, latest first. If this is missing, session/list is not supported. */
  list?(query: SessionQuery): Promise<ListSessionsResponse>;
  /**
   * Deletes a stored session. Does nothing if there is no such session. Throws an A2AError if the session is open
   * elsewhere, or if one of its turns has not ended. If this is missing, session/delete is not supported.
   */
  remove?(sessionId: string): Promise<void>;
  /** Whether the model accepts images. If not, clients are told not to send images. Default: true. */
  readonly images?: boolean;
  /** The methods by which a person gives the agent access to a model. Default: none. */
  readonly authentication?: AcpAuthentication;
  /**
   * Returns the session for the client. Throws the A2AError `taskNotFound` if there is no session with the requested
   * id. If the returned session has another id than the requested one, the client gets the error "session not found".
   */
  join(wanted: Wanted): LiveSession | Promise<LiveSession>;
  /**
   * Returns whether other clients have the session open. If not, session/close cancels the turn before the client
   * leaves. If this function is missing, session/close never cancels the turn.
   */
  isShared?(session: LiveSession): boolean;
  /** Called when the client leaves a session. By default the session is closed. */
  leave?(session: LiveSession): Promise<void>;
  /** Parley's version, which the client may display. */
  readonly version: string;
  readonly logger: Logger;
  /**
   * Timeout of requests about files and terminals, in milliseconds. Requests for which the client may ask a person for
   * consent have a longer timeout. Default: 15,000.
   */
  readonly editorTimeoutMs?: number;
}

export interface ServedAcp {
  /** Resolves when the client has disconnected and left all its sessions. Never rejects. */
  readonly closed: Promise<void>;
  close(): void;
}

/** A request to join a session: session/new, session/load or session/resume. */
interface JoinRequest {
  readonly client: AgentContext;
  readonly params: {
    readonly cwd: string;
    readonly mcpServers?: AcpMcpServer[];
    readonly sessionId?: string;
  };
}

/** A request about one session. */
interface SessionRequest {
  readonly params: { readonly sessionId: string };
}

export function serveAcp(stream: Stream, options: AcpOptions): ServedAcp {
  const { version, logger } = options;
  const { initialize, session } = methods.agent;
  const joined = new Map<string, AcpSession>();
  const editors = new WeakMap<LiveSession, ClientEditor>();
  /** The sessions that the client has not left. */
  const entered = new WeakSet<LiveSession>();
  let capabilities: ClientCapabilities = {};
  let clientName = '';
  /**
   * Runs the requests that join or delete a session one after another. Without this order, a session could be joined
   * twice, or joined while it is deleted.
   */
  const turns = new Turns();

  const answer: InitializeResponse = {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'parley', title: 'Parley', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: options.images ?? true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: {
        resume: {},
        close: {},
        ...(options.list && { list: {} }),
        ...(options.remove && { delete: {} }),
      },
    },
    authMethods: [...(options.authentication?.methods ?? [])],
  };

  /**
   * Joins the requested session. `history` is true if the client gets the earlier conversation. The client gets no
   * updates before `start`.
   */
  function enter(request: JoinRequest, history: boolean): Promise<AcpSession> {
    return turns.run('', () => enterNow(request, history));
  }

  async function enterNow(
    { client, params: { cwd, mcpServers = [], sessionId } }: JoinRequest,
    history: boolean,
  ): Promise<AcpSession> {
    if (joined.size >= MAX_SESSIONS) {
      throw RequestError.invalidParams({}, `${MAX_SESSIONS} sessions are open: close one first`);
    }
    const { signal } = connection;
    const offered = clientEditor({
      client,
      capabilities,
      signal,
      logger,
      timeoutMs: options.editorTimeoutMs,
    });
    const session = await options.join({
      cwd,
      mcpServers: serversFrom(mcpServers),
      clientName,
      ...((offered.files || offered.terminals) && { editor: offered }),
      ...(sessionId !== undefined && { sessionId }),
    });
    entered.add(session);
    try {
      // A session that the client has joined before keeps its editor.
      const editor = editors.get(session) ?? offered;
      editors.set(session, editor);
      const one = await openAcpSession({ session, client, editor, history, logger, signal });
      editor.sessionId = one.sessionId;
      if (sessionId !== undefined && one.sessionId !== sessionId) {
        throw RequestError.sessionNotFound(sessionId);
      }
      const before = joined.get(one.sessionId);
      // On a connection that has only one session, session/new returns the session that the client has already joined.
      if (before && sessionId === undefined) return before;
      joined.set(one.sessionId, one);
      before?.stop();
      if (before) await release(before.session);
      return one;
    } finally {
      await release(session);
    }
  }

  /** Leaves the session. Does nothing if this connection still uses the session, or has already left it. */
  async function release(session: LiveSession): Promise<void> {
    if ([...joined.values()].some((each) => each.session === session)) return;
    if (!entered.delete(session)) return;
    try {
      await (options.leave?.(session) ?? session.close());
    } catch (error) {
      logger.warn({ err: error }, 'failed to leave a session');
    }
  }

  async function leave(one: AcpSession): Promise<void> {
    if (joined.get(one.sessionId) === one) joined.delete(one.sessionId);
    one.stop();
    await release(one.session);
  }

  /** Handles session/close: leaves the session. If `isShared` returns false for the session, cancels its turn first. */
  async function close({ params: { sessionId } }: SessionRequest): Promise<void> {
    const one = find(sessionId);
    if (options.isShared?.(one.session) === false) {
      // From now on, the client cannot start another turn.
      joined.delete(one.sessionId);
      await cancelTurn(one);
      one.endPrompts('cancelled');
    }
    await leave(one);
  }

  function start(one: AcpSession): Promise<void> {
    return one.start(() => void leave(one));
  }

  /** Starts the updates after the response. The client needs the session id in the response to handle the updates. */
  function startSoon(one: AcpSession): ChoiceState {
    // AcpSession logs its own errors.
    setImmediate(() => void start(one).catch(() => {}));
    return one.choices;
  }

  async function list({ params: { cwd, cursor } }: { readonly params: ListSessionsRequest }) {
    if (!options.list) throw RequestError.methodNotFound(session.list);
    if (cwd && !isAbsolute(cwd)) {
      throw RequestError.invalidParams({}, 'cwd: must be an absolute path');
    }
    return options.list({ ...(cwd && { cwd }), ...(cursor && { cursor }) });
  }

  /** Makes the client leave a session, and deletes the session. Throws if a turn of the session has not ended. */
  async function remove({ params: { sessionId } }: SessionRequest): Promise<void> {
    if (!options.remove) throw RequestError.methodNotFound(session.delete);
    const one = joined.get(sessionId);
    if (one?.isBusy) {
      throw RequestError.invalidParams(
        {},
        'sessionId: a turn of this session is running; cancel it before you delete the session',
      );
    }
    if (one) await leave(one);
    await options.remove(sessionId);
  }

  function authenticate({ params: { methodId } }: { readonly params: AuthenticateRequest }): void {
    const { authentication } = options;
    if (!authentication?.methods.some(({ id }) => id === methodId)) {
      throw RequestError.invalidParams({}, `methodId: unknown method ${methodId}`);
    }
    const problem = authentication.authenticate(methodId);
    if (problem !== undefined) throw RequestError.authRequired({}, problem);
  }

  function find(sessionId: string): AcpSession {
    const found = joined.get(sessionId);
    if (!found) throw RequestError.sessionNotFound(sessionId);
    return found;
  }

  /** Wraps a handler so that its errors are converted to ACP errors. */
  function handled<Context, Result>(handle: (context: Context) => Result | Promise<Result>) {
    return async (context: Context): Promise<Result> => {
      try {
        return await handle(context);
      } catch (error) {
        throw requestError(error, logger);
      }
    };
  }

  const connection = agent({ name: 'parley' })
    .onRequest(initialize, ({ params: { clientInfo, clientCapabilities = {} } }) => {
      capabilities = clientCapabilities;
      clientName = clientInfo?.title ?? clientInfo?.name ?? '';
      return answer;
    })
    .onRequest(
      session.new,
      handled(async (request) => {
        const one = await enter(request, true);
        return { sessionId: one.sessionId, ...startSoon(one) };
      }),
    )
    .onRequest(
      session.load,
      handled(async (request) => {
        const one = await enter(request, true);
        await start(one);
        return one.choices;
      }),
    )
    .onRequest(
      session.resume,
      handled(async (request) => startSoon(await enter(request, false))),
    )
    .onRequest(session.list, handled(list))
    .onRequest(
      session.delete,
      handled((request) => turns.run('', () => remove(request))),
    )
    .onRequest(methods.agent.authenticate, handled(authenticate))
    .onRequest(session.close, handled(close))
    .onRequest(
      session.setMode,
      handled(({ params: { sessionId, modeId } }) =>
        find(sessionId).choose('mode', modeId, 'modeId'),
      ),
    )
    .onRequest(
      session.setConfigOption,
      handled(async ({ params: { sessionId, configId, value } }) => {
        const one = find(sessionId);
        await one.choose(configId, String(value), 'value');
        return { configOptions: one.choices.configOptions };
      }),
    )
    .onRequest(
      SET_MODEL,
      setModelParams,
      handled(async ({ params: { sessionId, modelId } }) => {
        await find(sessionId).choose('model', modelId, 'modelId');
        return {};
      }),
    )
    .onRequest(
      session.prompt,
      handled(async ({ params: { sessionId, prompt }, signal }) => {
        const one = find(sessionId);
        // Canceling the request cancels the turn. Losing the connection does not.
        const cancel = () => void (connection.signal.aborted || cancelTurn(one));
        signal.addEventListener('abort', cancel, { once: true });
        try {
          return { stopReason: await one.prompt(prompt) };
        } finally {
          signal.removeEventListener('abort', cancel);
        }
      }),
    )
    // This handler accepts parameters of any form, and ignores invalid ones. If the SDK validated them, it would report
    // invalid parameters on standard error, which may be the screen of the host program.
    .onNotification(
      session.cancel,
      (params) => (isObject(params) ? params['sessionId'] : undefined),
      ({ params: sessionId }) => {
        const one = typeof sessionId === 'string' ? joined.get(sessionId) : undefined;
        if (one) void cancelTurn(one);
      },
    )
    .connect(askedOnly(stream));

  async function cancelTurn(one: AcpSession): Promise<void> {
    try {
      await one.cancel();
    } catch (error) {
      logger.warn({ err: error }, 'failed to cancel a turn');
    }
  }

  return {
    closed: connection.closed.then(async () => {
      const { reason } = connection.signal;
      if (reason instanceof MessageTooLargeError) {
        logger.warn({ problem: reason.message }, 'closed an ACP connection: message too large');
      }
      await Promise.all([...joined.values()].map(leave));
    }),
    close: () => connection.close(),
  };
}

function setModelParams(params: unknown): { readonly sessionId: string; readonly modelId: string } {
  const { sessionId, modelId } = isObject(params) ? params : {};
  if (typeof sessionId === 'string' && typeof modelId === 'string') return { sessionId, modelId };
  throw RequestError.invalidParams({}, 'sessionId and modelId are required');
}

/** Converts ACP's list of MCP servers. */
function serversFrom(servers: readonly AcpMcpServer[]): McpServers {
  const given = servers.map((server) => [
    server.name,
    'url' in server
      ? { type: server.type, url: server.url, headers: byName(server.headers) }
      : { command: server.command, args: server.args, env: byName(server.env) },
  ]);
  const { data, error } = McpServers.safeParse(Object.fromEntries(given));
  if (data) return data;
  const [issue] = error.issues;
  throw RequestError.invalidParams(
    {},
    `mcpServers: ${[...(issue?.path ?? []), issue?.message].join(': ')}`,
  );
}

function byName(list: readonly { name: string; value: string }[]): Record<string, string> {
  return Object.fromEntries(list.map(({ name, value }) => [name, value]));
}

/**
 * Returns the error to send to the client. Details of unexpected errors go only to the server's log. A2A error codes
 * are never passed on, because the same codes have other meanings in ACP.
 */
function requestError(error: unknown, logger: Logger): RequestError {
  if (error instanceof RequestError) return error;
  if (!(error instanceof A2AError)) {
    logger.error({ err: error }, 'an ACP request failed');
    return RequestError.internalError();
  }
  const { message, reason } = error;
  if (error.kind === 'taskNotFound') return new RequestError(NOT_FOUND, 'Session not found');
  if (error.kind === 'unauthenticated') return RequestError.authRequired({}, message);
  if (error.kind === 'invalidParams') return RequestError.invalidParams({ reason }, message);
  return new RequestError(INTERNAL, message, { reason });
}
