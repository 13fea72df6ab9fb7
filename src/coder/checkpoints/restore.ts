/** Going back: makes the files of one checkpoint out of those of another, and touches nothing else. */
import { lstat, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { git, GitError, joinZ, splitZ, type Place } from './git.ts';

export interface Restored {
  /** Files that were written, as they were. */
  readonly written: readonly string[];
  /** Files that had come since, and are gone. */
  readonly removed: readonly string[];
  /**
   * Files that should have been written and were not: what is in their place could not be brought back, because it is
   * a folder with other things in it, or too large for a checkpoint.
   */
  readonly blocked: readonly string[];
}

export interface RestoreOptions {
  /** A checkpoint of the files as they are; the index is its. */
  readonly now: string;
  /** The checkpoint to go back to. */
  readonly target: string;
  /** Files that are there now, and not in `now`. */
  readonly unkept: readonly string[];
  /** Files that were there when `target` was taken, and are not in it. */
  readonly absent: readonly string[];
}

export async function restoreFiles(place: Place, options: RestoreOptions): Promise<Restored> {
  const { now, target, unkept, absent } = options;
  const added: string[] = [];
  const wanted: string[] = [];
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', now, target];
  const changes = splitZ(await git(place, args));
  for (let at = 0; at + 1 < changes.length; at += 2) {
    (changes[at] === 'D' ? added : wanted).push(changes[at + 1]!);
  }

  // The rules of then first: what they ignored was there then, perhaps, though no checkpoint has it.
  const rules = wanted.filter((file) => path.posix.basename(file) === '.gitignore');
  const rulesGone = added.filter((file) => path.posix.basename(file) === '.gitignore');
  const removed = await remove(place, rulesGone);
  await git(place, ['read-tree', target]);
  await write(place, rules);

  const ignored = new Set([...(await ignoredOf(place, added)), ...absent]);
  const repositories = absent.filter((file) => file.endsWith('/'));
  const mayGo = added.filter(
    (file) => !ignored.has(file) && !repositories.some((folder) => file.startsWith(folder)),
  );
  removed.push(
    ...(await remove(
      place,
      mayGo.filter((file) => !rulesGone.includes(file)),
    )),
  );

  const blocked: string[] = [];
  const free: string[] = [];
  for (const file of wanted) {
    const inTheWay = unkept.includes(file) || (await isFolder(path.join(place.workspace, file)));
    (inTheWay ? blocked : free).push(file);
  }
  await write(place, free);
  return { written: free, removed, blocked };
}

/** Those among the files that the rules in the work tree ignore, whatever the index says. */
async function ignoredOf(place: Place, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  try {
    // These are patterns to git; with ./ before it none of them begins with one of its magic signs.
    const input = joinZ(files.map((file) => `./${file}`));
    const output = await git(place, ['check-ignore', '--no-index', '-z', '--stdin'], { input });
    return splitZ(output).map((file) => file.slice(2));
  } catch (error) {
    // It ends with 1 when there are none.
    if (error instanceof GitError && error.code === 1) return [];
    throw error;
  }
}

/** Git writes through no link, and puts a link or file that is in the way of a folder aside. */
async function write(place: Place, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const input = joinZ(files);
  await git(place, ['checkout-index', '--force', '--index', '-z', '--stdin'], { input });
}

async function remove(place: Place, files: readonly string[]): Promise<string[]> {
  const removed: string[] = [];
  const folders = new Set<string>();
  for (const file of files) {
    const where = path.join(place.workspace, file);
    const folder = path.dirname(where);
    // Where a folder has become a link, the file behind it is not the one that the checkpoint has.
    if ((await realpath(folder).catch(() => undefined)) !== folder) continue;
    if (await isFolder(where)) continue;
    await rm(where, { force: true });
    removed.push(file);
    folders.add(folder);
  }
  for (const folder of folders) await removeEmpty(place.workspace, folder);
  return removed;
}

/** Removes the folder and those around it, as far as nothing is left in them. */
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
  return lstat(where).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}
