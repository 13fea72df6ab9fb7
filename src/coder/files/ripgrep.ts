/**
 * Runs ripgrep in a folder and passes on its output line by line.
 *
 * Its results are only hints. It opens files by path, so a folder that is replaced by a link while it runs may lead it out
 * of the workspace. A caller that shows results must read the files through the workspace first.
 */
import { spawn } from 'node:child_process';
import { FileError } from './file-error.ts';
import type { PathHandle } from './path-handle.ts';

const TIMEOUT_MS = 30_000;
const MAX_LINE = 64 * 1024;
const MAX_ERRORS = 16 * 1024;

/** Includes hidden files, but no ignored files. Follows no links and reads no configuration. */
const ALWAYS = [
  '--no-config',
  '--color=never',
  '--hidden',
  '--no-require-git',
  '--glob=!.git',
  '--no-messages',
];

export interface Outcome {
  /** Why it was stopped early: `onLine` returned false, or the timeout. */
  readonly stopped: 'enough' | 'timeout' | undefined;
}

/** The path of the program. */
export async function ripgrepFile(): Promise<string> {
  const { rgPath } = await import('@vscode/ripgrep');
  return rgPath;
}

/** Runs ripgrep. `onLine` returns false to stop. */
export async function ripgrep(
  folder: PathHandle,
  args: readonly string[],
  signal: AbortSignal,
  onLine: (line: string) => boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<Outcome> {
  signal.throwIfAborted();
  const file = await ripgrepFile();
  let stopped: Outcome['stopped'];
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  const child = spawn(file, [...ALWAYS, ...args], {
    // On Linux this is the folder's descriptor, so a renamed or replaced folder makes no difference.
    cwd: folder.self,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    windowsHide: true,
  });
  const stop = (why?: Outcome['stopped']): void => {
    stopped ??= why;
    child.kill('SIGKILL');
  };
  const onAbort = (): void => stop();
  const timer = setTimeout(() => stop('timeout'), timeoutMs);
  signal.addEventListener('abort', onAbort);
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
    // Exit code 1 means no match. A file that cannot be read gives 2 without a message.
    if (stopped === undefined && code !== 0 && code !== 1 && errors.trim() !== '') {
      throw new FileError('bad-pattern', errors.trim());
    }
    return { stopped };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Splits bytes into lines and skips lines that are too long. */
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
