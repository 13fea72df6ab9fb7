/**
 * `parley -p`: one turn of the coding agent, in this process and without a UI. The agent is behind the same handler as
 * in `parley serve`; only the network is missing. Tasks are kept in memory, because the store of tasks has one writer
 * and a server may be running; the session is kept on disk, beside the server's.
 */
import { reasonOf } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import type { Session, SessionStore } from '../../agent/index.ts';
import { local } from '../../client/index.ts';
import {
  EXTENSION_URI,
  extensionMetadata,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { createHandler, memoryStore, type Logger } from '../../tasks/index.ts';
import { CODER_FLAGS, CODER_VARIABLES } from '../coder/flags.ts';
import { defineCommand, type CommandInput } from '../program/command.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { onInterrupt, onReaderGone } from '../program/interrupt.ts';
import { createLog } from '../program/log.ts';
import { createPromptPrinter, outputFormat, type PromptResult } from '../coder/prompt-output.ts';
import { followTurn, isApproval, type TurnOutcome } from '../coder/prompt-turn.ts';
import { readStandardInput } from '../program/standard-input.ts';
import { storeLocation } from '../program/store-location.ts';
import { complain, note, word } from '../program/terminal.ts';
import { workspaceFolder, workspaceFolders } from '../program/workspace-folder.ts';

const FLAGS = {
  prompt: {
    type: 'string',
    short: 'p',
    optional: true,
    value: 'PROMPT',
    help: 'What to do. Standard input is appended to it; - is standard input alone.',
  },
  output: {
    type: 'string',
    value: 'FORMAT',
    help: 'text (the default), json: one object at the end, or stream-json: the events too.',
  },
  resume: {
    type: 'string',
    optional: true,
    value: 'ID',
    help: 'Go on with this session, or with the last one in this folder.',
  },
  ...CODER_FLAGS,
  store: {
    type: 'string',
    value: 'S',
    help: 'Where sessions are kept: memory, or beside sqlite:PATH. By default in the data folder.',
  },
} as const;

type Settings = CommandInput<typeof FLAGS>;

export default defineCommand({
  name: '',
  operands: [],
  about:
    'Does one turn and prints the answer. What needs an approval is denied, because nobody can be asked: --approval and the rules of settings.json say what needs none. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something was denied, 130 interrupted.',
  flags: FLAGS,
  variables: CODER_VARIABLES,
  examples: [
    'parley -p "list src then read README.md"',
    'git diff | parley -p "is this right?" --approval plan',
    'parley -p "create hello.txt with hello" --approval auto-edit --output json',
    'parley -p "and now?" --resume',
    'parley -p /help',
  ],
  run,
});

async function run(settings: Settings): Promise<number> {
  const { values, environment } = settings;
  if (values.prompt === undefined) {
    throw usageError('there is nothing to do: say what, as in parley -p "list src"');
  }
  const format = outputFormat(values.output);
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
  const place = await storeLocation({ ...values, durability: undefined }, environment, 'coder');
  await using open = new AsyncDisposableStack();
  const sessions = await openSessions(place);
  open.defer(() => sessions.close());
  const { root, resumed } = await whereToWork(values, sessions);
  const problems: string[] = [];
  const logger = environment['PARLEY_LOG_LEVEL'] ? createLog(environment) : quietLog(problems);
  const setup = { values, environment, roots: [root], sessions, logger, flagsWin: true };
  const coder = await openCoder(setup);
  open.defer(() => coder.close());
  const handler = createHandler(coder.agent, { store: memoryStore(), logger });
  open.defer(() => handler.close(0));
  tellNotes(coder);
  await coder.sweep();

  const { denialOf } = await import('../coder/denial.ts');
  const printer = createPromptPrinter(format);
  const denied = (call: ToolCall): void => {
    if (isApproval(call)) complain(denialOf(call, coder.mode, root, environment));
    else complain(`nobody can be asked here, so this went unanswered: ${word(nameOf(call))}`);
  };
  const agent = local(handler);
  const contextId = resumed?.id ?? randomUUIDv7();
  const metadata = extensionMetadata({ workspace_path: root });
  const first = agent.stream(prompt, { contextId, metadata, extensions: [EXTENSION_URI] });
  const outcome = await followTurn(agent, first, { ...printer, denied }, interrupted.signal);
  printer.end(await resultOf(outcome, sessions, contextId));
  if (process.stderr.isTTY) note(`To go on: parley -p "…" --resume ${contextId}`);
  return conclude(outcome, problems, interrupted.signal);
}

/** In the folder that is named; else where the session that is taken up has worked; else here. */
async function whereToWork(
  { workspace, resume }: Settings['values'],
  sessions: SessionStore,
): Promise<{ readonly root: string; readonly resumed: Session | undefined }> {
  const [here = '', ...others] = await workspaceFolders(workspace);
  if (others.length > 0) throw usageError('parley -p works in one folder: name one --workspace');
  if (resume === undefined) return { root: here, resumed: undefined };
  const { findSession, workspaceOf } = await import('../coder/session-finder.ts');
  const resumed = await findSession(sessions, resume, here);
  const before = workspace.length > 0 ? undefined : workspaceOf(resumed);
  const root = before === undefined ? here : await workspaceFolder(before);
  if (root !== here) note(`This session works in ${root}.`);
  return { root, resumed };
}

function nameOf({ description, tool_name }: ToolCall): string {
  return description ?? tool_name;
}

/** The prompt and standard input, one below the other. */
async function promptOf(given: string): Promise<string> {
  const alone = given === '-' || given === '';
  const piped = await readStandardInput();
  const prompt = [alone ? '' : given, piped].filter((text) => text.trim() !== '').join('\n\n');
  if (prompt === '') {
    throw usageError('there is nothing to do: say what, as in parley -p "list src"');
  }
  return prompt;
}

/** Nobody wants JSON lines beside an answer. What went wrong is said at the end. */
function quietLog(problems: string[]): Logger {
  const said = (fields: object): string | undefined => {
    const problem: unknown = Reflect.get(fields, 'problem');
    const error: unknown = Reflect.get(fields, 'err');
    if (typeof problem === 'string') return problem;
    return error === undefined ? undefined : reasonOf(error);
  };
  return {
    debug() {},
    info() {},
    warn(fields, message) {
      const why = said(fields);
      if (process.stderr.isTTY) note(why === undefined ? message : `${message}: ${why}`);
    },
    error(fields, message) {
      problems.push(said(fields) ?? message);
    },
  };
}

async function resultOf(
  { task, text, calls }: TurnOutcome,
  sessions: SessionStore,
  sessionId: string,
): Promise<PromptResult> {
  const { localSession } = await import('../coder/session-finder.ts');
  // A turn that failed at once may not have got that far.
  const { events = [] } = (await sessions.get(localSession(sessionId))) ?? {};
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (const event of events) {
    // A turn's run is called after its task.
    if (!event.usage || !event.runId.startsWith(task.id)) continue;
    usage.inputTokens += event.usage.inputTokens;
    usage.outputTokens += event.usage.outputTokens;
  }
  const { state } = task.status;
  return { sessionId, taskId: task.id, state, text, toolCalls: calls, usage };
}

function conclude(
  { task, text, denied, problem }: TurnOutcome,
  problems: readonly string[],
  { aborted }: AbortSignal,
): number {
  const { state } = task.status;
  if (aborted && state === 'canceled') return EXIT.interrupted;
  if (state === 'completed') {
    // A command that could not do what it was told; its answer says why.
    if (problem !== undefined) return EXIT.failed;
    return denied ? EXIT.denied : EXIT.done;
  }
  if (denied && state === 'canceled') {
    complain('the model asked again and again for what it was denied: the turn was ended');
    return EXIT.denied;
  }
  const [why] = problems;
  complain(`the task ${state === 'failed' ? 'failed' : `was ${state}`}: ${why ?? text}`);
  return EXIT.failed;
}
