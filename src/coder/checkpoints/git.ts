/**
 * Runs git on a separate repository whose work tree is the user's workspace.
 *
 * No file in the workspace and no user configuration may make git run a program. Hooks, the file system monitor, filters
 * and pagers are off. Git reads neither the system's nor the user's configuration, and its environment is built from
 * scratch. Attributes in the work tree cannot change content: the repository's own info/attributes takes precedence and
 * disables all of them.
 */
import { spawn } from 'node:child_process';
import { devNull } from 'node:os';
import path from 'node:path';

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 4096;
const TIMEOUT_MS = 120_000;

/** Git failed. The message is one line with git's own error text. */
export class GitError extends Error {
  override readonly name = 'GitError';
  /** Git is not installed. */
  readonly missing: boolean;
  /** The exit code. */
  readonly code: number | undefined;
  constructor(
    message: string,
    options: {
      readonly missing?: boolean;
      readonly code?: number | null;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause: options.cause });
    this.missing = options.missing ?? false;
    this.code = options.code ?? undefined;
  }
}

export interface Place {
  /** The git directory. */
  readonly repository: string;
  readonly workspace: string;
  /** The index file; by default the repository's own. */
  readonly index?: string;
}

export interface GitOptions {
  readonly input?: string | Buffer;
  readonly signal?: AbortSignal | undefined;
}

const SETTINGS = [
  `core.hooksPath=${devNull}`,
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.fileMode=true',
  'core.quotePath=false',
  `core.excludesFile=${devNull}`,
  `core.attributesFile=${devNull}`,
  'core.longpaths=true',
  'init.defaultBranch=main',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
  'diff.ignoreSubmodules=all',
  'advice.addEmbeddedRepo=false',
].flatMap((setting) => ['-c', setting]);

/** Runs git and returns its output. */
export async function git(
  place: Place,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Buffer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  signal.throwIfAborted();
  const child = spawn('git', [...SETTINGS, ...args], {
    cwd: place.workspace,
    env: environment(place),
    stdio: ['pipe', 'pipe', 'pipe'],
    windowsHide: true,
    signal,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // If git ends before it has read its input, standard error has the reason.
  child.stdin.on('error', () => {});
  child.stdin.end(options.input);

  const output: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_OUTPUT_BYTES) output.push(chunk);
    else child.kill('SIGKILL');
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (errors.length < MAX_ERROR_BYTES) errors += chunk;
  });

  const command = `git ${args[0]}`;
  let code: number | null;
  try {
    code = await ended;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (timeout.aborted) throw new GitError(`${command} timed out`, { cause: error });
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new GitError(missing ? 'git is not installed' : `${command} cannot be run`, {
      missing,
      cause: error,
    });
  }
  if (size > MAX_OUTPUT_BYTES) throw new GitError(`the output of ${command} is too large`, {});
  if (code !== 0) {
    const said = errors.trim().split('\n').at(-1) ?? '';
    throw new GitError(`${command} failed (${code}): ${said.slice(0, 500)}`, { code });
  }
  return Buffer.concat(output);
}

/** Splits the output of git with `-z`. */
export function splitZ(output: Buffer): string[] {
  const text = output.toString('utf8');
  return text === '' ? [] : text.replace(/\0$/, '').split('\0');
}

export function joinZ(items: readonly string[]): string {
  return items.map((item) => `${item}\0`).join('');
}

function environment(place: Place): NodeJS.ProcessEnv {
  // With a relative folder in PATH, a `git` in the workspace could be run.
  const folders = (process.env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder));
  const system = process.env['SystemRoot'];
  return {
    PATH: folders.join(path.delimiter),
    ...(system !== undefined && { SystemRoot: system }),
    HOME: place.repository,
    XDG_CONFIG_HOME: place.repository,
    LC_ALL: 'C',
    GIT_DIR: place.repository,
    GIT_WORK_TREE: place.workspace,
    ...(place.index !== undefined && { GIT_INDEX_FILE: place.index }),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_AUTHOR_NAME: 'Parley',
    GIT_AUTHOR_EMAIL: 'checkpoints@localhost',
    GIT_COMMITTER_NAME: 'Parley',
    GIT_COMMITTER_EMAIL: 'checkpoints@localhost',
  };
}
