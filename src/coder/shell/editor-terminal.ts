/**
 * Runs commands in the terminals of an editor instead of the local shell. The person sees the command in the editor,
 * and may stop it there.
 *
 * As in the local shell, the command is run by bash, its standard input is empty, and it has a timeout. The command
 * inherits the editor's environment, in which known secrets are empty (see environment.ts). After a timeout or a
 * cancellation, the editor is asked to kill the command.
 */
import { pause } from '../../base/index.ts';
import { ToolError } from '../../agent/index.ts';
import {
  EditorError,
  type EditorTerminal,
  type EditorTerminals,
} from '../../live/client/editor/index.ts';
import { terminalEnvironment } from './environment.ts';
import { LIVE_BYTES, liveInterval, type Outcome, type Shell } from './shell.ts';
import { createTranscript, type Transcript } from './transcript.ts';

/** Maximum output that the editor keeps, in bytes. A transcript keeps less text than this. */
const OUTPUT_BYTES = 128 * 1024;
/** Minimum interval between two requests for the output. Each request returns the whole output. */
const POLL_MS = 500;
/** How long to wait for the end of a command that was killed. */
const LAST_WAIT_MS = 2000;
const TRUNCATED = '[… the start of the output was cut …]\n';

/** Returns a shell that runs the command of one call. `cwd` is the root of the workspace. */
export function terminalRunner(
  terminals: EditorTerminals,
  callId: string,
  cwd: string,
): Pick<Shell, 'run'> {
  return {
    async run(command, { signal, timeoutMs, onOutput }) {
      signal.throwIfAborted();
      const began = performance.now();
      const terminal = await terminals
        .create({
          callId,
          command: 'bash',
          args: ['-c', 'exec bash -c "$0" </dev/null', command],
          cwd,
          environment: terminalEnvironment(process.env),
          outputBytes: OUTPUT_BYTES,
        })
        .catch((error: unknown) => {
          if (!(error instanceof EditorError) || error.kind !== 'refused')
            throw unknownOutcome(error);
          const message = `the editor refused to run the command: ${error.message}`;
          throw new ToolError('denied', message, { cause: error });
        });
      const ended = new AbortController();
      const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
      const until = AbortSignal.any(timeout ? [signal, timeout] : [signal]);
      try {
        // The first update makes the editor show the terminal.
        onOutput?.('');
        if (onOutput) void follow(terminal, onOutput, ended.signal);
        const exit = await terminal.exit(until).catch(async (error: unknown) => {
          if (!until.aborted) throw error;
          await terminal.kill();
          signal.throwIfAborted();
          return terminal
            .exit(AbortSignal.timeout(LAST_WAIT_MS))
            .catch(() => ({ code: null, signal: 'SIGKILL' }));
        });
        const timedOut = timeout?.aborted === true;
        const durationMs = Math.round(performance.now() - began);
        const output = (await transcriptOf(terminal)).text();
        return { ...asOutcome(exit), output, durationMs, timedOut };
      } catch (error) {
        signal.throwIfAborted();
        throw unknownOutcome(error);
      } finally {
        ended.abort();
        terminal.release().catch(() => {});
      }
    },
  };
}

/** Reports the output until the command ends. */
async function follow(
  terminal: EditorTerminal,
  onOutput: (recent: string) => void,
  ended: AbortSignal,
): Promise<void> {
  const began = performance.now();
  let last = '';
  try {
    for (;;) {
      const interval = Math.max(POLL_MS, liveInterval(performance.now() - began));
      await pause(interval, ended);
      const recent = (await transcriptOf(terminal)).tail(LIVE_BYTES);
      if (recent !== last && !ended.aborted) onOutput(recent);
      last = recent;
    }
  } catch {
    // The command has ended, or a request to the editor has failed. If the editor is lost, `run` reports the error.
  }
}

async function transcriptOf(terminal: EditorTerminal): Promise<Transcript> {
  const { text, truncated } = await terminal.output();
  const transcript = createTranscript();
  transcript.write(truncated ? TRUNCATED + text : text);
  return transcript;
}

/** Returns the outcome of a command. If the editor reports neither an exit code nor a signal, the signal is unknown. */
function asOutcome({ code, signal }: Pick<Outcome, 'code' | 'signal'>) {
  return { code, signal: code === null ? (signal ?? 'an unknown signal') : signal };
}

/** Returns the error for a command that was started or may have been started. */
function unknownOutcome(error: unknown): unknown {
  if (!(error instanceof EditorError)) return error;
  const why =
    error.kind === 'refused'
      ? `the editor started the command and then failed (${error.message})`
      : 'the editor left or did not answer while the command ran in its terminal';
  return new ToolError(
    'outcome_unknown',
    `${why}, so the outcome is unknown; check what the command has done before you repeat it`,
    { cause: error },
  );
}
