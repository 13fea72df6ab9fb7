/**
 * Git, on a repository of our own whose work tree is somebody else's folder.
 *
 * Nothing that lies in that folder, and nothing of the user's configuration, may make git run a program: hooks, the
 * file system monitor, filters and pagers are off; git finds neither the system's nor the user's configuration; and
 * its environment is made here from scratch. Attributes in the work tree cannot change bytes either: those of the
 * repository (info/attributes) come first, and they switch everything off.
 */
import { spawn } from 'node:child_process';
import { devNull } from 'node:os';
import path from 'node:path';

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const MAX_COMPLAINT_BYTES = 4096;
const TIMEOUT_MS = 120_000;

/** Git did not do it. The message is one line, git's own words included. */
export class GitError extends Error {
  override readonly name = 'GitError';
  /** There is no git on this machine. */
  readonly missing: boolean;
  /** What it ended with. */
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
  /** Git's own folder. */
  readonly repository: string;
  readonly workspace: string;
  /** Absent: the repository's own. */
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

/** Runs git and returns what it prints. */
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
  // A git that ends before it has read all of its input says why on standard error.
  child.stdin.on('error', () => {});
  child.stdin.end(options.input);

  const output: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_OUTPUT_BYTES) output.push(chunk);
    else child.kill('SIGKILL');
  });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    if (complaint.length < MAX_COMPLAINT_BYTES) complaint += chunk;
  });

  const command = `git ${args[0]}`;
  let code: number | null;
  try {
    code = await ended;
  } catch (error) {
    options.signal?.throwIfAborted();
    if (timeout.aborted) throw new GitError(`${command} took too long`, { cause: error });
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new GitError(missing ? 'git is not installed' : `${command} cannot be run`, {
      missing,
      cause: error,
    });
  }
  if (size > MAX_OUTPUT_BYTES) throw new GitError(`${command} printed too much`, {});
  if (code !== 0) {
    const said = complaint.trim().split('\n').at(-1) ?? '';
    throw new GitError(`${command} failed (${code}): ${said.slice(0, 500)}`, { code });
  }
  return Buffer.concat(output);
}

/** Lists that git prints and reads with `-z`. */
export function splitZ(output: Buffer): string[] {
  const text = output.toString('utf8');
  return text === '' ? [] : text.replace(/\0$/, '').split('\0');
}

export function joinZ(items: readonly string[]): string {
  return items.map((item) => `${item}\0`).join('');
}

function environment(place: Place): NodeJS.ProcessEnv {
  // A relative folder in PATH would be looked for in the workspace, and a `git` in there would be run.
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
