/**
 * Restores the files of a checkpoint, and compares checkpoints. Only files that have changed are written or removed.
 */
import { lstat, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { git, GitError, gitOn, joinZ, splitZ, type Place } from './git.ts';

export interface Restored {
  /** Files that were restored. */
  readonly written: readonly string[];
  /** Files that were added after the checkpoint and have now been removed. */
  readonly removed: readonly string[];
  /**
   * Files that were not restored, because something else is now in their place: a folder, or a file that cannot be
   * stored in a checkpoint. This folder or file is not overwritten, because it could not be brought back.
   */
  readonly blocked: readonly string[];
}

export interface CheckpointChanges {
  readonly files: readonly { readonly path: string; readonly change: 'add' | 'edit' | 'remove' }[];
  /**
   * The changes of the first MAX_COMPARED files, in the unified format, cut after MAX_PATCH bytes. Empty if no file has
   * changed, if git's output exceeds its size limit, or if git takes too long.
   */
  readonly patch: string;
}

const MAX_PATCH = 100_000;
const MAX_COMPARED = 50;
/** The options with which git compares two trees. */
const TREES = ['-r', '--no-renames'];
/**
 * Writes files from the index to the work tree. Git does not write through links. It replaces a link or a file that is
 * in the place of a folder.
 */
const WRITE = ['checkout-index', '--force', '--index'];

/** Returns the changes from one tree to another. */
export async function changesBetween(
  place: Place,
  from: string,
  to: string,
  signal: AbortSignal | undefined,
): Promise<CheckpointChanges> {
  const files = await changedFiles(place, from, to, signal);
  // A patch of many files would be long, so only the first files are compared.
  const shown = files.slice(0, MAX_COMPARED).map(({ path: file }) => file);
  if (shown.length === 0) return { files, patch: '' };
  // `--text` is needed, because the attributes of the repository declare all files as binary.
  const options = ['-p', '--text', '--no-ext-diff', '--no-textconv', ...TREES];
  const named = shown.map((file) => `:(literal)${file}`);
  const args = ['diff-tree', ...options, from, to, '--', ...named];
  const patch = await git(place, args, { signal }).catch((error: unknown) => {
    // The patch is too large, or the comparison took too long.
    if (error instanceof GitError && error.code === undefined) return Buffer.alloc(0);
    throw error;
  });
  return { files, patch: patch.subarray(0, MAX_PATCH).toString('utf8') };
}

async function changedFiles(place: Place, from: string, to: string, signal?: AbortSignal) {
  const args = ['diff-tree', '-z', '--name-status', ...TREES, from, to];
  const names = splitZ(await git(place, args, { signal }));
  const files: CheckpointChanges['files'][number][] = [];
  for (let at = 0; at + 1 < names.length; at += 2) {
    const change = names[at] === 'D' ? 'remove' : names[at] === 'A' ? 'add' : 'edit';
    files.push({ path: names[at + 1]!, change });
  }
  return files;
}

export interface RestoreOptions {
  /** A checkpoint of the current files. The index has the same content. */
  readonly now: string;
  /** The checkpoint to restore. */
  readonly target: string;
  /** Current files that were skipped when `now` was taken (`Checkpoint.skipped`). */
  readonly unkept: readonly string[];
  /** Files that were skipped when `target` was taken (`Checkpoint.skipped`). */
  readonly absent: readonly string[];
}

export async function restoreFiles(place: Place, options: RestoreOptions): Promise<Restored> {
  const { now, target, unkept, absent } = options;
  const added: string[] = [];
  const wanted: string[] = [];
  for (const { path: file, change } of await changedFiles(place, now, target)) {
    (change === 'remove' ? added : wanted).push(file);
  }

  // Restore .gitignore files first, because a file that they ignore is not removed. Such a file may have existed at the
  // time of the checkpoint, although the checkpoint does not contain it.
  const rules = wanted.filter((file) => path.posix.basename(file) === '.gitignore');
  const rulesGone = added.filter((file) => path.posix.basename(file) === '.gitignore');
  const removed = await remove(place, rulesGone);
  await git(place, ['read-tree', target]);
  await gitOn(place, rules, WRITE);

  const ignored = new Set([...(await ignoredOf(place, added)), ...absent]);
  const repositories = absent.filter((file) => file.endsWith('/'));
  const stays = (file: string) =>
    ignored.has(file) || repositories.some((folder) => file.startsWith(folder));
  const others = added.filter((file) => !rulesGone.includes(file) && !stays(file));
  removed.push(...(await remove(place, others)));

  const blocked: string[] = [];
  const free: string[] = [];
  for (const file of wanted) {
    const inTheWay = unkept.includes(file) || (await isFolder(path.join(place.workspace, file)));
    (inTheWay ? blocked : free).push(file);
  }
  await gitOn(place, free, WRITE);
  return { written: free, removed, blocked };
}

/** Returns the files that are ignored by .gitignore files in the work tree, regardless of the index. */
async function ignoredOf(place: Place, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  try {
    // Git interprets these names as patterns. With the prefix `./`, no name starts with a special character of
    // patterns.
    const input = joinZ(files.map((file) => `./${file}`));
    const output = await git(place, ['check-ignore', '--no-index', '-z', '--stdin'], { input });
    return splitZ(output).map((file) => file.slice(2));
  } catch (error) {
    // Exit code 1 means that no file is ignored.
    if (error instanceof GitError && error.code === 1) return [];
    throw error;
  }
}

async function remove(place: Place, files: readonly string[]): Promise<string[]> {
  const removed: string[] = [];
  const folders = new Set<string>();
  for (const file of files) {
    const where = path.join(place.workspace, file);
    const folder = path.dirname(where);
    // If a folder of the path has become a link, the path leads to another file, which must stay.
    if ((await realpath(folder).catch(() => undefined)) !== folder) continue;
    if (await isFolder(where)) continue;
    await rm(where, { force: true });
    removed.push(file);
    folders.add(folder);
  }
  for (const folder of folders) await removeEmpty(place.workspace, folder);
  return removed;
}

/** Removes the folder and its parents while they are empty. */
async function removeEmpty(workspace: string, folder: string): Promise<void> {
  for (let each = folder; each !== workspace; each = path.dirname(each)) {
    try {
      await rmdir(each);
    } catch {
      return;
    }
  }
}

async function isFolder(where: string): Promise<boolean> {
  return (await lstat(where).catch(() => undefined))?.isDirectory() === true;
}
