/**
 * The differences between operating systems. Other modules use this module and do not check the platform themselves
 * (test/rules/platform.test.ts). docs/platforms.md lists what was tested on which system.
 */
import { homedir } from 'node:os';
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

/** Returns the folder in which programs keep their data. */
export function dataHome(environment: Environment): string {
  switch (SYSTEM) {
    case 'darwin':
      return path.join(homedir(), 'Library', 'Application Support');
    case 'win32':
      return environment['LOCALAPPDATA'] || path.join(homedir(), 'AppData', 'Local');
    default: {
      const data = environment['XDG_DATA_HOME'];
      // The XDG specification requires that relative paths are ignored.
      return data !== undefined && path.isAbsolute(data)
        ? data
        : path.join(homedir(), '.local', 'share');
    }
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
