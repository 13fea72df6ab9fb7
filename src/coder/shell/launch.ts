/**
 * Starts a program on a pseudo-terminal, or on pipes if the pseudo-terminal module cannot be loaded. In both cases the
 * program is a session leader, so that it can be found and killed together with its child processes.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Receives the output. Must not throw. */
  readonly onData: (text: string) => void;
}

/** A program on pipes. Its standard output and its standard error can be read separately. */
export interface PipedLaunch extends Launch {
  /** The text on standard input. Default: standard input is empty. */
  readonly input?: string;
  /** Receives the standard error. Default: `onData`. Must not throw. */
  readonly onErrorData?: (text: string) => void;
}

export interface Launched {
  readonly pid: number;
  /** Resolves when the program has ended and its output has been read. Never rejects. */
  readonly exited: Promise<Exit>;
  /** Stops reading the output. A program on a pseudo-terminal is killed. */
  close(): void;
}

export interface Exit {
  /** The exit code, or null if a signal ended the program. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** The size of the terminal. It is wide, so that programs wrap few lines. */
const COLUMNS = 160;
const ROWS = 50;
/** How long the output of child processes is read after the program has ended. Applies to programs on pipes. */
const DRAIN_MS = 200;

type Pty = typeof import('@lydell/node-pty');
let pty: Promise<Pty | undefined> | undefined;

/**
 * Loads the pseudo-terminal module. Returns undefined if it cannot be loaded, for example on systems without a prebuilt
 * native module.
 */
function loadPty(): Promise<Pty | undefined> {
  pty ??= import('@lydell/node-pty').catch(() => undefined);
  return pty;
}

/** Returns whether programs get a pseudo-terminal on this system. */
export async function hasTerminal(): Promise<boolean> {
  return (await loadPty()) !== undefined;
}

export async function launch(
  program: Launch,
  load: () => Promise<Pty | undefined> = loadPty,
): Promise<Launched> {
  const module = await load();
  return module ? onTerminal(module, program) : launchOnPipes(program);
}

function onTerminal(module: Pty, { file, args, cwd, environment, onData }: Launch): Launched {
  const terminal = module.spawn(file, [...args], {
    name: environment['TERM'] ?? 'dumb',
    cols: COLUMNS,
    rows: ROWS,
    cwd,
    env: { ...environment },
  });
  terminal.onData(onData);
  const exited = new Promise<Exit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      const name = signal ? signalName(signal) : null;
      resolve({ code: name === null ? exitCode : null, signal: name });
    });
  });
  return { pid: terminal.pid, exited, close: () => terminal.kill('SIGKILL') };
}

function signalName(number: number): string {
  const known = Object.entries(constants.signals).find(([, value]) => value === number);
  return known?.[0] ?? `signal ${number}`;
}

export async function launchOnPipes(program: PipedLaunch): Promise<Launched> {
  const { file, args, cwd, environment, input = '', onData, onErrorData = onData } = program;
  const child = spawn(file, args, { cwd, env: environment, detached: true, stdio: 'pipe' });
  const close = (): void => {
    child.stdout.destroy();
    child.stderr.destroy();
  };
  for (const [stream, listener] of [
    [child.stdout, onData],
    [child.stderr, onErrorData],
  ] as const) {
    stream.setEncoding('utf8');
    stream.on('data', listener);
    stream.on('error', () => {});
  }
  // A program that does not read its input may end before everything is written. This is not an error.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const exited = new Promise<Exit>((resolve) => {
    // Child processes may keep the pipes open forever, so the pipes are closed after a while.
    child.once('exit', () => setTimeout(close, DRAIN_MS).unref());
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  return { pid: child.pid!, exited, close };
}
