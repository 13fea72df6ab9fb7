/**
 * A handle on a file or folder. On Linux, it stays valid when the path is renamed or replaced by a link.
 *
 * A path may lead to another file after it was checked and before it is opened. Therefore, on Linux a handle is a
 * descriptor. Opening a path with O_PATH follows links, but does not open devices or pipes. The real path of the file
 * is then read from /proc/self/fd/N, so that the caller can check it. All further work uses the descriptor:
 * /proc/self/fd/N is the file itself, and /proc/self/fd/N/name is a name in exactly this folder. So the file cannot be
 * replaced between the check and the use.
 *
 * Without /proc, the real path is resolved first. After the use, `confirm` resolves it again and compares the file with
 * the checked file. A write is confirmed after the temporary file has been written and before it is renamed. A link
 * that is inserted and removed again between these checks is not detected.
 */
import { constants, existsSync, type BigIntStats } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileError } from './file-error.ts';
import { hasProc } from '../../base/system/index.ts';

/** The value of O_PATH on Linux, for every architecture that Node supports. Node does not export it. */
const O_PATH = 0o10000000;
/** Maximum number of attempts to open a file that is being replaced continuously. */
const ATTEMPTS = 32;
/** The kernel appends this to the path of a file that was removed or replaced. */
const DELETED = ' (deleted)';

export interface PathHandle extends AsyncDisposable {
  /** The real path, without links, at the time of opening. */
  readonly path: string;
  readonly stats: BigIntStats;
  /** A path to the file itself, for system calls. */
  readonly self: string;
  /**
   * Returns the path of the entry `name` in this folder, for system calls. Most system calls follow the entry if it is
   * a link, so use O_NOFOLLOW, or check the result.
   */
  at(name: string): string;
  /** Throws if `self` may now lead to another file. Does nothing if the handle is a descriptor. */
  confirm(): Promise<void>;
}

/** Whether this system has O_PATH descriptors and /proc. */
export const canPin = hasProc && existsSync('/proc/self/fd');

export interface PathHandleOptions {
  /** If false, behaves as on a system without /proc. */
  readonly pin?: boolean;
  /** If the path is a link, opens the link itself and not its target. */
  readonly noFollow?: boolean;
}

/**
 * Opens the file or folder at the path. Follows links, unless `noFollow` is set. The result may be of any kind and in
 * any place, so check `path` and `stats` before you use it.
 */
export function openPathHandle(path: string, options: PathHandleOptions = {}): Promise<PathHandle> {
  return (options.pin ?? canPin) ? pinned(path, options) : resolved(path, options);
}

async function pinned(path: string, { noFollow = false }: PathHandleOptions): Promise<PathHandle> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const handle = await open(path, O_PATH | (noFollow ? constants.O_NOFOLLOW : 0));
    try {
      const self = `/proc/self/fd/${handle.fd}`;
      const real = await readlink(self);
      const stats = await handle.stat({ bigint: true });
      // The file has just been replaced, so open the new file.
      if (real.endsWith(DELETED) && !(await isSame(real, stats))) {
        await handle.close();
        continue;
      }
      return {
        path: real,
        stats,
        self,
        at: (name) => `${self}/${name}`,
        confirm: async () => {},
        [Symbol.asyncDispose]: () => handle.close(),
      };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
  throw new FileError('changed', 'the file is being replaced continuously; try again later');
}

async function resolved(
  path: string,
  { noFollow = false }: PathHandleOptions,
): Promise<PathHandle> {
  const real = noFollow
    ? join(await realpath(dirname(path)), basename(path))
    : await realpath(path);
  const stats = await lstat(real, { bigint: true });
  return {
    path: real,
    stats,
    self: real,
    at: (name) => join(real, name),
    async confirm() {
      if ((await realpath(real)) !== real || !(await isSame(real, stats))) {
        throw new FileError('changed', `${real} was replaced in the meantime; try again`);
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function isSame(path: string, stats: BigIntStats): Promise<boolean> {
  try {
    return sameFile(await lstat(path, { bigint: true }), stats);
  } catch {
    return false;
  }
}

export function sameFile(a: BigIntStats, b: BigIntStats): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * Returns whether both are the same file with the same size and the same times. The content is then probably the same
 * too.
 */
export function sameVersion(a: BigIntStats, b: BigIntStats): boolean {
  return sameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}
