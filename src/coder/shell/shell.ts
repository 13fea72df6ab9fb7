/**
 * Runs commands in the workspace, in the foreground and in the background.
 *
 *   await using shell = openShell({ cwd });
 *   const outcome = await shell.run('npm test', { signal, onOutput: (recent) => … });
 *   const job = await shell.start('npm run dev');
 *
 * A command writes to a pseudo-terminal if the system supports it, or else to pipes. Its standard input is empty. When
 * the command ends, the processes that it left running are killed. A background job is killed by `stop`, by its timeout
 * or by `close`. The memory for output is bounded.
 */
import { randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import path from 'node:path';
import { commandEnvironment, MARKER, personEnvironment } from './environment.ts';
import { launch, type Exit } from './launch.ts';
import { endTree } from './process-tree.ts';
import { readOnlyEnvironment, type ReadOnlyLineOptions } from './read-only-line.ts';
import type { Sandbox } from './sandbox.ts';
import { createTranscript, type Transcript } from './transcript.ts';
import { isProgram } from './workspace-path.ts';

export interface ShellOptions {
  /** The root of the workspace. */
  readonly cwd: string;
  readonly sandbox?: Sandbox | undefined;
  /**
   * The environment that commands inherit. Parley's secrets are removed from it, unless `personal` is set. Default: the
   * environment of this process.
   */
  readonly environment?: NodeJS.ProcessEnv;
  /**
   * The path of the shell program for commands that a person types. These commands get the whole environment, with
   * Parley's secrets. By default, commands run in bash, or in sh if there is no bash, without these secrets.
   */
  readonly personal?: string | undefined;
  /** Starts a program. Tests replace this function to run programs without a terminal. */
  readonly launch?: typeof launch;
}

export interface ShellRunOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the last part of the output (at most 8 KB) while the command runs. At first, there are up to eight
   * calls a second. They become rarer the longer the command runs, because listeners may store the output. Must not
   * throw.
   */
  readonly onOutput?: (recent: string) => void;
  /** The environment that `readOnly` returned for this command. Default: the environment of the shell. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
}

export interface Outcome extends Exit {
  readonly output: string;
  readonly durationMs: number;
  readonly timedOut: boolean;
}

export interface Job {
  readonly id: string;
  readonly command: string;
  /** Returns the outcome, or undefined while the job runs. */
  outcome(): Outcome | undefined;
  /** Returns the output since the last call. */
  read(): string;
  /** Kills the job and all processes that it started. */
  stop(): Promise<Outcome>;
}

export type Shell = ReturnType<typeof openShell>;

/** The maximum number of running background jobs. */
export const MAX_JOBS = 16;
/** The maximum number of ended jobs that `jobs` returns. */
const MAX_ENDED_JOBS = 16;
/** The minimum interval between two updates of the output. */
const LIVE_INTERVAL_MS = 125;
/**
 * The minimum interval as a share of the time for which the command has run. A command that runs for ten minutes has at
 * most about 280 updates. A command that runs for an hour has at most about 370 updates.
 */
const LIVE_SHARE = 1 / 50;
export const LIVE_BYTES = 8 * 1024;
/** How long to wait for the end of a command after all its processes were killed. */
const LAST_WAIT_MS = 1000;

/**
 * The outer shell sets up the terminal. Then it is replaced by the shell of the command, with empty standard input. The
 * terminal's output processing is off (-opost), because it makes the output of short lines twelve times slower. An
 * additional descriptor keeps the terminal open. Otherwise the terminal would hang up if the command redirected all of
 * its output (`exec >log 2>&1`).
 */
const PROLOGUE = 'stty -opost 2>/dev/null; exec "$0" -c "$1" </dev/null 8>&1';

interface Execution {
  readonly transcript: Transcript;
  readonly done: Promise<Outcome>;
  stop(): Promise<Outcome>;
}

export function openShell(options: ShellOptions) {
  const start = options.launch ?? launch;
  const inherited = options.environment ?? process.env;
  const { personal } = options;
  // The variables are read for each command, because `hideVariables` may have hidden more variables in the meantime.
  const environment = () =>
    personal ? personEnvironment(inherited) : commandEnvironment(inherited);
  const program = findShell(environment()['PATH'] ?? '');
  const running = new Set<Execution>();
  const starting = new Set<Promise<unknown>>();
  const jobs = new Map<string, Job>();
  /** The ids of the ended jobs that are kept, in the order in which they ended. */
  const ended: string[] = [];
  let lastJob = 0;
  let closed = false;

  async function execute(...call: Parameters<typeof begin>): Promise<Execution> {
    if (closed) throw new Error('the shell is closed');
    const begun = begin(...call);
    starting.add(begun);
    return begun.finally(() => starting.delete(begun));
  }

  async function begin(
    command: string,
    timeoutMs: number | undefined,
    onData: (transcript: Transcript) => void,
    variables: Readonly<Record<string, string>> = environment(),
  ): Promise<Execution> {
    const args = ['-c', PROLOGUE, personal ?? program, command];
    const { done: leave, ...target } = options.sandbox?.(program, args) ?? {
      file: program,
      args,
      done: () => {},
    };
    const mark = randomUUID();
    const transcript = createTranscript();
    const began = performance.now();
    const child = await start({
      ...target,
      cwd: options.cwd,
      environment: { ...variables, [MARKER]: mark },
      onData: (text) => {
        transcript.write(text);
        onData(transcript);
      },
    }).catch((error: unknown) => {
      leave();
      throw error;
    });
    const root = { pid: child.pid, mark: `${MARKER}=${mark}` };
    const given = Promise.withResolvers<Exit>();
    let timedOut = false;
    let ending: Promise<Outcome> | undefined;
    const expire = (): void => {
      timedOut = true;
      void execution.stop();
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);

    async function finish(): Promise<Outcome> {
      const exit = await Promise.race([child.exited, given.promise]);
      clearTimeout(timer);
      const durationMs = Math.round(performance.now() - began);
      await endTree(root);
      leave();
      running.delete(execution);
      return { ...exit, output: transcript.text(), durationMs, timedOut };
    }

    async function end(): Promise<Outcome> {
      await endTree(root);
      const timeout = setTimeout(() => {
        child.close();
        given.resolve({ code: null, signal: 'SIGKILL' });
      }, LAST_WAIT_MS);
      try {
        return await execution.done;
      } finally {
        clearTimeout(timeout);
      }
    }

    const execution: Execution = { transcript, done: finish(), stop: () => (ending ??= end()) };
    running.add(execution);
    return execution;
  }

  /** Runs a command until it ends. If the signal is aborted, kills the command and throws the signal's reason. */
  async function run(command: string, runOptions: ShellRunOptions): Promise<Outcome> {
    const { signal, timeoutMs, onOutput, environment: own } = runOptions;
    signal.throwIfAborted();
    const live = onOutput && liveUpdates(onOutput);
    try {
      const onData = (transcript: Transcript) => live?.touch(transcript);
      const execution = await execute(command, timeoutMs, onData, own);
      using _listening = addAbortListener(signal, () => void execution.stop());
      return await execution.done;
    } finally {
      live?.end();
      signal.throwIfAborted();
    }
  }

  /** Starts a background job. */
  async function startJob(command: string, timeoutMs?: number): Promise<Job> {
    const active = [...jobs.values()].filter((job) => job.outcome() === undefined);
    if (active.length >= MAX_JOBS) {
      throw new Error(`${MAX_JOBS} background jobs are already running; stop one first`);
    }
    const execution = await execute(command, timeoutMs, () => {});
    const { transcript, done } = execution;
    let outcome: Outcome | undefined;
    let seen = 0;
    const job: Job = {
      id: `job-${++lastJob}`,
      command,
      outcome: () => outcome,
      read() {
        const text = transcript.text(seen);
        seen = transcript.length();
        return text;
      },
      stop: () => execution.stop(),
    };
    jobs.set(job.id, job);
    void done.then((result) => {
      outcome = result;
      ended.push(job.id);
      if (ended.length > MAX_ENDED_JOBS) jobs.delete(ended.shift()!);
    });
    return job;
  }

  /** Kills all running commands and jobs. */
  async function close(): Promise<void> {
    closed = true;
    await Promise.allSettled(starting);
    await Promise.all([...running].map((execution) => execution.stop()));
  }

  return {
    run,
    /**
     * Returns the environment in which the command can run without approval, because it only reads files of the
     * workspace for which `shows` returns true. Returns undefined if the command needs approval. See read-only-line.ts.
     */
    readOnly: (command: string, shows: ReadOnlyLineOptions['shows']) =>
      readOnlyEnvironment(command, { root: options.cwd, environment: environment(), shows }),
    start: startJob,
    /** Returns the running jobs and the last jobs that have ended, in the order in which the jobs were started. */
    jobs: () => [...jobs.values()],
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Returns the interval between two updates of a command that has run for this long. */
export function liveInterval(elapsedMs: number): number {
  return Math.max(LIVE_INTERVAL_MS, elapsedMs * LIVE_SHARE);
}

/** Calls `onOutput` with the newest output, at most once per interval. */
function liveUpdates(onOutput: (recent: string) => void) {
  const began = performance.now();
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function touch(transcript: Transcript): void {
    if (timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        last = performance.now();
        onOutput(transcript.tail(LIVE_BYTES));
      },
      Math.max(0, last + liveInterval(last - began) - performance.now()),
    );
  }
  return { touch, end: () => clearTimeout(timer) };
}

/**
 * Returns the path of bash, or of sh if there is no bash. The user's own shell is not used, because it may parse a
 * command differently from the policy (parse.ts).
 */
export function findShell(searchPath: string): string {
  const folders = searchPath.split(path.delimiter).filter((folder) => path.isAbsolute(folder));
  const files = ['bash', 'sh'].flatMap((name) =>
    ['/bin', '/usr/bin', ...folders].map((folder) => path.join(folder, name)),
  );
  const shell = files.find(isProgram);
  if (shell === undefined) throw new Error('no shell found; install bash');
  return shell;
}
