/**
 * `parley acp`: runs the coding agent for an editor, over the Agent Client Protocol on standard input and output.
 * `session/new` starts a session in the folder that the editor specifies. `session/load` opens a stored session in its
 * own folder. `session/list` lists the stored sessions of this user, and `session/delete` deletes one of them.
 *
 * The editor acts for the person who started it, so the MCP servers that it configures may be local programs.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Wanted } from '../../acp/index.ts';
import { CODER_FLAGS, CODER_VARIABLES, SESSION_STORE_FLAG } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, ExitError } from '../program/exit.ts';
import { listOption } from '../program/flags.ts';
import { logRejections, onInterrupt } from '../program/process-end.ts';
import type { OpenedLive } from '../coder/live-session.ts';
import { createLog, LOG_LEVEL_HELP, type ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { isStoreInUse, storeLocation } from '../program/store-location.ts';
import { workspaceFolders } from '../program/workspace-folder.ts';

const FLAGS = {
  ...CODER_FLAGS,
  workspace: listOption(
    'DIR',
    'Allow sessions only in this folder and in folders inside it. Can be repeated. By default, the editor may use any folder.',
  ),
  store: SESSION_STORE_FLAG,
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  about:
    'Runs the coding agent for an editor such as Zed. The editor starts this command, and talks to it with the Agent Client Protocol on standard input and output. The log is on standard error.',
  flags: FLAGS,
  variables: {
    ...CODER_VARIABLES,
    PARLEY_LOG_LEVEL: LOG_LEVEL_HELP,
  },
  examples: [
    'parley acp',
    'parley acp --model google:gemini-3.8-flash --approval auto-edit',
    `# Zed's settings.json: { "agent_servers": { "Parley": { "type": "custom", "command": "parley", "args": ["acp"] } } }`,
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  const log = createLog(environment);
  const allowed =
    values.workspace.length > 0 ? await workspaceFolders(values.workspace) : undefined;
  const place = storeLocation(values, environment, 'coder');
  const [
    { serveAcp, stdioStream },
    { acpAuthentication, isMissingKey, modelName, openSessions, seesImages },
    { acpSessions },
  ] = await Promise.all([
    import('../../acp/index.ts'),
    import('../coder/setup.ts'),
    import('../coder/stored-sessions.ts'),
  ]);
  await using open = new AsyncDisposableStack();
  open.defer(() => log.flush());
  const sessions = await openSessions(place);
  open.defer(() => sessions.close());
  const stored = acpSessions(sessions, allowed);
  const model = await modelName(values, environment);
  /** The open session of each member. Members that load the same session share it. */
  const opened = new Map<LiveSession, OpenedLive>();
  open.defer(async () => {
    await Promise.all([...new Set(opened.values())].map((each) => each.close()));
  });

  async function openFor({ sessionId, mcpServers }: Wanted, root: string): Promise<OpenedLive> {
    const { openLiveSession } = await import('../coder/live-session.ts');
    return openLiveSession({
      values: { ...values, 'allow-client-mcp': true },
      environment,
      roots: [root],
      place,
      sessions,
      resume: sessionId,
      keep: true,
      mcpServers,
      log,
    }).catch((error: unknown) => {
      if (sessionId !== undefined && isStoreInUse(error)) throw sessionIsOpen();
      throw visibleError(error, log, isMissingKey(error) ? 'unauthenticated' : 'unavailable');
    });
  }

  function openedHere(id: string | undefined): OpenedLive | undefined {
    return [...opened.values()].find(({ sessionId }) => sessionId === id);
  }

  /**
   * Deletes a session. Throws if the session is open in this process, if its folder may not be used, if another process
   * has the lock of the session's SQLite store, or if a turn of the session has not ended.
   */
  async function remove(sessionId: string): Promise<void> {
    if (openedHere(sessionId)) throw sessionIsOpen();
    await stored.checkFolder(sessionId);
    const named = values.store !== undefined;
    const { deleteSession } = await import('../coder/live-store.ts');
    await deleteSession({ place, named, sessionId, environment, sessions, log }).catch(
      (error: unknown) => {
        throw isStoreInUse(error) ? sessionIsOpen() : visibleError(error, log);
      },
    );
  }

  async function join(wanted: Wanted): Promise<LiveSession> {
    const root = await stored.folderFor(wanted);
    const live = openedHere(wanted.sessionId) ?? (await openFor(wanted, root));
    const member = live.live.join({ kind: 'acp', name: wanted.clientName, editor: wanted.editor });
    opened.set(member, live);
    return member;
  }

  const served = serveAcp(stdioStream(), {
    version: VERSION,
    logger: log,
    images: seesImages(model),
    authentication: acpAuthentication(model, environment),
    join,
    list: (query) => stored.list(query),
    remove,
    isShared: () => false,
    async leave(session) {
      const live = opened.get(session);
      opened.delete(session);
      await session.close();
      if (live && ![...opened.values()].includes(live)) await live.close();
    },
  });
  let code: number = EXIT.done;
  process.on('SIGTERM', () => served.close());
  process.on('SIGHUP', () => served.close());
  onInterrupt(() => {
    code = EXIT.interrupted;
    served.close();
  });
  logRejections(log);
  await served.closed;
  return code;
}

function sessionIsOpen(): A2AError {
  return new A2AError(
    'unavailable',
    'The session is open, here or in another client: close it first',
  );
}

/**
 * Converts a setup error to an error that the editor shows. The editor's user started this program and may see the
 * details.
 */
function visibleError(
  error: unknown,
  log: ServerLog,
  kind: 'unauthenticated' | 'unavailable' = 'unavailable',
): unknown {
  if (!(error instanceof ExitError)) return error;
  log.error({ problem: error.message }, 'an ACP request failed');
  return new A2AError(kind, error.message);
}
