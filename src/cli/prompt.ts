/**
 * `parley -p`: one turn of the coding agent, in this process and without a UI. The agent is behind the same handler as
 * in `parley serve`; only the network is missing. Tasks are kept in memory, because the store of tasks has one writer
 * and a server may be running; the session is kept on disk, beside the server's.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Session, SessionStore } from '../agent/session.ts';
import { local } from '../client/local.ts';
import { EXTENSION_URI, extensionMetadata, type ToolCall } from '../protocol/development-tool.ts';
import { createHandler, memoryStore, type Logger } from '../server/index.ts';
import { CODER_FLAGS, CODER_VARIABLES } from './coder-flags.ts';
import { defineCommand, type Input } from './command.ts';
import { EXIT, reasonOf, usageError } from './exit.ts';
import { onInterrupt } from './interrupt.ts';
import { createLog } from './log.ts';
import { createPromptPrinter, outputFormat, type PromptResult } from './prompt-output.ts';
import { followTurn, isApproval, type TurnOutcome } from './prompt-turn.ts';
import { readStandardInput } from './standard-input.ts';
import { storePlace } from './store-place.ts';
import { complain, note } from './terminal.ts';
import { workspaceFolders } from './workspace-folder.ts';

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

type Settings = Input<typeof FLAGS>;

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
    throw usageError(
      'there is no terminal UI yet: parley -p "PROMPT" does one turn, parley serve serves the agent, parley --help lists the rest',
    );
  }
  const format = outputFormat(values.output);
  const prompt = await promptOf(values.prompt);
  const interrupted = new AbortController();
  const stop = (): void => {
    if (interrupted.signal.aborted) process.exit(EXIT.interrupted);
    interrupted.abort();
  };
  onInterrupt(stop);
  process.on('SIGTERM', stop);
  process.on('SIGHUP', stop);

  const { openCoder, openSessions, tellNotes } = await import('./coder-setup.ts');
  const { findSession, LOCAL_USER, workspaceOf } = await import('./session-finder.ts');
  const place = await storePlace({ ...values, durability: undefined }, environment, 'coder');
  const sessions = await openSessions(place);
  try {
    const [here = '', ...others] = await workspaceFolders(values.workspace);
    if (others.length > 0) throw usageError('parley -p works in one folder: name one --workspace');
    const resumed =
      values.resume === undefined ? undefined : await findSession(sessions, values.resume, here);
    const root = values.workspace.length > 0 ? here : (workspaceOf(resumed) ?? here);
    if (root !== here) note(`This session works in ${root}.`);

    const problems: string[] = [];
    const logger = environment['PARLEY_LOG_LEVEL'] ? createLog(environment) : quietLog(problems);
    const coder = await openCoder({ values, environment, roots: [root], sessions, logger });
    const handler = createHandler(coder.agent, { store: memoryStore(), logger });
    try {
      if (resumed === undefined) tellNotes(coder);
      await coder.sweep();
      const agent = local(handler);
      const contextId = resumed?.id ?? randomUUIDv7();
      const printer = createPromptPrinter(format);
      const { denialOf } = await import('./denial.ts');
      const first = agent.stream(prompt, {
        contextId,
        metadata: extensionMetadata({ workspace_path: root }),
        extensions: [EXTENSION_URI],
      });
      const listener = {
        ...printer,
        denied: (call: ToolCall) =>
          complain(
            isApproval(call)
              ? denialOf(call, coder.mode, root, environment)
              : `a question went unanswered, because nobody can be asked here: ${call.description ?? call.tool_name}`,
          ),
      };
      const outcome = await followTurn(agent, first, listener, interrupted.signal);
      printer.end(await resultOf(outcome, sessions, { user: LOCAL_USER, id: contextId }));
      if (process.stderr.isTTY) note(`Go on with: parley -p "…" --resume ${contextId}`);
      return conclude(outcome, problems, interrupted.signal);
    } finally {
      await handler.close(0);
      await coder.close();
    }
  } finally {
    await sessions.close();
  }
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
  place: Pick<Session, 'user' | 'id'>,
): Promise<PromptResult> {
  const { APP } = await import('../coder/seat.ts');
  const session = await sessions.get({ app: APP, ...place });
  const usage = { inputTokens: 0, outputTokens: 0 };
  for (const event of session?.events ?? []) {
    // A turn's run is called after its task.
    if (!event.usage || !event.runId.startsWith(task.id)) continue;
    usage.inputTokens += event.usage.inputTokens;
    usage.outputTokens += event.usage.outputTokens;
  }
  const { state } = task.status;
  return { sessionId: place.id, taskId: task.id, state, text, toolCalls: calls, usage };
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
