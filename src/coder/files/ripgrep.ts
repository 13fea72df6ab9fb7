/**
 * Runs ripgrep in a folder that is held on to, and hands over what it prints line by line.
 *
 * It is taken for an index, not for the truth: it opens files by their paths, so a folder that is swapped for a link
 * under its feet may lead it out of the workspace. Whoever shows what it found reads it through the workspace first.
 */
import { spawn } from 'node:child_process';
import { FileError } from './file-error.ts';
import type { PathHandle } from './path-handle.ts';

const TIMEOUT_MS = 30_000;
const MAX_LINE = 64 * 1024;
const MAX_ERRORS = 16 * 1024;

/** Hidden files too, but nothing that is ignored, no links followed, and no configuration of somebody else's. */
const ALWAYS = [
  '--no-config',
  '--color=never',
  '--hidden',
  '--no-require-git',
  '--glob=!.git',
  '--no-messages',
];

export interface Outcome {
  /** Over before its end: `enough`, or no more time. */
  readonly stopped: 'enough' | 'timeout' | undefined;
}

/** Where the program is. */
export async function ripgrepFile(): Promise<string> {
  const { rgPath } = await import('@vscode/ripgrep');
  return rgPath;
}

/** `onLine` returns false when it has enough. */
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
    // On Linux this is the folder itself, by its descriptor, whatever its name leads to by now.
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
    // 1 is for nothing found; a file that could not be read is 2 as well, but without a word.
    if (stopped === undefined && code !== 0 && code !== 1 && errors.trim() !== '') {
      throw new FileError('bad-pattern', errors.trim());
    }
    return { stopped };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

/** Bytes to lines; a line that is too long is left out. */
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
