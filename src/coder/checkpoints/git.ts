/**
 * Runs git on a separate repository whose work tree is the user's workspace.
 *
 * No file in the workspace and no user configuration may make git run a program. Hooks, the file system monitor,
 * filters and pagers are off. Git reads neither the system's nor the user's configuration, and its environment is built
 * from scratch. Attributes in the work tree cannot change content, because the repository's own info/attributes takes
 * precedence and disables them all.
 */
import { execFile, type ExecFileException } from 'node:child_process';
import { devNull } from 'node:os';
import { absoluteFolders } from '../../base/files/index.ts';

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 120_000;

/**
 * Thrown if git fails or cannot be run. The message is one line. If git has exited with an error code, the message
 * contains the last line of git's error text.
 */
export class GitError extends Error {
  override readonly name = 'GitError';
  /**
   * The exit code, or `missing` if git is not installed or the workspace does not exist. Undefined for any other
   * failure, such as a timeout.
   */
  readonly code: number | 'missing' | undefined;
  constructor(message: string, code: GitError['code'], cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

export interface Place {
  /** The git directory. */
  readonly repository: string;
  readonly workspace: string;
  /** The index file. Default: the repository's own index. */
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

/** Runs git and returns its output. Throws a GitError if git fails, or the signal's reason if the signal is aborted. */
export async function git(
  place: Place,
  args: readonly string[],
  options: GitOptions = {},
): Promise<Buffer> {
  const { signal, input } = options;
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const settings = {
      cwd: place.workspace,
      env: environment(place),
      encoding: 'buffer' as const,
      maxBuffer: MAX_OUTPUT_BYTES,
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL' as const,
      windowsHide: true,
      ...(signal && { signal }),
    };
    const child = execFile('git', [...SETTINGS, ...args], settings, (error, stdout, stderr) => {
      if (error)
        reject(signal?.aborted ? signal.reason : gitError(`git ${args[0]}`, error, stderr));
      else resolve(stdout);
    });
    // Git may end before it has read its input. The write error is then ignored, because git's standard error has the
    // reason.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

function gitError(command: string, cause: ExecFileException, stderr: Buffer): GitError {
  const { code, killed } = cause;
  if (typeof code === 'number') {
    const said = stderr.toString('utf8').trim().split('\n').at(-1) ?? '';
    return new GitError(`${command} failed (${code}): ${said.slice(0, 500)}`, code);
  }
  if (code === 'ENOENT') return new GitError('git is not installed', 'missing', cause);
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') {
    return new GitError(`the output of ${command} is too large`, undefined, cause);
  }
  const why = killed ? 'timed out' : 'cannot be run';
  return new GitError(`${command} ${why}`, undefined, cause);
}

/** Splits the output of a git command with `-z`. */
export function splitZ(output: Buffer): string[] {
  const text = output.toString('utf8');
  return text === '' ? [] : text.replace(/\0$/, '').split('\0');
}

/** Runs git with the names of these files on its standard input. Does nothing if there are no files. */
export async function gitOn(
  place: Place,
  files: readonly string[],
  args: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  if (files.length === 0) return;
  await git(place, [...args, '-z', '--stdin'], { input: joinZ(files), signal });
}

export function joinZ(items: readonly string[]): string {
  return items.map((item) => `${item}\0`).join('');
}

function environment(place: Place): NodeJS.ProcessEnv {
  const system = process.env['SystemRoot'];
  return {
    PATH: absoluteFolders(process.env['PATH']),
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
