/**
 * Changes to files: all of them or none.
 *
 * First every new content is written, complete and on the disk, under a new name beside the old file: whatever can go
 * wrong mostly goes wrong here, where nothing has happened yet. Then each is renamed into its place. If one of those
 * fails, the ones before are put back.
 */
import { randomBytes } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { systemCode } from '../../base/index.ts';
import { basename, dirname, join, relative, sep } from 'node:path';
import { outside, type Access } from './access.ts';
import { toFileError, FileError } from './file-error.ts';
import { sameVersion, type PathHandle } from './path-handle.ts';
import { isInside, protectedName } from './path-rules.ts';

const MODE_BITS = 0o7777;
const READ_BITS = 0o444;
const RUN_BITS = 0o111;

/** A file as it was when it was read. */
export interface Snapshot {
  /** Its true path. */
  readonly path: string;
  readonly bytes: Buffer;
  readonly stats: BigIntStats;
}

/** What becomes of one file. */
export interface Change {
  /** As the caller named it. */
  readonly path: string;
  /** What is replaced or removed; undefined where there must be nothing. */
  readonly before: Snapshot | undefined;
  /** Undefined removes the file. */
  readonly after: Buffer | undefined;
  /** Whether it may be run; undefined leaves that as it is. */
  readonly executable?: boolean | undefined;
}

/** A name in a folder that is held on to. */
interface Place {
  readonly folder: PathHandle;
  readonly name: string;
  readonly shown: string;
  /** Folders that were made for it, the outermost first. */
  readonly made: readonly string[];
}

interface Staged {
  readonly change: Change;
  readonly place: Place;
  /** The name of the complete new file beside the old one; undefined when the file is to be removed. */
  readonly temporary: string | undefined;
}

export interface Writer {
  /** Throws when nothing may be written at this path. Makes nothing. */
  checkWritable(path: string): Promise<void>;
  /** Makes all changes or none, and fails where a file is not as `before` says. */
  apply(changes: readonly Change[]): Promise<void>;
}

/** `own`: folders that nothing is written into. */
export function createWriter(access: Access, own: readonly string[]): Writer {
  const { roots, locate, show, rootOf, openHandle } = access;

  /** By its names, and by whether it is what a protected name leads to. */
  async function refuseProtected(absolute: string): Promise<void> {
    const root = rootOf(absolute);
    if (root === undefined) throw outside(show(absolute));
    const why = protectedName(relative(root, absolute));
    if (why !== undefined) throw new FileError('protected', `${show(absolute)}: ${why}`);
    for (const name of ['.git', join('.parley', 'settings.json')]) {
      const real = await realpath(join(root, name)).catch(() => undefined);
      if (real !== undefined && isInside(real, absolute)) {
        throw new FileError(
          'protected',
          `${show(absolute)} is what ${name} leads to, and tools do not write there`,
        );
      }
    }
    for (const folder of own) {
      const real = await trueName(folder);
      // A workspace inside of it is no part of it.
      if (!isInside(real, absolute) || isInside(real, root)) continue;
      throw new FileError(
        'protected',
        `${show(absolute)}: Parley keeps its own settings and sessions there, so tools do not write there`,
      );
    }
  }

  /** Where a change of this path goes: a link at its end is followed when it leads to a file inside. */
  async function destination(path: string, removes: boolean): Promise<string> {
    const absolute = locate(path);
    const shown = show(absolute);
    if (/[/\\]$/.test(path) || roots.includes(absolute)) {
      throw new FileError('wrong-kind', `${shown} names a folder, not a file`);
    }
    await refuseProtected(absolute);
    try {
      await using held = await openHandle(absolute, shown);
      checkFile(held.stats, shown);
      if (held.path !== absolute) await refuseProtected(held.path);
      if (removes && (await lstat(absolute)).isSymbolicLink()) {
        throw new FileError('wrong-kind', `${shown} is a symbolic link; remove it with the shell`);
      }
      return held.path;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw toFileError(error, shown);
      await refuseDangling(absolute, shown);
      return absolute;
    }
  }

  /** The deepest folder on the way to the path that exists. */
  async function nearest(absolute: string): Promise<PathHandle> {
    try {
      return await openHandle(absolute, show(absolute));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || roots.includes(absolute)) throw error;
      await refuseDangling(absolute, show(absolute));
      return nearest(dirname(absolute));
    }
  }

  /** Opens the folder, and makes what is missing of it step by step, each step from the one before. */
  async function enter(absolute: string, made: string[]): Promise<PathHandle> {
    try {
      return await openHandle(absolute, show(absolute));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
    const root = rootOf(absolute);
    if (root === undefined) throw outside(show(absolute));
    let folder = await openHandle(root, root);
    for (const name of relative(root, absolute).split(sep)) {
      await using last = folder;
      folder = await step(last, name, made);
    }
    return folder;
  }

  async function step(folder: PathHandle, name: string, made: string[]): Promise<PathHandle> {
    const shown = show(join(folder.path, name));
    try {
      return await openHandle(folder.at(name), shown);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
    try {
      await mkdir(folder.at(name));
      made.push(join(folder.path, name));
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
    }
    const next = await openHandle(folder.at(name), shown, true);
    if (next.stats.isDirectory()) return next;
    await next[Symbol.asyncDispose]();
    throw next.stats.isSymbolicLink()
      ? leadsNowhere(shown)
      : new FileError('wrong-kind', `${shown} is not a folder`);
  }

  /** Removes folders that were made in vain, unless somebody has put something in them since. */
  async function removeFolders(made: readonly string[]): Promise<void> {
    for (const path of made.toReversed()) {
      try {
        await using parent = await openHandle(dirname(path), path);
        await rmdir(parent.at(basename(path)));
      } catch {
        return;
      }
    }
  }

  /** Throws unless the place holds what the change was made for. */
  async function checkBefore(place: Place, { before }: Change): Promise<void> {
    const found = await lstat(place.folder.at(place.name), { bigint: true }).catch((error) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const same =
      found === undefined || before === undefined
        ? found === before
        : sameVersion(found, before.stats);
    if (!same) throw changed(place.shown);
    await place.folder.confirm();
  }

  async function stage(change: Change): Promise<Staged> {
    const target = await destination(change.path, change.after === undefined);
    const shown = show(target);
    const made: string[] = [];
    let folder: PathHandle | undefined;
    try {
      folder =
        change.after === undefined
          ? await openHandle(dirname(target), shown)
          : await enter(dirname(target), made);
      if (!folder.stats.isDirectory()) {
        throw new FileError('wrong-kind', `${show(dirname(target))} is not a folder`);
      }
      await refuseProtected(join(folder.path, basename(target)));
      const place = { folder, name: basename(target), shown, made };
      await checkBefore(place, change);
      const temporary =
        change.after === undefined
          ? undefined
          : await writeBeside(folder, change.after, change.before?.stats, change.executable);
      return { change, place, temporary };
    } catch (error) {
      await folder?.[Symbol.asyncDispose]();
      await removeFolders(made);
      throw toFileError(error, shown);
    }
  }

  async function settle({ change, place, temporary }: Staged): Promise<void> {
    try {
      await checkBefore(place, change);
      const target = place.folder.at(place.name);
      await (temporary === undefined ? unlink(target) : rename(place.folder.at(temporary), target));
    } catch (error) {
      throw toFileError(error, place.shown);
    }
  }

  return {
    async checkWritable(path) {
      const target = await destination(path, false);
      try {
        await using folder = await nearest(dirname(target));
        if (!folder.stats.isDirectory()) {
          throw new FileError('wrong-kind', `${show(folder.path)} is not a folder`);
        }
        await refuseProtected(join(folder.path, basename(target)));
      } catch (error) {
        throw toFileError(error, show(target));
      }
    },

    async apply(changes) {
      const staged: Staged[] = [];
      let done = 0;
      try {
        for (const change of changes) staged.push(await stage(change));
        for (const one of staged) {
          await settle(one);
          done += 1;
        }
      } catch (error) {
        // Whatever made the change fail may make this fail too; then the rest is still put back.
        for (const one of staged.slice(0, done).toReversed()) await undo(one).catch(() => {});
        for (const { place, temporary } of staged.slice(done)) {
          if (temporary !== undefined) await unlink(place.folder.at(temporary)).catch(() => {});
        }
        for (const { place } of staged.toReversed()) await removeFolders(place.made);
        throw error;
      } finally {
        for (const { place } of staged) await place.folder[Symbol.asyncDispose]();
      }
    },
  };
}

/** Writes the bytes under a new name in the folder, complete and on the disk, and returns that name. */
async function writeBeside(
  folder: PathHandle,
  bytes: Buffer,
  like: BigIntStats | undefined,
  executable: boolean | undefined,
): Promise<string> {
  const name = `.parley-${randomBytes(8).toString('hex')}.tmp`;
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const mode = executable === true ? 0o777 : 0o666;
  const handle = await open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    await handle.writeFile(bytes);
    if (like !== undefined) {
      const mine = await handle.stat({ bigint: true });
      // Matters to root alone; whoever may not give files away keeps them.
      if (mine.uid !== like.uid || mine.gid !== like.gid) {
        await handle.chown(Number(like.uid), Number(like.gid)).catch(() => {});
      }
      await handle.chmod(modeLike(Number(like.mode) & MODE_BITS, executable));
    }
    // The content before the name: after a crash there is the old file or the new one, never an empty one.
    await handle.datasync();
    return name;
  } catch (error) {
    await unlink(folder.at(name)).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/** Whoever may read a file that can be run may run it. */
function modeLike(mode: number, executable: boolean | undefined): number {
  if (executable === undefined) return mode;
  return executable ? mode | ((mode & READ_BITS) >> 2) : mode & ~RUN_BITS;
}

async function undo({ change: { before }, place: { folder, name } }: Staged): Promise<void> {
  if (before === undefined) return unlink(folder.at(name));
  const temporary = await writeBeside(folder, before.bytes, before.stats, undefined);
  return rename(folder.at(temporary), folder.at(name));
}

/** Where a folder is, or would be. */
async function trueName(folder: string): Promise<string> {
  const parent = dirname(folder);
  const real = await realpath(folder).catch(() => undefined);
  return real ?? (parent === folder ? folder : join(await trueName(parent), basename(folder)));
}

export function checkFile(stats: BigIntStats, shown: string): void {
  if (stats.isFile()) return;
  throw new FileError(
    'wrong-kind',
    stats.isDirectory() ? `${shown} is a folder` : `${shown} is neither a file nor a folder`,
  );
}

/** For a path behind which there was nothing. What somebody has made there since is not a link: it is seen later. */
async function refuseDangling(absolute: string, shown: string): Promise<void> {
  const found = await lstat(absolute).catch(() => undefined);
  if (found?.isSymbolicLink() === true) throw leadsNowhere(shown);
}

function leadsNowhere(shown: string): FileError {
  return new FileError('not-found', `${shown} is a symbolic link that leads nowhere`);
}

export function changed(shown: string): FileError {
  return new FileError(
    'changed',
    `${shown} has changed meanwhile; read it again and redo the change`,
  );
}
