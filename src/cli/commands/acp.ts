/**
 * `parley acp`: runs the coding agent for an editor, over the Agent Client Protocol on standard input and output.
 * `session/new` starts a session in the folder that the editor specifies. `session/load` opens a stored session.
 *
 * The editor acts for the person who started it, so its MCP servers may be local programs.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Wanted } from '../../acp/index.ts';
import type { SessionStore } from '../../agent/index.ts';
import { isInside } from '../../coder/index.ts';
import { CODER_FLAGS, CODER_VARIABLES, SESSION_STORE_FLAG } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, ExitError } from '../program/exit.ts';
import { listOption } from '../program/flags.ts';
import { logRejections, onInterrupt } from '../program/process-end.ts';
import type { OpenedLive } from '../coder/live-session.ts';
import { createLog, LOG_LEVEL_HELP, type ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { storeLocation } from '../program/store-location.ts';
import { workspaceFolder, workspaceFolders } from '../program/workspace-folder.ts';

const FLAGS = {
  ...CODER_FLAGS,
  workspace: listOption(
    'DIR',
    'Allow sessions only in this folder. By default the editor may use any folder.',
  ),
  store: SESSION_STORE_FLAG,
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  name: 'acp',
  operands: [],
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
    `# Zed's settings.json: { "agent_servers": { "Parley": { "command": "parley", "args": ["acp"] } } }`,
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  const log = createLog(environment);
  const allowed =
    values.workspace.length > 0 ? await workspaceFolders(values.workspace) : undefined;
  const place = await storeLocation(values, environment, 'coder');
  const [{ serveAcp, stdioStream }, { openSessions }] = await Promise.all([
    import('../../acp/index.ts'),
    import('../coder/setup.ts'),
  ]);
  await using open = new AsyncDisposableStack();
  open.defer(() => log.flush());
  const sessions = await openSessions(place);
  open.defer(() => sessions.close());
  /** The open session of each member. Members that load the same session share it. */
  const opened = new Map<LiveSession, OpenedLive>();
  open.defer(async () => {
    await Promise.all([...new Set(opened.values())].map((each) => each.close()));
  });

  async function openFor({ cwd, sessionId, mcpServers }: Wanted): Promise<OpenedLive> {
    const [root, { openLiveSession }] = await Promise.all([
      folderFor(cwd, allowed),
      import('../coder/live-session.ts'),
    ]);
    if (sessionId !== undefined) await find(sessions, sessionId);
    return openLiveSession({
      values: { ...values, 'allow-client-mcp': true },
      environment,
      roots: [root],
      place,
      sessions,
      resume: sessionId,
      mcpServers,
      log,
    }).catch((error: unknown) => {
      throw visibleError(error, log);
    });
  }

  async function join(wanted: Wanted): Promise<LiveSession> {
    const present = [...opened.values()].find(({ sessionId }) => sessionId === wanted.sessionId);
    const live = present ?? (await openFor(wanted));
    const member = live.live.join({ kind: 'acp', name: wanted.clientName });
    opened.set(member, live);
    return member;
  }

  const served = serveAcp(stdioStream(), {
    version: VERSION,
    logger: log,
    join,
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

/** Returns the editor's folder. Throws if it is not inside one of the allowed folders. */
async function folderFor(cwd: string, allowed: readonly string[] | undefined): Promise<string> {
  const folder = await workspaceFolder(cwd).catch((error: unknown) => {
    throw new A2AError(
      'invalidParams',
      `cwd: ${error instanceof ExitError ? error.message : 'not usable'}`,
    );
  });
  const inside = allowed?.some((root) => isInside(root, folder));
  if (inside === false) {
    throw new A2AError('invalidParams', 'cwd: the folder is outside the --workspace folders');
  }
  return folder;
}

async function find(sessions: SessionStore, id: string): Promise<void> {
  const { localSession } = await import('../coder/stored-sessions.ts');
  if (await sessions.get(localSession(id))) return;
  throw new A2AError('taskNotFound', 'No such session');
}

/**
 * Converts a setup error to an error that the editor shows. The editor's user started this program and may see the
 * details.
 */
function visibleError(error: unknown, log: ServerLog): unknown {
  if (!(error instanceof ExitError)) return error;
  log.error({ problem: error.message }, 'failed to open a session');
  return new A2AError('unavailable', error.message);
}
