/**
 * How a program that has the terminal is ended from outside: signals and errors that nobody caught close what is open,
 * so that the screen is put back before the process ends. A second signal does not wait.
 */
import { reasonOf, systemCode } from '../../base/index.ts';
import { EXIT } from './exit.ts';
import { onInterrupt, onReaderGone } from './interrupt.ts';
import type { ServerLog } from './log.ts';
import { complain } from './terminal.ts';

export interface End {
  /** The exit code; undefined as long as nobody has ended it. */
  readonly code: number | undefined;
}

/** `interrupts: false`: Ctrl-C is what somebody else listens to. */
export function untilEnd(
  log: ServerLog,
  close: () => unknown,
  { interrupts }: { readonly interrupts: boolean },
): End {
  let code: number | undefined;
  const stop = (wanted: number): void => {
    if (code !== undefined) return;
    code = wanted;
    void close();
  };
  const signalled = (wanted: number): void => {
    if (code !== undefined) process.exit(EXIT.interrupted);
    stop(wanted);
  };
  process.on('SIGTERM', () => signalled(EXIT.done));
  // The terminal is gone, and tells so in more than one way.
  process.on('SIGHUP', () => stop(EXIT.interrupted));
  onReaderGone(() => stop(EXIT.interrupted));
  onInterrupt(() => {
    if (interrupts) signalled(EXIT.interrupted);
  });
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, 'a rejection was not handled');
  });
  process.on('uncaughtException', (error) => {
    if (systemCode(error) === 'EIO') return stop(EXIT.interrupted);
    log.error({ err: error }, 'an error was not caught; the session ends');
    // Once the screen is put back.
    process.once('exit', () => complain(`an error was not caught: ${reasonOf(error)}`));
    stop(EXIT.failed);
  });
  return {
    get code() {
      return code;
    },
  };
}
