/**
 * `parley acp`: the coding agent of an editor, over the Agent Client Protocol on standard input and output. Each
 * `session/new` is a session of its own, in the folder that the editor names; `session/load` finds it again.
 *
 * The editor acts for the person who started it, so its MCP servers may be programs.
 */
import type { LiveSession } from '../../live/client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Wanted } from '../../acp/index.ts';
import type { SessionStore } from '../../agent/index.ts';
import { isInside } from '../../coder/index.ts';
import { CODER_FLAGS, CODER_VARIABLES } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, ExitError } from '../program/exit.ts';
import { onInterrupt } from '../program/interrupt.ts';
import type { OpenedLive } from '../coder/live-session.ts';
import { createLog, type ServerLog } from '../program/log.ts';
import { VERSION } from '../program/product.ts';
import { storeLocation } from '../program/store-location.ts';
import { workspaceFolder, workspaceFolders } from '../program/workspace-folder.ts';

const FLAGS = {
  ...CODER_FLAGS,
  workspace: {
    ...CODER_FLAGS.workspace,
    help: 'Sessions may only work in here; by default wherever the editor says.',
  },
  store: {
    type: 'string',
    value: 'S',
    help: 'Where sessions are kept: memory, or beside sqlite:PATH. By default in the data folder.',
  },
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  name: 'acp',
  operands: [],
  about:
    'Speaks the Agent Client Protocol on standard input and output, for editors such as Zed: they start it themselves. The log goes to standard error.',
  flags: FLAGS,
  variables: {
    ...CODER_VARIABLES,
    PARLEY_LOG_LEVEL: 'trace, debug, info, warn (the default), error or silent.',
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
  const place = await storeLocation({ ...values, durability: undefined }, environment, 'coder');
  const [{ serveAcp }, { stdioStream }, { openSessions }] = await Promise.all([
    import('../../acp/index.ts'),
    import('../../acp/index.ts'),
    import('../coder/setup.ts'),
  ]);
  await using open = new AsyncDisposableStack();
  open.defer(() => log.flush());
  const sessions = await openSessions(place);
  open.defer(() => sessions.close());
  /** Who is in which session. One that is loaded while it is open is the same. */
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
      throw told(error, log);
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
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, 'a rejection was not handled');
  });
  await served.closed;
  return code;
}

/** The editor's folder, inside one of those that are allowed. */
async function folderFor(cwd: string, allowed: readonly string[] | undefined): Promise<string> {
  const folder = await workspaceFolder(cwd).catch((error: unknown) => {
    throw new A2AError(
      'invalidParams',
      `cwd: ${error instanceof ExitError ? error.message : 'unusable'}`,
    );
  });
  const inside = allowed?.some((root) => isInside(root, folder));
  if (inside === false) {
    throw new A2AError('invalidParams', 'cwd: it is in none of the folders of --workspace');
  }
  return folder;
}

async function find(sessions: SessionStore, id: string): Promise<void> {
  const { localSession } = await import('../coder/session-finder.ts');
  if (await sessions.get(localSession(id))) return;
  throw new A2AError('taskNotFound', 'There is no such session');
}

/** What the operator has set up wrongly is theirs to read, and here the operator is who asks. */
function told(error: unknown, log: ServerLog): unknown {
  if (!(error instanceof ExitError)) return error;
  log.error({ problem: error.message }, 'a session could not be opened');
  return new A2AError('unavailable', error.message);
}
