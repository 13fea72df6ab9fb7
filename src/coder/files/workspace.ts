/**
 * The folders that the coding agent works in, and the only way in which its tools reach files.
 *
 * A path from a model or a peer is relative to the first root, or absolute inside one of them. `..` is taken out of it
 * by its letters alone, before any link is followed; then links are followed, and where they really lead must be
 * inside a root too, also when somebody swaps a link in at the worst moment (files/path-handle.ts says how).
 *
 * - Only files and folders are touched: devices, pipes and sockets are refused, and so is all of /proc, /sys and /dev.
 * - A file is replaced by renaming a complete one into its place: readers see the old one or the new one. Its mode
 *   stays. A link at the end of the path is followed when it leads to a file inside; it stays a link.
 * - `.git`, `.parley/settings.json` and the folders of our own settings and data can be read and not be written, by
 *   whatever name they are reached.
 * - A hard link cannot be told from a file. Reading one shows what it shares with a file outside; writing never
 *   changes that file, because the new content is a new file. Likewise what is mounted inside a root is inside.
 */
import type { BigIntStats } from 'node:fs';
import { constants } from 'node:fs';
import { systemCode } from '../../base/index.ts';
import { open, type FileHandle } from 'node:fs/promises';
import { openAccess } from './access.ts';
import { toFileError, FileError } from './file-error.ts';
import { canPin, sameFile, type PathHandle } from './path-handle.ts';
import { inTurn } from './queue.ts';
import { changed, checkFile, createWriter, type Snapshot, type Writer } from './write.ts';

export type { PathHandle } from './path-handle.ts';
export type { Change, Snapshot } from './write.ts';

export interface OpenFile extends AsyncDisposable {
  /** Its true path. */
  readonly path: string;
  readonly stats: BigIntStats;
  readonly handle: FileHandle;
}

export interface Workspace extends Writer {
  /** True paths. Relative paths begin at the first. */
  readonly roots: readonly string[];
  /** The absolute path that is meant, by its letters alone: the disk is not asked. Throws when it is outside. */
  locate(path: string): string;
  /** The path as people and models should see it: relative to the first root where it is below it. */
  show(path: string): string;
  /** The true path of what is there; undefined when nothing is. */
  truePath(path: string): Promise<string | undefined>;
  openFile(path: string): Promise<OpenFile>;
  openFolder(path: string): Promise<PathHandle>;
  /** The whole file; undefined when there is none. */
  read(path: string, maxBytes: number): Promise<Snapshot | undefined>;
  /** Does the work while nobody else in this process does so with any of these files. */
  exclusively<T>(paths: readonly string[], work: () => Promise<T>): Promise<T>;
}

export interface WorkspaceOptions {
  /** False: as on a system without /proc. */
  readonly pin?: boolean;
  /** Where our own settings and data are; absolute. */
  readonly own?: readonly string[];
}

/** Opens a workspace of these folders; they must exist. */
export async function openWorkspace(
  folders: readonly string[],
  { pin = canPin, own = [] }: WorkspaceOptions = {},
): Promise<Workspace> {
  const access = await openAccess(folders, pin);
  const { roots, locate, show, openHandle } = access;

  async function openFile(path: string): Promise<OpenFile> {
    const absolute = locate(path);
    const shown = show(absolute);
    let handle: FileHandle | undefined;
    try {
      await using held = await openHandle(absolute, shown);
      checkFile(held.stats, shown);
      const opened = await open(held.self, constants.O_RDONLY | constants.O_NONBLOCK);
      handle = opened;
      const stats = await opened.stat({ bigint: true });
      if (!sameFile(stats, held.stats)) throw changed(shown);
      return {
        path: held.path,
        stats,
        handle: opened,
        [Symbol.asyncDispose]: () => opened.close(),
      };
    } catch (error) {
      await handle?.close();
      throw toFileError(error, shown);
    }
  }

  async function truePath(path: string): Promise<string | undefined> {
    const absolute = locate(path);
    try {
      await using held = await openHandle(absolute, show(absolute));
      return held.path;
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw toFileError(error, show(absolute));
    }
  }

  return {
    roots,
    locate,
    show,
    truePath,
    openFile,
    ...createWriter(access, own),

    async openFolder(path) {
      const absolute = locate(path);
      try {
        const held = await openHandle(absolute, show(absolute));
        if (held.stats.isDirectory()) return held;
        await held[Symbol.asyncDispose]();
        throw new FileError('wrong-kind', `${show(absolute)} is not a folder`);
      } catch (error) {
        throw toFileError(error, show(absolute));
      }
    },

    async read(path, maxBytes) {
      let file: OpenFile;
      try {
        file = await openFile(path);
      } catch (error) {
        if (error instanceof FileError && error.code === 'not-found') return undefined;
        throw error;
      }
      await using opened = file;
      if (opened.stats.size > BigInt(maxBytes)) {
        throw new FileError(
          'too-large',
          `${show(opened.path)} has ${opened.stats.size} bytes, and at most ${maxBytes} are taken; use the shell`,
        );
      }
      const bytes = await opened.handle.readFile();
      return { path: opened.path, bytes, stats: opened.stats };
    },

    async exclusively(paths, work) {
      const keys = await Promise.all(
        paths.map(async (path) => (await truePath(path)) ?? locate(path)),
      );
      return inTurn([...new Set(keys)], work);
    },
  };
}
