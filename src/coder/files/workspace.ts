/**
 * The folders that the coding agent works in. The tools for files open, read and write files there only through this
 * module. Shell commands do not use it.
 *
 * A path from a model or a client is relative to the first root, or absolute inside one of the roots. First, `..` is
 * resolved in the text of the path. Then links are followed, and the real path must be inside a root too. On Linux, the
 * file that is opened is the one that was checked, even if a link is replaced at the same time. On other systems, most
 * such replacements are detected (see files/path-handle.ts).
 *
 * - Only regular files and folders are used. Devices, pipes and sockets are refused, and so are /proc, /sys and /dev.
 * - A file is replaced by renaming a complete new file, so readers see either the old or the new content. Its mode is
 *   kept. A link at the end of the path is followed if its target is a file inside a root. The link itself stays.
 * - `.git`, `.parley/settings.json` and Parley's own folders for settings and data can be read but not written. This
 *   also applies to links that lead to them, and to names that some file systems treat as equal (see path-rules.ts).
 * - A hard link cannot be distinguished from a file. Reading it returns the shared content. Writing it to the disk
 *   creates a new file, so the content of a file outside the roots does not change. A file system that is mounted
 *   inside a root counts as inside.
 */
import { constants, type BigIntStats } from 'node:fs';
import { systemCode } from '../../base/index.ts';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openAccess, type Access } from './access.ts';
import { toFileError, FileError } from './file-error.ts';
import { canPin, sameFile, type PathHandle } from './path-handle.ts';
import { fileTurns } from './queue.ts';
import type { ByteReader } from './read-lines.ts';
import { MAX_TEXT_BYTES } from './text.ts';
import {
  changed,
  checkFile,
  createWriter,
  notFolder,
  type Snapshot,
  type Writer,
} from './write.ts';

export type { PathHandle } from './path-handle.ts';
export type { Change, Snapshot } from './write.ts';

export interface OpenFile extends AsyncDisposable {
  /** The real path. */
  readonly path: string;
  readonly size: number;
  readonly handle: ByteReader;
}

interface OpenDiskFile extends OpenFile {
  readonly stats: BigIntStats;
  readonly handle: FileHandle;
}

export interface Workspace
  extends Pick<Writer, 'checkWritable'>, Pick<Access, 'roots' | 'locate' | 'show'> {
  /** Returns the real path, or undefined if the path does not exist. */
  realPath(path: string): Promise<string | undefined>;
  /** Returns the real path of the file that a write to this path changes or creates. */
  target(path: string): Promise<string>;
  openFile(path: string): Promise<OpenFile>;
  openFolder(path: string): Promise<PathHandle>;
  /**
   * Returns the whole file, or undefined if it does not exist. Throws if the file is larger than `maxBytes`, by default
   * MAX_TEXT_BYTES.
   */
  read(path: string, maxBytes?: number): Promise<Snapshot | undefined>;
  /**
   * Applies all changes or none. Throws if a file differs from `before`. Returns the paths of the files whose content
   * on disk differs from the new content. This happens if an editor has not saved them, or has reformatted them.
   * Without an editor, the list is empty.
   */
  apply(...change: Parameters<Writer['apply']>): Promise<readonly string[]>;
  /**
   * Runs the work after all earlier work for any of these files. All workspaces of this process share the queue. Other
   * reads and writes are not queued.
   */
  exclusively<T>(paths: readonly string[], work: () => Promise<T>): Promise<T>;
}

export interface WorkspaceOptions {
  /** If false, behaves as on a system without /proc. */
  readonly pin?: boolean;
  /** The absolute paths of Parley's own folders for settings and data. */
  readonly own?: readonly string[];
}

/** Opens a workspace with these folders, which must exist. */
export async function openWorkspace(
  folders: readonly string[],
  { pin = canPin, own = [] }: WorkspaceOptions = {},
): Promise<Workspace> {
  const access = await openAccess(folders, pin);
  const { roots, locate, show, openHandle } = access;
  const writer = createWriter(access, own);

  async function openFile(path: string): Promise<OpenDiskFile> {
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
        size: Number(stats.size),
        handle: opened,
        [Symbol.asyncDispose]: () => opened.close(),
      };
    } catch (error) {
      await handle?.close();
      throw toFileError(error, shown);
    }
  }

  async function realPath(path: string): Promise<string | undefined> {
    const absolute = locate(path);
    try {
      await using held = await openHandle(absolute, show(absolute));
      return held.path;
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw toFileError(error, show(absolute));
    }
  }

  async function target(path: string): Promise<string> {
    const absolute = locate(path);
    const real = await realPath(absolute);
    if (real !== undefined || roots.includes(absolute)) return real ?? absolute;
    return join(await target(dirname(absolute)), basename(absolute));
  }

  return {
    roots,
    locate,
    show,
    realPath,
    target,
    openFile,
    checkWritable: (path) => writer.checkWritable(path),

    async apply(...change) {
      await writer.apply(...change);
      return [];
    },

    async openFolder(path) {
      const absolute = locate(path);
      try {
        const held = await openHandle(absolute, show(absolute));
        if (held.stats.isDirectory()) return held;
        await held[Symbol.asyncDispose]();
        throw notFolder(show(absolute));
      } catch (error) {
        throw toFileError(error, show(absolute));
      }
    },

    async read(path, maxBytes = MAX_TEXT_BYTES) {
      await using opened = await openFile(path).catch((error: unknown) => {
        if (error instanceof FileError && error.code === 'not-found') return undefined;
        throw error;
      });
      if (!opened) return undefined;
      if (opened.stats.size > BigInt(maxBytes)) {
        throw new FileError(
          'too-large',
          `${show(opened.path)} has ${opened.stats.size} bytes, more than the limit of ${maxBytes}; use a shell command`,
        );
      }
      const bytes = await opened.handle.readFile();
      return { path: opened.path, bytes, stats: opened.stats };
    },

    async exclusively(paths, work) {
      return fileTurns.run(await Promise.all(paths.map(target)), work);
    },
  };
}
