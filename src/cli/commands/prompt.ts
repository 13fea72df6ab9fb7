/**
 * `parley -p`: runs one turn of the coding agent in this process, without a UI. It uses the same handler as
 * `parley serve`, without the network. The task is stored in memory, because the task store allows one writer and a
 * server may be running. By default, the session is stored on disk, with the sessions of the server.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Session, SessionStore } from '../../agent/index.ts';
import { local } from '../../client/index.ts';
import type { OwnerNotice } from '../../live/client/index.ts';
import {
  EXTENSION_URI,
  extensionMetadata,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { createHandler, memoryStore, type Logger } from '../../tasks/index.ts';
import { causeIn, rememberCauses } from '../coder/causes.ts';
import {
  CODER_FLAGS,
  CODER_VARIABLES,
  CONTINUE_AND_RESUME,
  CONTINUE_FLAG,
  SESSION_STORE_FLAG,
} from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { choice, option } from '../program/flags.ts';
import { onInterrupt, onReaderGone } from '../program/process-end.ts';
import { createLog } from '../program/log.ts';
import { createPromptPrinter, FORMATS, type PromptResult } from '../coder/prompt-output.ts';
import { followTurn, isApproval, type TurnOutcome } from '../coder/prompt-turn.ts';
import { withImages } from '../coder/prompt-images.ts';
import { readStandardInput } from '../program/standard-input.ts';
import { storeLocation } from '../program/store-location.ts';
import { complain, note, word } from '../program/terminal.ts';
import { workspaceFolder, workspaceFolders } from '../program/workspace-folder.ts';

const NO_PROMPT = 'the prompt is empty: add one, for example parley -p "list src"';

const FLAGS = {
  prompt: {
    ...option(
      'PROMPT',
      'The prompt. Standard input is appended to it. If the prompt is -, only standard input is read.',
    ),
    short: 'p',
    optional: true,
  },
  output: choice(
    'FORMAT',
    FORMATS,
    'text (the default), json (one object at the end), or stream-json (one object for every event, and one at the end).',
  ),
  continue: {
    ...CONTINUE_FLAG,
    help: 'Continue the last session in this folder, like --resume without an ID.',
  },
  resume: {
    ...option('ID', 'Resume this session. Without an ID, the last session in this folder.'),
    optional: true,
  },
  ...CODER_FLAGS,
  store: SESSION_STORE_FLAG,
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  about:
    'Runs one turn and prints the answer. Tool calls that need an approval are denied, because there is no person to ask. --approval and the policy in settings.json determine which calls need an approval. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a call was denied, 130 interrupted.',
  flags: FLAGS,
  variables: CODER_VARIABLES,
  examples: [
    'parley -p "list src then read README.md"',
    'git diff | parley -p "is this right?" --approval plan',
    'parley -p "create hello.txt with hello" --approval auto-edit --output json',
    'parley -c -p "and now?"',
    'parley -p /help',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  if (values.prompt === undefined) throw usageError(NO_PROMPT);
  const prompt = await promptOf(values.prompt);
  const interrupted = new AbortController();
  const stop = (): void => {
    if (interrupted.signal.aborted) process.exit(EXIT.interrupted);
    interrupted.abort();
  };
  onInterrupt(stop);
  onReaderGone(() => interrupted.abort());
  process.on('SIGTERM', stop);
  process.on('SIGHUP', stop);

  const { openCoder, openSessions, tellNotes } = await import('../coder/setup.ts');
  const place = storeLocation(values, environment, 'coder');
  await using open = new AsyncDisposableStack();
  const sessions = await openSessions(place);
  open.defer(() => sessions.close());
  const { root, resumed } = await whereToWork(values, sessions);
  const { log: logger, causeOf } = rememberCauses(
    environment['PARLEY_LOG_LEVEL'] ? createLog(environment) : QUIET_LOG,
  );
  const coder = await openCoder({
    values,
    environment,
    roots: [root],
    sessions,
    logger,
    flagsOverride: true,
    notify: (notice) => note(noticeLine(notice)),
  });
  open.defer(() => coder.close());
  const handler = createHandler(coder.agent, { store: memoryStore(), logger });
  open.defer(() => handler.close(0));
  tellNotes(coder);
  await coder.sweep();

  const { denialOf } = await import('../coder/denial.ts');
  const printer = createPromptPrinter(values.output ?? 'text');
  const denied = (call: ToolCall): void => {
    if (isApproval(call)) complain(denialOf(call, coder.mode, root, environment));
    else
      complain(
        `nobody could be asked, so this question was not answered: "${word(call.description ?? call.tool_name)}"`,
      );
  };
  const agent = local(handler);
  const contextId = resumed?.id ?? randomUUIDv7();
  if (!resumed) await openOneOff(sessions, contextId, root);
  const metadata = extensionMetadata({ workspace_path: root });
  const content = await withImages(prompt);
  const first = agent.stream(content, { contextId, metadata, extensions: [EXTENSION_URI] });
  const outcome = await followTurn(agent, first, { ...printer, denied }, interrupted.signal);
  printer.end(await resultOf(outcome, sessions, contextId));
  if (process.stderr.isTTY) note(`To continue: parley -p "…" --resume ${contextId}`);
  return conclude(outcome, causeOf, interrupted.signal);
}

/**
 * Returns the folder to work in (`--workspace`, the folder of the resumed session, or the current folder) and the
 * session to resume.
 */
async function whereToWork(
  { workspace, continue: continues, ...values }: Settings['values'],
  sessions: SessionStore,
): Promise<{ readonly root: string; readonly resumed: Session | undefined }> {
  const [here = '', ...others] = await workspaceFolders(workspace);
  if (others.length > 0)
    throw usageError('parley -p works in one folder: use --workspace only once');
  if (continues && values.resume !== undefined) throw usageError(CONTINUE_AND_RESUME);
  const resume = values.resume ?? (continues ? '' : undefined);
  if (resume === undefined) return { root: here, resumed: undefined };
  const { findSession, workspaceOf } = await import('../coder/stored-sessions.ts');
  const resumed = await findSession(sessions, resume, here);
  const before = workspace.length > 0 ? undefined : workspaceOf(resumed);
  const root = before === undefined ? here : await workspaceFolder(before);
  if (root !== here) note(`This session works in ${root}.`);
  return { root, resumed };
}

/** Opens a session for a single turn. The list of conversations does not contain this session until it is continued. */
async function openOneOff(sessions: SessionStore, id: string, root: string): Promise<void> {
  const [{ WORKSPACE_KEY }, { localSession, ONE_OFF_KEY }] = await Promise.all([
    import('../../coder/index.ts'),
    import('../coder/stored-sessions.ts'),
  ]);
  await sessions.open(localSession(id), { [WORKSPACE_KEY]: root, [ONE_OFF_KEY]: true });
}

/** Returns the given prompt, followed by standard input. If `given` is `-` or empty, returns only standard input. */
async function promptOf(given: string): Promise<string> {
  const alone = given === '-' || given === '';
  const piped = await readStandardInput();
  const prompt = [alone ? '' : given, piped].filter((text) => text.trim() !== '').join('\n\n');
  if (prompt === '') throw usageError(NO_PROMPT);
  return prompt;
}

/**
 * The log if PARLEY_LOG_LEVEL is not set. If standard error is a terminal, it prints warnings as notes. The reason for
 * a failure is printed at the end.
 */
const QUIET_LOG: Logger = {
  debug() {},
  info() {},
  warn(fields, message) {
    const why = causeIn(fields);
    if (process.stderr.isTTY) note(why === undefined ? message : `${message}: ${why}`);
  },
  error() {},
};

/** Returns a notice in one line. */
function noticeLine(notice: OwnerNotice): string {
  if (notice.kind === 'notice') return notice.text;
  const seconds = Math.max(0, Math.ceil((notice.retryAt - Date.now()) / 1000));
  return `Retrying in ${seconds} s: ${notice.text}`;
}

async function resultOf(
  { task, text, calls }: TurnOutcome,
  sessions: SessionStore,
  sessionId: string,
): Promise<PromptResult> {
  const { localSession } = await import('../coder/stored-sessions.ts');
  // A turn that failed immediately may have no session.
  const { events = [] } = (await sessions.get(localSession(sessionId))) ?? {};
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (const event of events) {
    // The id of a turn's run starts with the task's id.
    if (!event.usage || !event.runId.startsWith(task.id)) continue;
    usage.inputTokens += event.usage.inputTokens;
    usage.outputTokens += event.usage.outputTokens;
  }
  const { state } = task.status;
  return { sessionId, taskId: task.id, state, text, toolCalls: calls, usage };
}

function conclude(
  { task, text, denied, problem, correlationId = '' }: TurnOutcome,
  causeOf: (correlationId: string) => string | undefined,
  { aborted }: AbortSignal,
): number {
  const { state } = task.status;
  if (aborted && state === 'canceled') return EXIT.interrupted;
  if (state === 'completed') {
    // A slash command failed. The answer contains the reason.
    if (problem !== undefined) return EXIT.failed;
    return denied ? EXIT.denied : EXIT.done;
  }
  if (denied && state === 'canceled') {
    complain('the turn was canceled, because the model kept requesting calls that were denied');
    return EXIT.denied;
  }
  const why = causeOf(correlationId) ?? text;
  complain(`the task ${state === 'failed' ? 'failed' : `was ${state}`}: ${why}`);
  return EXIT.failed;
}
