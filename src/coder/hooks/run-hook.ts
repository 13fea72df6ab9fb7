/**
 * Runs the command of a hook. The command gets JSON on standard input. Its exit code is the decision:
 *
 *   0    go on
 *   2    refuse. The standard error is the reason
 *   any other code, a timeout, too much output, or a command that cannot be started: a failure of the hook
 *
 * A hook has the environment of the agent's commands, without Parley's secrets. When the command ends, the processes
 * that it left running are killed.
 */
import { randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { cutText, reasonOf, type JsonObject } from '../../base/index.ts';
import { cleaned } from '../shell/clean-output.ts';
import { commandEnvironment, MARKER } from '../shell/environment.ts';
import { launchOnPipes, type Exit } from '../shell/launch.ts';
import { endTree } from '../shell/process-tree.ts';
import type { Hook } from '../settings/schema.ts';
import type { Sandbox } from '../shell/sandbox.ts';
import { findShell } from '../shell/shell.ts';

export type HookOutcome =
  | { readonly kind: 'go-on' }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The hook made no decision. `problem` is for the person who runs the program. */
  | { readonly kind: 'failed'; readonly problem: string };

export interface HookPlace {
  /** The root of the workspace. */
  readonly cwd: string;
  readonly sandbox?: Sandbox | undefined;
  /** Default: the environment of this process. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** The exit code with which a hook refuses. */
const REFUSED = 2;
const TIMEOUT_MS = 60_000;
/** Maximum number of characters that a hook may write. If it writes more, it is stopped, and the hook has failed. */
const MAX_OUTPUT = 1024 * 1024;
/** Maximum length of a reason. */
const MAX_REASON = 4096;
/** How long the processes of a hook may take to end before they are killed. */
const GRACE_MS = 500;

export async function runHook(
  { command, timeoutMs = TIMEOUT_MS }: Pick<Hook, 'command' | 'timeoutMs'>,
  input: JsonObject,
  { cwd, sandbox, environment = process.env }: HookPlace,
  signal: AbortSignal,
): Promise<HookOutcome> {
  signal.throwIfAborted();
  const variables = commandEnvironment(environment);
  const mark = randomUUID();
  const stopped = Promise.withResolvers<string>();
  let written = 0;
  let errors = '';
  const count = (text: string): void => {
    written += text.length;
    if (written > MAX_OUTPUT) stopped.resolve('it wrote more than 1 MB');
  };
  let leave = (): void => {};
  let child: Awaited<ReturnType<typeof launchOnPipes>>;
  try {
    const shell = findShell(variables['PATH'] ?? '');
    const args = ['-c', command];
    const target = sandbox?.(shell, args) ?? { file: shell, args, done: () => {} };
    leave = target.done;
    child = await launchOnPipes({
      file: target.file,
      args: target.args,
      cwd,
      environment: { ...variables, [MARKER]: mark },
      input: JSON.stringify(input),
      onData: count,
      onErrorData(text) {
        count(text);
        if (errors.length < MAX_REASON * 2) errors += text.slice(0, MAX_REASON * 2);
      },
    });
  } catch (error) {
    leave();
    return { kind: 'failed', problem: `it cannot be started: ${reasonOf(error)}` };
  }
  const timer = setTimeout(() => stopped.resolve(`it took longer than ${timeoutMs} ms`), timeoutMs);
  using _listening = addAbortListener(signal, () => stopped.resolve('stopped'));
  try {
    const end: Exit | string = await Promise.race([child.exited, stopped.promise]);
    await endTree({ pid: child.pid, mark: `${MARKER}=${mark}` }, GRACE_MS);
    signal.throwIfAborted();
    return outcomeOf(end, cutText(cleaned(errors).trim(), MAX_REASON));
  } finally {
    clearTimeout(timer);
    child.close();
    leave();
  }
}

function outcomeOf(end: Exit | string, errors: string): HookOutcome {
  if (typeof end === 'string') return { kind: 'failed', problem: end };
  if (end.code === 0) return { kind: 'go-on' };
  if (end.code === REFUSED) return { kind: 'refused', reason: errors || 'no reason given' };
  const how = end.code === null ? `it was ended by ${end.signal}` : `exit code ${end.code}`;
  return { kind: 'failed', problem: errors === '' ? how : `${how}: ${errors}` };
}
