/**
 * The differences between operating systems. Other modules use this module and do not check the platform themselves
 * (test/rules/platform.test.ts). docs/platforms.md lists what was tested on which system.
 */
import { homedir, userInfo } from 'node:os';
import path from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Node's name for the operating system. */
export const SYSTEM: NodeJS.Platform = process.platform;

export const isWindows = SYSTEM === 'win32';

/** Whether processes, descriptors and memory can be found in /proc. Only Linux has all of them there. */
export const hasProc = SYSTEM === 'linux';

/** Whether the operating system supports bubblewrap. It may still not be installed. */
export const hasSandbox = SYSTEM === 'linux';

/** Whether files have permission bits, and processes have a limit of open files. Windows has neither. */
export const isUnix = !isWindows;

/**
 * The search path for programs if PATH contains no absolute folder. On Unix, it must not be empty, because an empty
 * search path means the current folder there.
 */
export const DEFAULT_SEARCH_PATH = isWindows ? '' : '/usr/bin:/bin';

/** Thrown if the user's home folder is unknown. */
export class NoHomeError extends Error {
  override readonly name = 'NoHomeError';
}

/**
 * Returns the user's home folder, which is always an absolute path. An empty or relative path in HOME or USERPROFILE is
 * ignored. With such a path, the current folder, for example a cloned repository, would count as the user's home.
 */
export function homeFolder(): string {
  const folder = absolute(known(homedir)) ?? absolute(known(() => userInfo().homedir));
  if (folder !== undefined) return folder;
  const variable = isWindows ? 'USERPROFILE' : 'HOME';
  throw new NoHomeError(`the home folder is unknown: set ${variable} to an absolute path`);
}

/**
 * Returns the result of `read`. Returns undefined if `read` throws, which means that the system does not know the user.
 */
function known<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function absolute(folder: string | undefined): string | undefined {
  return folder !== undefined && path.isAbsolute(folder) ? folder : undefined;
}

/** Returns the folder in which programs keep their data. */
export function dataHome(environment: Environment): string {
  switch (SYSTEM) {
    case 'darwin':
      return path.join(homeFolder(), 'Library', 'Application Support');
    case 'win32':
      return absolute(environment['LOCALAPPDATA']) ?? path.join(homeFolder(), 'AppData', 'Local');
    default:
      // The XDG specification requires that relative paths are ignored.
      return absolute(environment['XDG_DATA_HOME']) ?? path.join(homeFolder(), '.local', 'share');
  }
}

/** Returns the program that opens a URL in the default browser, with its arguments. No shell is involved. */
export function browserCommand(url: string): readonly [program: string, ...args: string[]] {
  switch (SYSTEM) {
    case 'darwin':
      return ['open', url];
    case 'win32':
      return ['rundll32', 'url.dll,FileProtocolHandler', url];
    default:
      return ['xdg-open', url];
  }
}
