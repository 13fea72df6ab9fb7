/**
 * Applies changes to several files, either all of them or none.
 *
 * First all new content is written to temporary files next to the old files and flushed to the disk. Most errors happen
 * in this step, before any file has changed. Then the temporary files are renamed, and the files that the changes
 * delete are removed. If one of these changes fails, the earlier changes are undone. If an undo fails too, the change
 * of this file remains.
 *
 * If there is an editor, new files and files that were read from the editor are written through the editor, after the
 * same checks. If the editor refuses to write a file, the change fails. An editor cannot set the mode of a file, so
 * files that are moved or whose mode is set are written to the disk.
 */
import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { lstat, mkdir, open, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import { systemCode } from '../../base/index.ts';
import type { EditorFiles } from '../../live/client/editor/index.ts';
import { basename, dirname, join, relative, sep } from 'node:path';
import { outside, type Access } from './access.ts';
import { contentIn, unsavedChanges, writeText, type EditorWriter } from './editor-text.ts';
import { toFileError, FileError } from './file-error.ts';
import { sameVersion, type PathHandle } from './path-handle.ts';
import { isInside, protectedName } from './path-rules.ts';

const MODE_BITS = 0o7777;
const READ_BITS = 0o444;
export const RUN_BITS = 0o111;
/** The mode of a new file without its permission bits. */
const REGULAR_FILE = 0o100000;

/** The content of a file at the time of reading. */
export interface Snapshot {
  /** The real path. */
  readonly path: string;
  readonly bytes: Buffer;
  /** The state of the file on disk. */
  readonly stats: BigIntStats;
  /** Set if `bytes` come from an editor's buffer. `unsaved` is true if the file on disk has other content. */
  readonly buffer?: { readonly unsaved: boolean } | undefined;
}

/** The change of one file. */
export interface Change {
  /** A path inside the workspace, absolute or relative to the first root. */
  readonly path: string;
  /** The old content, or undefined if the file must not exist yet. */
  readonly before: Snapshot | undefined;
  /** The new content, or undefined to remove the file. */
  readonly after: Buffer | undefined;
  /** Whether the file is executable. If undefined, the executable bits are unchanged. */
  readonly executable?: boolean | undefined;
  /** If set, a new file gets the mode and the owner of this file. */
  readonly like?: Snapshot | undefined;
}

/** A name in an open folder. */
interface Place {
  readonly folder: PathHandle;
  readonly name: string;
  readonly shown: string;
  /** The folders that were created for this file, the outermost first. */
  readonly made: readonly string[];
}

interface Staged {
  readonly change: Change;
  readonly place: Place;
  /** The name of the temporary file in the same folder, or undefined if there is none. */
  readonly temporary: string | undefined;
  /** The editor that writes the file, or undefined if it is written to the disk. */
  readonly editor: EditorWriter | undefined;
}

export type Writer = ReturnType<typeof createWriter>;

export interface ApplyOptions {
  readonly editor?: EditorFiles;
  /**
   * The signal is checked before each file is changed. If it is aborted, no further file is changed, and the earlier
   * changes are undone. A write that an editor has begun is not interrupted, even if the editor waits for a person.
   */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Creates a writer. Nothing is written into the folders `own`, except into a workspace that is inside one of them.
 */
export function createWriter(access: Access, own: readonly string[]) {
  const { roots, locate, show, rootOf, openHandle } = access;

  /**
   * Throws if the path has a protected name, is outside the roots, or is in a folder of `own`. Also throws if `.git` or
   * `.parley/settings.json` is a link, and the path is the target of the link or is inside the target.
   */
  async function refuseProtected(absolute: string): Promise<void> {
    const root = rootOf(absolute);
    if (root === undefined) throw outside(show(absolute));
    const refuse = (why: string) => new FileError('protected', show(absolute) + why);
    const why = protectedName(relative(root, absolute));
    if (why !== undefined) throw refuse(`: ${why}`);
    for (const name of ['.git', join('.parley', 'settings.json')]) {
      const real = await realpath(join(root, name)).catch(() => undefined);
      if (real !== undefined && isInside(real, absolute)) {
        throw refuse(` is the target of ${name}, and tools may not write there`);
      }
    }
    for (const folder of own) {
      const real = await realName(folder);
      // If the workspace itself is inside this folder, the files of the workspace are not protected.
      if (!isInside(real, absolute) || isInside(real, root)) continue;
      throw refuse(
        ': tools may not write there, because Parley stores its settings and sessions there',
      );
    }
  }

  /**
   * Returns the real path of the file that a change applies to, or the absolute path if the file does not exist yet. A
   * link at the end of the path is followed if its target is a file inside a root. Throws if the change removes a link.
   */
  async function destination(path: string, removes: boolean): Promise<string> {
    const absolute = locate(path);
    const shown = show(absolute);
    if (/[/\\]$/.test(path) || roots.includes(absolute)) {
      throw new FileError('wrong-kind', `${shown} is a folder, not a file`);
    }
    await refuseProtected(absolute);
    try {
      await using held = await openHandle(absolute, shown);
      checkFile(held.stats, shown);
      if (held.path !== absolute) await refuseProtected(held.path);
      if (removes && (await lstat(absolute)).isSymbolicLink()) {
        throw new FileError(
          'wrong-kind',
          `${shown} is a symbolic link; remove it with a shell command`,
        );
      }
      return held.path;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw toFileError(error, shown);
      await refuseBroken(absolute, shown);
      return absolute;
    }
  }

  /** Opens the folder, or its nearest existing parent if it does not exist. */
  async function nearest(absolute: string): Promise<PathHandle> {
    try {
      return await openHandle(absolute, show(absolute));
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || roots.includes(absolute)) throw error;
      await refuseBroken(absolute, show(absolute));
      return nearest(dirname(absolute));
    }
  }

  /** Opens the folder. Creates missing folders one by one, each from the handle of its parent. */
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
    throw next.stats.isSymbolicLink() ? brokenLink(shown) : notFolder(shown);
  }

  /** Removes folders that were created for a failed change, if they are still empty. */
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

  /** Throws if the file differs from the content that the change is based on. */
  async function checkBefore(place: Place, { before }: Change): Promise<void> {
    const found = await lstat(place.folder.at(place.name), { bigint: true }).catch((error) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const same = found && before ? sameVersion(found, before.stats) : found === before;
    if (!same) throw changed(place.shown);
    await place.folder.confirm();
  }

  async function stage(change: Change, files: EditorFiles | undefined): Promise<Staged> {
    const target = await destination(change.path, change.after === undefined);
    const shown = show(target);
    const editor = writerFor(change, files);
    if (!editor && change.before?.buffer?.unsaved === true) throw unsavedChanges(shown);
    const made: string[] = [];
    let folder: PathHandle | undefined;
    try {
      folder =
        change.after === undefined
          ? await openHandle(dirname(target), shown)
          : await enter(dirname(target), made);
      checkFolder(folder.stats, show(dirname(target)));
      await refuseProtected(join(folder.path, basename(target)));
      const place = { folder, name: basename(target), shown, made };
      await checkBefore(place, change);
      const temporary =
        change.after === undefined || editor
          ? undefined
          : await writeTemporary(
              folder,
              change.after,
              (change.before ?? change.like)?.stats,
              change.executable,
            );
      return { change, place, temporary, editor };
    } catch (error) {
      await folder?.[Symbol.asyncDispose]();
      await removeFolders(made);
      throw toFileError(error, shown);
    }
  }

  async function settle(
    { change, place, temporary, editor }: Staged,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    signal?.throwIfAborted();
    try {
      await checkBefore(place, change);
      if (editor) return await writeIn(editor, place, change, signal);
      const target = place.folder.at(place.name);
      await (temporary === undefined ? unlink(target) : rename(place.folder.at(temporary), target));
    } catch (error) {
      signal?.throwIfAborted();
      throw toFileError(error, place.shown);
    }
  }

  return {
    /** Throws if tools may not write to the path. Creates nothing. */
    async checkWritable(path: string): Promise<void> {
      const target = await destination(path, false);
      try {
        await using folder = await nearest(dirname(target));
        checkFolder(folder.stats, show(folder.path));
        await refuseProtected(join(folder.path, basename(target)));
      } catch (error) {
        throw toFileError(error, show(target));
      }
    },

    /** Applies all changes or none. Throws if a file differs from `before`. */
    async apply(changes: readonly Change[], options: ApplyOptions = {}): Promise<void> {
      const { editor: files, signal } = options;
      const staged: Staged[] = [];
      let done = 0;
      try {
        for (const change of changes) staged.push(await stage(change, files));
        for (const one of staged) {
          await settle(one, signal);
          done += 1;
        }
      } catch (error) {
        // An undo may fail for the same reason as the change. The other changes are still undone.
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

/** Writes the bytes to a temporary file in the folder, flushes it to the disk, and returns its name. */
async function writeTemporary(
  folder: PathHandle,
  bytes: Buffer,
  like: BigIntStats | undefined,
  executable: boolean | undefined,
): Promise<string> {
  const name = `.parley-${randomBytes(8).toString('hex')}.tmp`;
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  // A private file must stay private while it is written.
  const mode = like !== undefined ? 0o600 : executable === true ? 0o777 : 0o666;
  const handle = await open(folder.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    await handle.writeFile(bytes);
    if (like !== undefined) {
      const mine = await handle.stat({ bigint: true });
      // Most users may not change the owner. The file then keeps the current user as its owner.
      if (mine.uid !== like.uid || mine.gid !== like.gid) {
        await handle.chown(Number(like.uid), Number(like.gid)).catch(() => {});
      }
      await handle.chmod(modeLike(Number(like.mode) & MODE_BITS, executable));
    }
    // The file is flushed before the rename. So after a crash, it has the old or the new content and is never empty.
    await handle.datasync();
    return name;
  } catch (error) {
    await unlink(folder.at(name)).catch(() => {});
    throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Returns the mode with the executable bits set or cleared, or unchanged if `executable` is undefined. If the bits are
 * set, everyone who may read the file may also run it.
 */
function modeLike(mode: number, executable: boolean | undefined): number {
  if (executable === undefined) return mode;
  return executable ? mode | ((mode & READ_BITS) >> 2) : mode & ~RUN_BITS;
}

/**
 * Returns the mode of the file before and after the change. A mode is undefined if the file does not exist then. For a
 * new file that is not the target of a move, this is the mode without the user's umask, so the real mode may differ.
 */
export function modesOf({ before, after, executable, like }: Change) {
  const old = before && Number(before.stats.mode);
  if (after === undefined) return { old, next: undefined };
  const model = (before ?? like)?.stats.mode;
  const created = REGULAR_FILE | (executable === true ? 0o755 : 0o644);
  return { old, next: model === undefined ? created : modeLike(Number(model), executable) };
}

async function undo({ change, place: { folder, name }, editor }: Staged): Promise<void> {
  const { before } = change;
  if (before === undefined) return unlink(folder.at(name));
  if (editor) return editor.write(join(folder.path, name), before.bytes.toString());
  const temporary = await writeTemporary(folder, before.bytes, before.stats, undefined);
  return rename(folder.at(temporary), folder.at(name));
}

/**
 * Returns the editor if it writes this file, or else undefined. An editor writes new files that were not moved, and
 * files that were read from it. It cannot remove a file or change its mode.
 */
function writerFor(
  { before, after, executable, like }: Change,
  files: EditorFiles | undefined,
): EditorWriter | undefined {
  if (!files?.write || after === undefined || executable !== undefined) return undefined;
  if (before ? !before.buffer : like) return undefined;
  return { read: (path) => files.read(path), write: (path, text) => files.write!(path, text) };
}

/** Writes the file through the editor. Throws if the editor's buffer has changed since the file was read. */
async function writeIn(
  editor: EditorWriter,
  { folder, name, shown }: Place,
  { before, after = Buffer.alloc(0) }: Change,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = join(folder.path, name);
  const current = before && (await contentIn(editor, path));
  signal?.throwIfAborted();
  if (before && current?.equals(before.bytes) !== true) throw changed(shown);
  await writeText(editor, path, after.toString(), shown);
}

/** Returns the real path of a folder, or the real path that it would have if it existed. */
async function realName(folder: string): Promise<string> {
  const parent = dirname(folder);
  const real = await realpath(folder).catch(() => undefined);
  return real ?? (parent === folder ? folder : join(await realName(parent), basename(folder)));
}

export function checkFile(stats: BigIntStats, shown: string): void {
  if (stats.isFile()) return;
  throw new FileError(
    'wrong-kind',
    stats.isDirectory() ? `${shown} is a folder` : `${shown} is neither a file nor a folder`,
  );
}

function checkFolder(stats: BigIntStats, shown: string): void {
  if (!stats.isDirectory()) throw notFolder(shown);
}

/** Throws if a path that was not found is a broken link. */
async function refuseBroken(absolute: string, shown: string): Promise<void> {
  const found = await lstat(absolute).catch(() => undefined);
  if (found?.isSymbolicLink() === true) throw brokenLink(shown);
}

export function notFolder(shown: string): FileError {
  return new FileError('wrong-kind', `${shown} is not a folder`);
}

function brokenLink(shown: string): FileError {
  return new FileError('not-found', `${shown} is a broken symbolic link`);
}

export function changed(shown: string): FileError {
  return new FileError(
    'changed',
    `${shown} has changed in the meantime; read it again and repeat the change`,
  );
}
