/**
 * run_shell_command: runs a command in the workspace, in the foreground or as a background job (see shell-jobs.ts). If
 * the command fails, the call fails, and the model gets the output and the exit code.
 */
import { type JsonObject, shorten } from '../../base/index.ts';
import * as z from 'zod';
import { ToolError, type ToolContext } from '../../agent/index.ts';
import type { EditorTerminals } from '../../live/client/index.ts';
import { terminalRunner } from '../shell/editor-terminal.ts';
import { MAX_LINE } from '../shell/parse.ts';
import type { Outcome, Shell } from '../shell/shell.ts';
import type { CoderTool } from './tool.ts';
import { defineTool, optionalCount, respond } from './define-tool.ts';

const DEFAULT_TIMEOUT_MS = 2 * 60_000;
const MAX_TIMEOUT_MS = 60 * 60_000;
const DESCRIBED = 120;

/** Returns the schema of the arguments. The description of the timeout contains the default. */
const argumentsWith = (timeoutMs: number) =>
  z.strictObject({
    command: z
      .string()
      .min(1)
      .max(MAX_LINE)
      .refine((text) => !text.includes('\0'), 'a command must not contain NUL')
      .describe('The command line, for bash. It runs in the root of the workspace.'),
    timeout_ms: optionalCount(MAX_TIMEOUT_MS).describe(
      `The timeout in milliseconds. Default: ${timeoutMs}; a background job has no timeout by default.`,
    ),
    background: z
      .boolean()
      .optional()
      .describe('Start the command and return at once, for servers and watchers. See shell_jobs.'),
  });

const DESCRIPTION = `Runs a command line with bash in the workspace and returns its output, exit code and duration. The \
command is not interactive: standard input is empty, and pagers and editors are off. If the output is long, its middle or its \
start is left out. Processes that are still running when the command ends may be killed. To start a \
server, use "background". To read its output or to stop it, use shell_jobs. Most commands need the approval of a person. \
These commands need no approval if they only read the workspace: ls, cat, head, tail, wc, file, stat, du, grep, rg, \
find, git status, log, diff, show, blame, branch --list. The line may then contain only these commands and pipes: no \
redirection, no other operator, no expansion.`;

const SANDBOXED = ` Commands run in a sandbox: there is no network, and only the workspace and /tmp can be written. In \
the workspace, .git and .parley are read-only, so git cannot add, commit or switch branches; ask the user to do it.`;

export interface RunShellCommandOptions {
  readonly shell: Shell;
  /** Whether the shell runs commands in the sandbox. */
  readonly sandboxed?: boolean;
  /**
   * Returns the terminals of the editor that started the turn, or undefined if there are none. Commands in the
   * foreground run in them, except commands that need no approval because they only read.
   */
  readonly terminalsOf?: (context: ToolContext) => EditorTerminals | undefined;
  /** The root of the workspace, which is shown to people. */
  readonly root: string;
  /** The timeout of commands in the foreground without `timeout_ms`. Default: two minutes. */
  readonly timeoutMs?: number | undefined;
}

export function runShellCommandTool(options: RunShellCommandOptions): CoderTool {
  const { shell, root, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  return defineTool({
    name: 'run_shell_command',
    description: options.sandboxed === true ? DESCRIPTION + SANDBOXED : DESCRIPTION,
    input: argumentsWith(timeoutMs),
    effect: 'execute',
    describe({ command, background }) {
      const short = shorten(command.trim().replaceAll(/\s+/g, ' '), DESCRIBED);
      return `Run ${short}${background ? ' in the background' : ''}`;
    },
    preview: ({ command }) => ({ kind: 'execute', command, workingDirectory: root }),
    readOnly: async ({ command, background }, shows) =>
      background ? undefined : shell.readOnly(command, shows),
    async run({ command, timeout_ms, background }, context, _preview, _shows, environment) {
      if (background) {
        context.signal.throwIfAborted();
        const job = await shell.start(command, timeout_ms);
        const note = `The command runs in the background as ${job.id}. Use shell_jobs to read its output or to stop it.`;
        return respond({ job: job.id, note }, note);
      }
      // `environment` is set if the command runs without approval because it only reads. Such a command runs in the
      // local shell, because in the editor's terminal it would inherit the editor's environment.
      const terminals = environment ? undefined : options.terminalsOf?.(context);
      const runner = terminals ? terminalRunner(terminals, context.callId, root) : shell;
      const outcome = await runner.run(command, {
        signal: context.signal,
        timeoutMs: timeout_ms ?? timeoutMs,
        onOutput: (recent) => context.progress(recent),
        environment,
      });
      const response = { output: outcome.output, ...endOf(outcome) };
      const failure = failureOf(outcome, response);
      if (failure) throw failure;
      return respond(response, outcome.output);
    },
  });
}

/** Returns how a command ended, as data for the model. */
export function endOf({ code, signal, durationMs, timedOut }: Outcome): JsonObject {
  return {
    exit_code: code,
    ...(signal !== null && { signal }),
    duration_ms: durationMs,
    ...(timedOut && {
      timed_out: true,
      note: 'The command was killed after the timeout. If it waits for input, put the input into the command. If it needs more time, raise timeout_ms or run it in the background.',
    }),
  };
}

/**
 * Returns the error for a command that failed, or undefined if it succeeded. The first line of the message describes
 * how the command ended. The output follows it.
 */
function failureOf(outcome: Outcome, response: JsonObject): ToolError | undefined {
  const { output, code, signal, timedOut, durationMs } = outcome;
  if (code === 0 && !timedOut) return undefined;
  const message = (end: string) => (output === '' ? end : `${end}\n${output}`);
  if (timedOut) {
    return new ToolError('timeout', message(`timeout: killed after ${durationMs} ms`), {
      response,
    });
  }
  if (code === null) return new ToolError('exit_code', message(`ended by ${signal}`), { response });
  return new ToolError('exit_code', message(`exit code ${code}`), { statusCode: code, response });
}
