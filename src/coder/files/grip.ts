/**
 * A hold on a file or folder that a change of names cannot loosen.
 *
 * A path that was checked and is then opened again may lead elsewhere by then. On Linux a grip is an open descriptor
 * (O_PATH: it follows links and finds the thing, but opens no device and wakes no pipe). Its true path is asked of the
 * kernel, through /proc/self/fd/N, after the fact; and work goes through the descriptor: /proc/self/fd/N is the thing
 * itself, /proc/self/fd/N/name a name in that very folder. There is no moment in between.
 *
 * Where there is no /proc, the true path is resolved first, and `confirm` resolves it again after the use: what was
 * opened is compared with what was checked, and a write is confirmed between the temporary file and its renaming. A
 * link swapped in and out again within that moment is not noticed there.
 */
import type { BigIntStats } from 'node:fs';
import { constants, existsSync } from 'node:fs';
import { lstat, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FileError } from './file-error.ts';

/** Linux's, on every architecture that Node runs on; Node does not name it. */
const O_PATH = 0o10000000;
/** How often a file may be replaced while we look at it before we give up. */
const ATTEMPTS = 32;
/** The kernel puts it behind the path of what has no name any more. */
const DELETED = ' (deleted)';

export interface Grip extends AsyncDisposable {
  /** Its true path, without links, at the time of the grip. */
  readonly path: string;
  readonly stats: BigIntStats;
  /** The thing itself, for system calls. */
  readonly self: string;
  /** A name in it, for system calls: add O_NOFOLLOW, or use calls that do not follow links. */
  at(name: string): string;
  /** Throws when `self` may have come to mean something else. */
  confirm(): Promise<void>;
}

/** Whether this system can hold on to files as described. */
export const canPin = process.platform === 'linux' && existsSync('/proc/self/fd');

export interface GripOptions {
  /** False: as on a system without /proc. */
  readonly pin?: boolean;
  /** A link at the end of the path is itself what is taken hold of. */
  readonly noFollow?: boolean;
}

/** Takes hold of what the path leads to, links followed. It may be anything, anywhere: look before you use it. */
export function takeGrip(path: string, options: GripOptions = {}): Promise<Grip> {
  return (options.pin ?? canPin) ? pinned(path, options) : resolved(path, options);
}

async function pinned(path: string, { noFollow = false }: GripOptions): Promise<Grip> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const handle = await open(path, O_PATH | (noFollow ? constants.O_NOFOLLOW : 0));
    try {
      const self = `/proc/self/fd/${handle.fd}`;
      const real = await readlink(self);
      const stats = await handle.stat({ bigint: true });
      // Somebody put another file in its place just now: that one is wanted.
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
  throw new FileError('changed', 'the file is being replaced all the time; try again later');
}

async function resolved(path: string, { noFollow = false }: GripOptions): Promise<Grip> {
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
        throw new FileError('changed', `${real} was replaced meanwhile; try again`);
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

/** The same file with, as far as the system can tell, the same content. */
export function sameVersion(a: BigIntStats, b: BigIntStats): boolean {
  return sameFile(a, b) && a.size === b.size && a.mtimeNs === b.mtimeNs && a.ctimeNs === b.ctimeNs;
}
