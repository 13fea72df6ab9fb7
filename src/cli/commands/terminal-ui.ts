/**
 * `parley`: runs the coding agent in this terminal. With `--a2a-port` or `--remote`, others can join the session.
 *
 * The terminal is an ordinary client of the session. While it shows the UI, the log goes to a file.
 */
import path from 'node:path';
import type { NotifySettings } from '../../coder/settings/index.ts';
import type { Attention } from '../../display/index.ts';
import type { LiveSession } from '../../live/client/index.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { rememberCauses } from '../coder/causes.ts';
import {
  CODER_FLAGS,
  CODER_VARIABLES,
  CONTINUE_AND_RESUME,
  CONTINUE_FLAG,
  WORKSPACE_FLAG,
} from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { dataFolder } from '../program/folders.ts';
import { checkpointList } from '../coder/checkpoint-list.ts';
import { personShell } from '../coder/person-shell.ts';
import { terminalSession } from '../coder/terminal-session.ts';
import { personsEditor } from '../program/editor.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { filesIn } from '../coder/file-paths.ts';
import { createOwnerNotices } from '../coder/owner-notices.ts';
import { liveAddresses, LIVE_FLAGS } from '../coder/live-address.ts';
import type { OpenedLive } from '../coder/live-session.ts';
import type { Remote } from '../coder/remote.ts';
import { isLoopback } from '../../base/index.ts';
import type { TlsPair } from '../../server.ts';
import { option, toggle, publicUrl } from '../program/flags.ts';
import { TLS_FLAGS, TRUST_PROXY_FLAG } from '../program/tls-flags.ts';
import { createLog, LOG_FILE, LOG_LEVEL_HELP } from '../program/log.ts';
import { onProcessEnd } from '../program/process-end.ts';
import { parseRetention, type StoreLocation, storeLocation } from '../program/store-location.ts';
import { openHistory } from '../coder/prompt-history.ts';
import { note } from '../program/terminal.ts';
import { chosenTheme, PLAIN_FLAG, THEME_FLAG } from '../program/theme.ts';
import { onlyWorkspaceFolder } from '../program/workspace-folder.ts';

export const TERMINAL_FLAGS = {
  ...CODER_FLAGS,
  workspace: WORKSPACE_FLAG,
  continue: CONTINUE_FLAG,
  resume: {
    ...option('ID', 'Resume this session. Without an ID, choose one from a list.'),
    optional: true,
  },
  plain: PLAIN_FLAG,
  theme: THEME_FLAG,
  store: option(
    'S',
    'Where to store the session: memory, sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE. By default in the data folder.',
  ),
  retention: option(
    'R',
    'How long sessions are kept: an age such as 90d, a maximum size of all sessions such as 2GB (only without --store), both (90d,2GB), or the word off to keep them for ever. By default retentionDays in the settings or, if it is not set, for ever.',
  ),
  ...LIVE_FLAGS,
  tls: toggle(
    'Use HTTPS for the address that --remote or /remote opens, with a self-signed certificate that is made on first use. Browsers warn about it.',
  ),
  ...TLS_FLAGS,
  'public-url': option(
    'URL',
    'The address of a proxy in front of --a2a-port, for links and agent cards. With this flag, every client needs a token (except with --trust-proxy). --remote then opens a network address of this machine only if --a2a-host names one.',
  ),
  'trust-proxy': TRUST_PROXY_FLAG,
} as const;

type Settings = CommandInput<typeof TERMINAL_FLAGS>;

export default defineCommand({
  operands: ['[PROMPT]'],
  about:
    'Starts the coding agent in this terminal, for the current folder. PROMPT is its first message. With --a2a-port, editors, other agents and other terminals can join the session. They see everything, and can send prompts and answer questions if their roles allow it.',
  flags: TERMINAL_FLAGS,
  variables: {
    ...CODER_VARIABLES,
    PARLEY_LOG_LEVEL: `${LOG_LEVEL_HELP} The log is in ${LOG_FILE} in the data folder.`,
  },
  examples: [
    'parley',
    'parley "why does the test of the parser fail?"',
    'parley -c',
    'parley --a2a-port 1234',
    'parley --a2a-port 1234 --a2a-token tv:view:s3cret --a2a-token phone:prompt,approve:0ther',
    'parley --remote',
    'parley --resume',
    'parley --workspace ~/project --approval auto-edit --plain',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment, operands } = settings;
  const { plain } = values;
  if (values.continue && values.resume !== undefined) {
    throw usageError(CONTINUE_AND_RESUME);
  }
  const { address, remoteHost } = liveAddresses(values);
  const proxy = publicUrl(values['public-url']);
  const readTls = await tlsReader(values);
  parseRetention(values.retention);
  if (!plain && !(process.stdin.isTTY && process.stdout.isTTY)) {
    throw usageError(
      'no terminal: use parley -p "PROMPT" to run one turn, or parley serve to serve the agent',
    );
  }
  // In raw mode, the terminal does not echo the keys that are typed while the program loads. The UI reads them later.
  if (!plain) process.stdin.setRawMode(true);
  const folder = dataFolder(environment);
  const { log, causeOf } = rememberCauses(createLog(environment, path.join(folder, LOG_FILE)));
  const { notify, notices } = createOwnerNotices();
  const place = storeLocation(values, environment, 'coder');
  const here = await onlyWorkspaceFolder('the terminal UI', values.workspace);
  const theme = await chosenTheme(values.theme, environment);
  const { startTui } = await import('../../tui/index.ts');
  await using open = new AsyncDisposableStack();
  open.defer(() => log.flush());
  const isNew = values.resume === undefined && !values.continue;
  const chosen = isNew ? undefined : await choose(settings, here, place, theme);
  const root = chosen?.root ?? here;

  let opened: OpenedLive | undefined;
  async function start(): Promise<LiveSession> {
    // The first frame is drawn before the agent is loaded.
    await new Promise((resolve) => setImmediate(resolve));
    const [live, { openSessions }] = await Promise.all([
      import('../coder/live-session.ts'),
      import('../coder/setup.ts'),
    ]);
    const sessions = await openSessions(place);
    open.defer(() => sessions.close());
    const setup = {
      values,
      environment,
      roots: [root] as const,
      place,
      sessions,
      address,
      terminal: true,
      tls: readTls(),
      publicUrl: proxy,
      trustProxy: values['trust-proxy'],
      log,
      notify,
      resume: chosen?.id,
    };
    opened = await live.openLiveSession(setup);
    for (const text of opened.notes) notify({ kind: 'notice', level: 'info', text });
    await startNotifications(opened);
    setImmediate(() => opened && live.sweepSoon(opened, setup));
    return opened.live.join({ kind: 'terminal' });
  }

  let terminalAlerts: NotifySettings['terminal'];
  let post: ((attention: Attention) => void) | undefined;
  /** Starts the notifications that the settings turn on: in this terminal, and as requests to a URL. */
  async function startNotifications({ links, sessionId }: OpenedLive): Promise<void> {
    const [{ createPoster }, { ownSettings }] = await Promise.all([
      import('../coder/notifications.ts'),
      import('../program/settings.ts'),
    ]);
    const { notify: own = {} } = await ownSettings(environment);
    terminalAlerts = own.terminal;
    const linkFor = (call: ToolCall) => {
      const path = openedRemote?.base === undefined ? undefined : links.pathFor(call);
      return path === undefined ? undefined : `${openedRemote?.base}${path}`;
    };
    post = createPoster({ settings: own, environment, sessionId, linkFor, log });
  }

  let openedRemote: Remote | undefined;
  let remoteAccess: Promise<Remote> | undefined;
  const remote = () => (remoteAccess ??= openRemote());
  async function openRemote(): Promise<Remote> {
    await opening;
    const { Remote: Access } = await import('../coder/remote.ts');
    const isOpen = address !== undefined && !isLoopback(address.host);
    return (openedRemote = new Access({
      opened: opened!,
      environment,
      openHost: isOpen ? address.host : undefined,
      host: remoteHost,
      publicUrl: proxy,
      readTls,
      tls: values.tls,
    }));
  }

  const shell = open.use(personShell(root, environment));
  const opening = start();
  const end = onProcessEnd(log, () => opening.then(() => opened?.live.close()), {
    terminal: true,
    interrupts: !plain,
  });
  const reason = await startTui(terminalSession(opening), {
    plain,
    theme,
    prompt: operands[0],
    get a2aPort() {
      return opened?.port;
    },
    remote: async (words) => (await remote()).run(words),
    remoteAtStart: values.remote,
    alerts: {
      terminal: () => terminalAlerts ?? 'unfocused',
      told: (attention) => post?.(attention),
    },
    history: openHistory(folder),
    editor: personsEditor(environment),
    files: filesIn(root),
    shell,
    checkpoints: checkpointList(
      async () => (await opening, opened!.coder.workspaces),
      root,
      () => opened?.sessionId,
    ),
    environment,
    causeOf,
    notices,
  });
  // Rejects if the session could not be opened.
  await opening;
  if (opened && place.kind === 'sqlite' && (await opened.used())) {
    note(`To resume this session: parley --resume ${opened.sessionId}`);
  }
  await opened?.close();
  return end.code ?? (reason === 'left' ? EXIT.done : EXIT.failed);
}

/**
 * Returns a function that reads the certificate of the flags. The module for this is loaded only if a flag is given,
 * because loading it would delay the first frame.
 */
async function tlsReader(values: Settings['values']): Promise<() => TlsPair | undefined> {
  if (values['tls-cert'] === undefined && values['tls-key'] === undefined) return () => undefined;
  const { readTls } = await import('../program/tls.ts');
  // An error in the files is reported before the screen is drawn.
  readTls(values);
  return () => readTls(values);
}

/**
 * Returns the session that the user named, chose or continues, and the folder in which it works. Returns undefined to
 * start a new session.
 */
async function choose(
  { values: { resume = '', plain, workspace, continue: continues } }: Settings,
  here: string,
  place: StoreLocation,
  theme: string | undefined,
) {
  const [{ pickSession }, { openSessions }, { findSession, folderToResume, recentSessions }] =
    await Promise.all([
      import('../../tui/index.ts'),
      import('../coder/setup.ts'),
      import('../coder/stored-sessions.ts'),
    ]);
  const sessions = await openSessions(place);
  try {
    let id: string | undefined = resume;
    if (resume === '' && !plain && !continues) {
      const found = await recentSessions(sessions);
      if (found.length === 0) {
        throw usageError('there are no conversations yet: start one without --resume');
      }
      id = await pickSession(found, { theme });
      if (id === undefined) return undefined;
    }
    const session = await findSession(sessions, id, here, { onlyTalks: true });
    return { id: session.id, root: await folderToResume(session, workspace, here) };
  } finally {
    await sessions.close();
  }
}
