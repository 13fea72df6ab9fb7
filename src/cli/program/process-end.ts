/** Handles the events that end the process: Ctrl-C, signals, a closed output, and uncaught errors. */
import { format } from 'node:util';
import { reasonOf, systemCode } from '../../base/index.ts';
import { EXIT } from './exit.ts';
import type { ServerLog } from './log.ts';
import { complain } from './terminal.ts';

let respond = (): void => process.exit(EXIT.interrupted);
let leave: (() => void) | undefined;
/** The error of a failed write to standard output. Node resets `process.stdout.errored` before it emits the error. */
let unwritten: Error | undefined;

/** Replaces the action of Ctrl-C. By default, Ctrl-C ends the process. */
export function onInterrupt(what: () => void): void {
  respond = what;
}

/**
 * Replaces the action that is taken when standard output can no longer be written. By default, the process ends. `what`
 * may be called more than once.
 */
export function onOutputGone(what: () => void): void {
  leave = what;
}

/** Starts to handle Ctrl-C and a closed standard output. Called once, when the program starts. */
export function listenForInterrupt(): void {
  process.on('SIGINT', () => respond());
  process.stdout.on('error', (error) => {
    unwritten ??= error;
    const isClosed = systemCode(error) === 'EPIPE';
    // Throwing lets the handler of `onProcessEnd` close the server or restore the screen first.
    if (!isClosed && process.listenerCount('uncaughtException') > 0) throw error;
    if (leave) return leave();
    endIfUnwritten();
    process.exit(EXIT.done);
  });
}

/**
 * Ends the process with an error if a write to standard output has failed, for example because the disk is full. Does
 * nothing if the reader has closed the pipe.
 */
export function endIfUnwritten(): void {
  if (!unwritten || systemCode(unwritten) === 'EPIPE') return;
  complain(
    `cannot write standard output (${reasonOf(unwritten)}), so the output is incomplete: write it to another place`,
  );
  process.exit(EXIT.failed);
}

/** Logs rejected promises that no code handles, and keeps the process running. */
export function logRejections(log: ServerLog): void {
  process.on('unhandledRejection', (error) => {
    log.error({ err: error }, 'unhandled promise rejection');
  });
}

/**
 * Redirects the console output of libraries to the log, because it would disturb the screen, and may contain text from
 * a peer.
 */
function silenceLibraries(log: ServerLog): void {
  for (const name of ['debug', 'info', 'log', 'warn', 'error'] as const) {
    console[name] = (...said: unknown[]) =>
      log.warn({ said: format(...said) }, 'message from a library');
  }
}

interface ProcessEndOptions {
  /**
   * Whether the process controls the terminal screen. If so, it also ends when the terminal is closed, and it prints an
   * uncaught error only when it exits.
   */
  readonly terminal?: boolean;
  /** False if another part of the program handles Ctrl-C. */
  readonly interrupts?: boolean;
}

/**
 * Calls `close` once, at the first signal or uncaught error. With `terminal`, also calls it if standard output can no
 * longer be written. After the call, a SIGTERM or Ctrl-C ends the process immediately. Without `terminal`, a further
 * uncaught error also ends it immediately. If `interrupts` is false, Ctrl-C has no effect here.
 */
export function onProcessEnd(
  log: ServerLog,
  close: (code: number) => unknown,
  { terminal = false, interrupts = true }: ProcessEndOptions = {},
) {
  let code: number | undefined;
  const stop = (wanted: number): void => {
    if (code !== undefined) return;
    code = wanted;
    void close(wanted);
  };
  const stopOrExit = (wanted: number): void => {
    if (code !== undefined) process.exit(EXIT.interrupted);
    stop(wanted);
  };
  process.on('SIGTERM', () => stopOrExit(EXIT.done));
  onInterrupt(() => {
    if (interrupts) stopOrExit(EXIT.interrupted);
  });
  if (terminal) {
    silenceLibraries(log);
    process.on('SIGHUP', () => stop(EXIT.interrupted));
    onOutputGone(() => stop(EXIT.interrupted));
  }
  logRejections(log);
  process.on('uncaughtException', (error) => {
    // The terminal was closed.
    if (terminal && systemCode(error) === 'EIO') return stop(EXIT.interrupted);
    log.error({ err: error }, 'uncaught error; the process ends');
    const tell = (): void => complain(`uncaught error: ${reasonOf(error)}`);
    if (terminal) {
      // The terminal UI restores the screen before the process ends.
      process.once('exit', tell);
      stop(EXIT.failed);
    } else {
      tell();
      stopOrExit(EXIT.failed);
    }
  });
  return {
    /** The exit code, or undefined if the process is not ending yet. */
    get code(): number | undefined {
      return code;
    },
  };
}
