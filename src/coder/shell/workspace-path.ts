/** Checks on the disk whether the words of a command name files and folders of the workspace. */
import { accessSync, constants, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { isInside, isOfSystem } from '../files/path-rules.ts';

/** Matches a wildcard in a pattern for file names. */
const WILDCARD = /[*?[{]/;

/**
 * Returns whether a command may read the file or folder that a word names. If there is no such file, returns whether
 * its path is inside the workspace, because the word may be the name of a commit. `root` must be a real path. `shows`
 * returns whether the file with this real path may be read. With `shows`, no folder may be read. By default, all files
 * and folders of the workspace may be read.
 */
export function mayRead(word: string, root: string, shows?: (file: string) => boolean): boolean {
  // `..` is refused: after a link to a folder, it is the parent of the target and not the folder of the link.
  if (word.split('/').includes('..')) return false;
  const file = path.resolve(root, word);
  const real = realOf(file);
  if (real === undefined) return isMissing(file, root);
  const stats = statSync(real);
  if (!stats.isFile() && !stats.isDirectory()) return false;
  return isInside(root, real) && !isOfSystem(real) && (!shows || (stats.isFile() && shows(real)));
}

/**
 * Returns true if a word of a command cannot lead to a file outside the workspace, even through links. The word may be
 * a path, or a path that is followed by a colon and a line or a name. It may also be a pattern for file names, if the
 * first wildcard is in the last part of the pattern or in `**`. Never throws.
 */
export function staysInside(word: string, root: string): boolean {
  if (word.split(/[/:]/).includes('..')) return false;
  try {
    const real = realOf(root) ?? root;
    if (WILDCARD.test(word)) return matchesStayInside(word, real);
    const [file = ''] = word.split(':', 1);
    return mayRead(word, real) && mayRead(file, real);
  } catch {
    // A file or folder cannot be read.
    return false;
  }
}

function matchesStayInside(pattern: string, root: string): boolean {
  const [fixed = ''] = pattern.split(WILDCARD, 1);
  const folder = fixed.slice(0, fixed.lastIndexOf('/') + 1);
  const start = fixed.slice(folder.length);
  if (folder !== '' && !mayRead(folder, root)) return false;
  if (realOf(path.resolve(root, folder)) === undefined) return true;
  return readdirSync(path.resolve(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink() && entry.name.startsWith(start))
    .every(({ name }) => mayRead(folder + name, root));
}

/** Returns whether the file does not exist and would be inside the workspace. A broken link counts as existing. */
function isMissing(file: string, root: string): boolean {
  let parent = file;
  do {
    if (lstatSync(parent, { throwIfNoEntry: false })) return false;
    // If the loop reaches the root, the workspace itself does not exist.
    if (parent === root) return true;
    parent = path.dirname(parent);
  } while (realOf(parent) === undefined);
  return isInside(root, realpathSync(parent));
}

/** Returns whether the file exists and can be executed. */
export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Returns the path with links resolved, or undefined if the file does not exist or cannot be reached. */
export function realOf(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined;
  }
}
