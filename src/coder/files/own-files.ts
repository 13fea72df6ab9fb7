/**
 * The Markdown files that extend the agent: commands, helpers and skills. The user's files are in a subfolder of the
 * configuration folder. The files of a workspace are in a subfolder of `.parley`, and are used only if the workspace is
 * trusted. A file of the workspace replaces the user's file with the same name.
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { reasonOf, systemCode, type MaybePromise } from '../../base/index.ts';
import { FileError } from './file-error.ts';
import { readBounded } from './read-bounded.ts';

const MAX_FILE_BYTES = 64 * 1024;
/** Maximum number of files and folders that are looked at, in a folder and its subfolders together. */
const MAX_ENTRIES = 1000;
/** The names that files (without the extension), folders and skills may have. */
export const OWN_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The folders with these files, in the configuration folder and in `.parley` of a workspace. */
export const OWN_FOLDERS = ['commands', 'helpers', 'skills'] as const;
export type OwnFolder = (typeof OWN_FOLDERS)[number];

/** The configuration folder and the workspace from which the files are read. */
export interface OwnPlace {
  readonly configFolder: string;
  readonly workspace: string;
  /** Whether the user trusts the workspace. */
  readonly trusted: boolean;
}

export interface OwnFile {
  /** The names of the folders and of the file, without the extension. With `only`, only the names of the folders. */
  readonly names: readonly string[];
  readonly source: 'user' | 'workspace';
  /** The path where the file was found. It may contain links. */
  readonly file: string;
  /** The real path of the file, without links. */
  readonly path: string;
  readonly text: string;
}

export interface OwnFilesOptions {
  readonly folder: OwnFolder;
  /** The word for such a file in messages, for example `command`. */
  readonly what: string;
  /** The number of levels of folders that are searched. */
  readonly depth: number;
  /**
   * If set, only files with this name are read, for example `SKILL.md`, and each file gets the name of its folder. By
   * default, all Markdown files are read.
   */
  readonly only?: string;
  /** Maximum number of files that are used. */
  readonly max: number;
}

export function workspaceOwnFolder(workspace: string, folder: OwnFolder): string {
  return path.join(workspace, '.parley', folder);
}

/**
 * Reads all files and converts each of them with `parse`. Returns the results in `found`. The key of a result is the
 * file's `names`, joined with spaces. If `parse` throws, the file is ignored. `problems` has a line for each file that
 * was ignored and for each folder that cannot be read.
 *
 * At most `max` files are used in total. In the user's folder, at most MAX_ENTRIES files and folders together are
 * examined, and the same number in the workspace's folder. If a folder exceeds a limit, `problems` has one line for
 * this limit and not a line for each further file.
 */
export async function readOwnFiles<T>(
  { configFolder, workspace, trusted }: OwnPlace,
  options: OwnFilesOptions,
  parse: (file: OwnFile) => MaybePromise<T>,
): Promise<{ readonly found: ReadonlyMap<string, T>; readonly problems: readonly string[] }> {
  const found = new Map<string, T>();
  const problems: string[] = [];
  const { folder, what, max } = options;
  const load = async (root: string, source: OwnFile['source'], within?: string): Promise<void> => {
    let isFull = false;
    for (const file of await filesIn(root, options, problems)) {
      const names = namesOf(root, file, options);
      if (!names.every((name) => OWN_NAME.test(name))) {
        problems.push(
          `${file} is ignored: the name of a ${what} must start with a letter or a digit, and have at most 64 letters, digits, "_", "." and "-"`,
        );
        continue;
      }
      const key = names.join(' ');
      // A file that replaces another one does not increase the number.
      if (found.size >= max && !found.has(key)) {
        if (!isFull) {
          problems.push(`${file} and others are ignored: there are more than ${max} ${what}s`);
        }
        isFull = true;
        continue;
      }
      try {
        const { path: real, text } = await read(file, within);
        found.set(key, await parse({ names, source, file, path: real, text }));
      } catch (error) {
        problems.push(`${reasonOf(error)}: the ${what} is ignored`);
      }
    }
  };
  await load(path.join(configFolder, folder), 'user');
  // Files of a workspace must be inside `.parley`, because edits of files elsewhere may need no approval. The folder of
  // the user may contain links to other places.
  if (trusted) {
    const root = workspaceOwnFolder(await realpath(workspace), folder);
    await load(root, 'workspace', path.dirname(root));
  }
  return { found, problems };
}

async function read(file: string, within: string | undefined) {
  const found = await readBounded(file, MAX_FILE_BYTES, { within });
  if (found.size > MAX_FILE_BYTES) {
    throw new FileError('too-large', `${file} is larger than ${MAX_FILE_BYTES} bytes`);
  }
  return { path: found.path, text: found.bytes.toString('utf8') };
}

function namesOf(root: string, file: string, { only }: OwnFilesOptions): string[] {
  if (only !== undefined) return path.relative(root, path.dirname(file)).split(path.sep);
  return path.relative(root, file).slice(0, -'.md'.length).split(path.sep);
}

/**
 * Returns the files in a folder and its subfolders, in the order of their names. Adds a line to `problems` for each
 * folder that cannot be read. A missing `root` is not a problem.
 */
async function filesIn(
  root: string,
  { depth: maxDepth, only }: OwnFilesOptions,
  problems: string[],
): Promise<string[]> {
  const files: string[] = [];
  let seen = 0;
  const walk = async (folder: string, depth: number): Promise<void> => {
    const names = await readdir(folder).catch((error: unknown): string[] => {
      if (depth > 1 || !['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) {
        problems.push(`${folder} cannot be read (${systemCode(error) ?? 'unknown'})`);
      }
      return [];
    });
    // With `only`, subfolders are not searched further. Only the file with this name is read in each of them.
    if (only !== undefined && depth > 1) {
      if (names.includes(only)) files.push(path.join(folder, only));
      return;
    }
    for (const name of names.toSorted()) {
      seen += 1;
      if (seen > MAX_ENTRIES) {
        if (seen === MAX_ENTRIES + 1) {
          problems.push(
            `${root} has more than ${MAX_ENTRIES} files and folders: the rest is ignored`,
          );
        }
        return;
      }
      const file = path.join(folder, name);
      const stats = await stat(file).catch(() => undefined);
      if (stats?.isDirectory() && depth < maxDepth) await walk(file, depth + 1);
      else if (only === undefined && name.endsWith('.md')) files.push(file);
    }
  };
  await walk(root, 1);
  return files;
}
