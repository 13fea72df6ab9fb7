/** Runs the commands that a person types after `!`, in their own shell and with their environment. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import type { Shell } from '../../coder/index.ts';
import type { TuiOptions } from '../../tui/index.ts';
import type { Environment } from '../program/flags.ts';

const MAX_MINUTES = 10;

/** Returns the function that runs a command in the folder. Both the output and the time are limited. */
export function personShell(
  cwd: string,
  environment: Environment,
): NonNullable<TuiOptions['shell']> & AsyncDisposable {
  let opened: Promise<Shell> | undefined;

  async function open(): Promise<Shell> {
    const { openShell } = await import('../../coder/index.ts');
    const personal = usableShell(environment['SHELL']);
    return openShell({ cwd, environment: { ...environment }, personal });
  }

  const run: NonNullable<TuiOptions['shell']> = async (command, { signal, onOutput }) => {
    opened ??= open();
    opened.catch(() => (opened = undefined));
    const shell = await opened;
    let recent = '';
    try {
      const { output, code, timedOut } = await shell.run(command, {
        signal,
        timeoutMs: MAX_MINUTES * 60_000,
        onOutput: (text) => onOutput((recent = text)),
      });
      const problem = timedOut ? `stopped after ${MAX_MINUTES} minutes` : undefined;
      return { output, code, problem };
    } catch (error) {
      if (!signal.aborted) throw error;
      return { output: recent, code: null, problem: 'stopped by the person' };
    }
  };
  return Object.assign(run, {
    async [Symbol.asyncDispose]() {
      await (await opened)?.close();
    },
  });
}

/** Returns the person's shell, or `/bin/sh` if $SHELL is not the absolute path of a program. */
function usableShell(shell = ''): string {
  try {
    if (!path.isAbsolute(shell)) return '/bin/sh';
    accessSync(shell, constants.X_OK);
    return shell;
  } catch {
    return '/bin/sh';
  }
}
