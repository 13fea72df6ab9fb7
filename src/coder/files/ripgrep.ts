/**
 * Runs ripgrep in a folder and passes each line of its output to a function.
 *
 * The results are not trusted. Ripgrep opens files by path, so it may leave the workspace if a folder is replaced by a
 * link while ripgrep runs. Therefore a caller must read the files through the workspace before it shows results.
 */
import { spawn } from 'node:child_process';
import { addAbortListener } from 'node:events';
import { homeFolder, NoHomeError } from '../../base/system/index.ts';
import { FileError } from './file-error.ts';
import type { PathHandle } from './path-handle.ts';

const TIMEOUT_MS = 30_000;
const MAX_LINE = 64 * 1024;
const MAX_ERRORS = 16 * 1024;

/**
 * Options for every run. Hidden files are included, except `.git`. Ignored files are not included, links are not
 * followed, and no configuration file is read.
 */
const ALWAYS = [
  '--no-config',
  '--color=never',
  '--hidden',
  '--no-require-git',
  '--glob=!.git',
  '--no-messages',
];

/** Why ripgrep was stopped early: `onLine` returned false (`enough`), or the time limit was reached (`timeout`). */
type Stopped = 'enough' | 'timeout' | undefined;

/** Returns the path of the ripgrep program. */
export async function ripgrepFile(): Promise<string> {
  const { rgPath } = await import('@vscode/ripgrep');
  return rgPath;
}

/** Returns the home folder, or undefined if it is unknown. Ripgrep reads a person's own ignore file there. */
function home(): string | undefined {
  try {
    return homeFolder();
  } catch (error) {
    if (error instanceof NoHomeError) return undefined;
    throw error;
  }
}

/**
 * Runs ripgrep. If `onLine` returns false, ripgrep is stopped. Returns the reason if ripgrep was stopped early, or
 * undefined if it ran to its end. Rejects with a FileError if ripgrep reports an error, and with the signal's reason if
 * the signal is aborted.
 */
export async function ripgrep(
  folder: PathHandle,
  args: readonly string[],
  signal: AbortSignal,
  onLine: (line: string) => boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<Stopped> {
  signal.throwIfAborted();
  const file = await ripgrepFile();
  let stopped: Stopped;
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(file, [...ALWAYS, ...args], {
    // On Linux this is the folder's descriptor, so it stays valid if the folder is renamed or replaced.
    cwd: folder.self,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: home() },
    windowsHide: true,
  });
  const stop = (why?: Stopped): void => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  using _listening = addAbortListener(signal, () => stop());
  const lines = splitter((line) => {
    if (stopped === undefined && !onLine(line)) stop('enough');
  });
  let errors = '';
  child.stdout.on('data', lines);
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < MAX_ERRORS) errors += text;
  });
  child.on('error', reject);
  child.on('close', resolve);
  try {
    const code = await promise;
    signal.throwIfAborted();
    // Exit code 1 means that there was no match. If a file cannot be read, the exit code is 2, without a message.
    // In both of these cases, the run counts as a success.
    if (stopped === undefined && code !== 0 && code !== 1 && errors.trim() !== '') {
      throw new FileError('bad-pattern', errors.trim());
    }
    return stopped;
  } finally {
    clearTimeout(timer);
  }
}

/** Splits bytes into lines. Skips a line if more than MAX_LINE bytes of it must be buffered. */
function splitter(onLine: (line: string) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let skipping = false;
  return (bytes) => {
    let from = 0;
    for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, from)) {
      if (!skipping) onLine(Buffer.concat([rest, bytes.subarray(from, at)]).toString());
      rest = Buffer.alloc(0);
      skipping = false;
      from = at + 1;
    }
    if (skipping) return;
    rest = Buffer.concat([rest, bytes.subarray(from)]);
    if (rest.length > MAX_LINE) {
      rest = Buffer.alloc(0);
      skipping = true;
    }
  };
}
