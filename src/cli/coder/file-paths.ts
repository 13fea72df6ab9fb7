/**
 * Completes file paths after `@` in a prompt. The last slash of the text separates a folder from the start of a name.
 * The entries of this folder whose names have this start come first. If there are no such entries, or the text has no
 * slash, the folders of the workspace are searched too. The search needs at least two letters after the last slash. It
 * finds files and folders whose paths contain all typed letters in the same order, and returns the best matches first.
 */
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

const MAX_FOUND = 50;
/** Names that are neither offered nor searched. */
const SKIPPED = new Set(['.git', 'node_modules']);
/** Minimum number of letters for a search in subfolders. One letter would match too many names. */
const MIN_DEEP_LETTERS = 2;
/** Maximum numbers of folders that are read for a search (approximately), and of paths that are searched. */
const MAX_FOLDERS = 2000;
const MAX_PATHS = 20_000;
/** Number of folders that are read at the same time. */
const AT_ONCE = 16;
/** How long the list of paths is used before it is read again. A search runs at each key press. */
const FRESH_MS = 3000;

export function filesIn(root: string) {
  let known: { readonly at: number; readonly paths: Promise<string[]> } | undefined;

  function allPaths(folder: string): Promise<string[]> {
    if (!known || performance.now() - known.at > FRESH_MS) {
      known = { at: performance.now(), paths: pathsBelow(folder) };
    }
    return known.paths;
  }

  return async (prefix: string): Promise<readonly string[]> => {
    const cut = prefix.lastIndexOf('/') + 1;
    const [above, begun] = [prefix.slice(0, cut), prefix.slice(cut)];
    try {
      const real = await realpath(root);
      const found = await inFolder(real, above, begun);
      // If the text contains a folder, and entries of this folder match, only these entries are offered.
      const isDeep = begun.length >= MIN_DEEP_LETTERS && (cut === 0 || found.length === 0);
      if (!isDeep || found.length >= MAX_FOUND) return found.slice(0, MAX_FOUND);
      const others = bestMatches(await allPaths(real), prefix, MAX_FOUND);
      return [...new Set([...found, ...others])].slice(0, MAX_FOUND);
    } catch {
      return [];
    }
  };
}

/**
 * Returns the entries of the folder `above` whose names start with `begun`. If the folder is missing or outside the
 * workspace, the list is empty. Hidden entries are returned only if `begun` starts with a dot.
 */
async function inFolder(root: string, above: string, begun: string): Promise<string[]> {
  const folder = await realpath(path.resolve(root, above)).catch(() => undefined);
  if (folder === undefined) return [];
  const within = path.relative(root, folder);
  if (within.startsWith('..') || path.isAbsolute(within)) return [];
  return (await namesIn(folder))
    .filter(({ name }) => name.startsWith(begun))
    .filter(({ name }) => begun !== '' || !name.startsWith('.'))
    .map((entry) => `${above}${shown(entry)}`)
    .toSorted();
}

/** Returns the paths that match the letters, the best first. Equally good paths are sorted by depth. */
function bestMatches(paths: readonly string[], letters: string, limit: number): string[] {
  const wanted = letters.toLowerCase();
  const ranked: { readonly path: string; readonly rank: number; readonly depth: number }[] = [];
  for (const each of paths) {
    const rank = rankOf(each.toLowerCase(), wanted);
    if (rank !== undefined) ranked.push({ path: each, rank, depth: each.split('/').length });
  }
  return ranked
    .toSorted((a, b) => a.rank - b.rank || a.depth - b.depth || (a.path < b.path ? -1 : 1))
    .slice(0, limit)
    .map((each) => each.path);
}

/** Returns the distance of a path from the typed letters, or undefined if it does not match. Smaller is better. */
function rankOf(file: string, wanted: string): number | undefined {
  const bare = file.endsWith('/') ? file.slice(0, -1) : file;
  const name = bare.slice(bare.lastIndexOf('/') + 1);
  if (name.startsWith(wanted)) return 0;
  if (name.includes(wanted)) return 1;
  if (file.includes(wanted)) return 2;
  const gaps = gapsIn(name, wanted) ?? gapsIn(file, wanted);
  return gaps === undefined ? undefined : 3 + gaps;
}

/**
 * Returns the number of gaps before and between the letters, or undefined if the text does not contain the letters in
 * this order.
 */
function gapsIn(text: string, letters: string): number | undefined {
  let gaps = 0;
  let at = -1;
  for (const letter of letters) {
    const next = text.indexOf(letter, at + 1);
    if (next < 0) return undefined;
    if (next !== at + 1) gaps += 1;
    at = next;
  }
  return gaps;
}

/**
 * Returns the paths of files and folders, up to the limits above. Leaves out hidden ones and node_modules. The paths
 * nearest to the root come first.
 */
async function pathsBelow(root: string): Promise<string[]> {
  const found: string[] = [];
  let looked = 0;
  for (let level = ['']; level.length > 0 && found.length < MAX_PATHS;) {
    const next: string[] = [];
    for (let at = 0; at < level.length && looked < MAX_FOLDERS; at += AT_ONCE) {
      const some = level.slice(at, at + AT_ONCE);
      looked += some.length;
      const listed = await Promise.all(
        some.map((each) => namesIn(path.join(root, each)).catch((): Dirent[] => [])),
      );
      for (const [index, entries] of listed.entries()) {
        const above = some[index]!;
        for (const entry of entries) {
          if (entry.name.startsWith('.')) continue;
          if (entry.isDirectory()) next.push(`${above}${entry.name}/`);
          found.push(`${above}${shown(entry)}`);
        }
      }
    }
    level = looked < MAX_FOLDERS ? next : [];
  }
  return found.slice(0, MAX_PATHS);
}

async function namesIn(folder: string): Promise<Dirent[]> {
  const all = await readdir(folder, { withFileTypes: true });
  return all.filter(({ name }) => !SKIPPED.has(name));
}

function shown(entry: Dirent): string {
  return `${entry.name}${entry.isDirectory() ? '/' : ''}`;
}
