/**
 * `parley -p`: runs one turn of the coding agent in this process, without a UI. It uses the same handler as
 * `parley serve`, without the network. The task is stored in memory, because a task store on disk allows only one
 * writer, and a server may be using it. By default, the session is stored on disk, with the sessions of the server.
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
import type { Part } from '../../protocol/index.ts';
import { createHandler, memoryStore, type Logger } from '../../tasks/index.ts';
import { causeIn, rememberCauses } from '../coder/causes.ts';
import {
  CODER_FLAGS,
  CODER_VARIABLES,
  CONTINUE_AND_RESUME,
  CONTINUE_FLAG,
  SESSION_STORE_FLAG,
  WORKSPACE_FLAG,
} from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { choice, option } from '../program/flags.ts';
import { onInterrupt, onOutputGone } from '../program/process-end.ts';
import { createLog } from '../program/log.ts';
import {
  createPromptPrinter,
  FORMATS,
  type PromptResult,
  followTurn,
  isApproval,
  type TurnOutcome,
} from '../coder/prompt-turn.ts';
import { withImages } from '../coder/prompt-images.ts';
import { readStandardInput } from '../program/standard-input.ts';
import { storeLocation } from '../program/store-location.ts';
import { complain, note, word } from '../program/terminal.ts';
import { onlyWorkspaceFolder } from '../program/workspace-folder.ts';

const NO_PROMPT = 'the prompt is empty: add one, for example parley -p "list src"';

const FLAGS = {
  prompt: {
    ...option(
      'PROMPT',
      'The prompt. Standard input is appended to the prompt as plain text: mentions, image paths and commands in standard input have no effect. If the prompt is -, only standard input is sent.',
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
  workspace: WORKSPACE_FLAG,
  store: SESSION_STORE_FLAG,
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  about:
    'Runs one turn and prints the answer. Tool calls that need an approval are denied, because there is no person to ask. --approval and the policy in settings.json determine which calls need an approval. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a call needed an approval and was denied (a call that a rule or plan mode forbids does not count), 130 interrupted.',
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
  const { typed, piped } = await promptOf(values.prompt);
  const interrupted = new AbortController();
  const stop = (): void => {
    if (interrupted.signal.aborted) process.exit(EXIT.interrupted);
    interrupted.abort();
  };
  onInterrupt(stop);
  onOutputGone(() => interrupted.abort());
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
  const { mode, rules } = coder;
  const denied = (call: ToolCall): void => {
    if (isApproval(call)) complain(denialOf(call, { mode, root, rules }, environment));
    else
      complain(
        `there is no person to ask, so this question was not answered: "${word(call.description ?? call.tool_name)}"`,
      );
  };
  const agent = local(handler);
  const contextId = resumed?.id ?? randomUUIDv7();
  if (!resumed) await openOneOff(sessions, contextId, root);
  const metadata = extensionMetadata({ workspace_path: root });
  const content = await contentOf(typed, piped);
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
  const here = await onlyWorkspaceFolder('parley -p', workspace);
  if (continues && values.resume !== undefined) throw usageError(CONTINUE_AND_RESUME);
  const resume = values.resume ?? (continues ? '' : undefined);
  if (resume === undefined) return { root: here, resumed: undefined };
  const { findSession, folderToResume } = await import('../coder/stored-sessions.ts');
  const resumed = await findSession(sessions, resume, here);
  const root = await folderToResume(resumed, workspace, here);
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

/** Returns the given prompt (`typed`) and standard input (`piped`). If `given` is `-`, `typed` is empty. */
async function promptOf(given: string) {
  const piped = await readStandardInput();
  const typed = given === '-' ? '' : given;
  if (`${typed}${piped}`.trim() === '') throw usageError(NO_PROMPT);
  return { typed, piped };
}

/**
 * Returns the content of the message. Only the typed text may name files to read. Standard input may contain text of
 * other people, such as an issue or a log, so it is sent as a quoted part.
 */
async function contentOf(typed: string, piped: string): Promise<readonly Part[]> {
  const parts: Part[] = [];
  if (typed.trim() !== '') {
    const found = await withImages(typed);
    parts.push(...(typeof found === 'string' ? [{ kind: 'text' as const, text: found }] : found));
  }
  if (piped.trim() !== '') {
    const { quotedText } = await import('../../coder/index.ts');
    // Models that get all parts as one text need an empty line between the parts.
    parts.push(quotedText(parts.length === 0 ? piped : `\n\n${piped}`));
  }
  return parts;
}

/**
 * The log if PARLEY_LOG_LEVEL is not set. It prints warnings as notes, but only if standard error is a terminal. Errors
 * are not logged, because `conclude` prints the reason for a failure.
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
