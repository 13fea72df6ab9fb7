/**
 * Completes file paths after `@` in a prompt. Finds files in the typed folder whose names start with the typed text. If
 * no folder is typed, also finds files in subfolders.
 */
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

const MAX_FOUND = 50;
/** Folders that are not searched. */
const SKIPPED = new Set(['.git', 'node_modules']);
/** Minimum number of letters for a search in subfolders. One letter would match too many names. */
const MIN_DEEP_LETTERS = 2;
/** Maximum number of folders that a search reads. A search runs at each key press. */
const MAX_FOLDERS = 400;
/** Number of folders that are read at the same time. */
const AT_ONCE = 16;

export function filesIn(root: string) {
  return async (prefix: string): Promise<readonly string[]> => {
    const cut = prefix.lastIndexOf('/') + 1;
    const [above, begun] = [prefix.slice(0, cut), prefix.slice(cut)];
    try {
      const folder = await realpath(path.resolve(root, above));
      const within = path.relative(await realpath(root), folder);
      if (within.startsWith('..') || path.isAbsolute(within)) return [];
      const found = (await namesIn(folder))
        .filter(({ name }) => name.startsWith(begun))
        .filter(({ name }) => begun !== '' || !name.startsWith('.'))
        .map((entry) => `${above}${shown(entry)}`)
        .toSorted();
      const deep = cut === 0 && begun.length >= MIN_DEEP_LETTERS && found.length < MAX_FOUND;
      const below = deep ? await filesBelow(folder, begun) : [];
      return [...found, ...below].slice(0, MAX_FOUND);
    } catch {
      return [];
    }
  };
}

/**
 * Returns the files and folders inside subfolders whose names start with the text, ignoring case. The nearest come
 * first.
 */
async function filesBelow(root: string, begun: string): Promise<string[]> {
  const wanted = begun.toLowerCase();
  const found: string[] = [];
  let looked = 0;
  for (let level = ['']; level.length > 0 && found.length < MAX_FOUND;) {
    const next: string[] = [];
    const inLevel: string[] = [];
    for (let at = 0; at < level.length && looked < MAX_FOLDERS; at += AT_ONCE) {
      const some = level.slice(at, at + AT_ONCE);
      looked += some.length;
      const listed = await Promise.all(
        some.map((each) => namesIn(path.join(root, each)).catch((): Dirent[] => [])),
      );
      for (const [index, entries] of listed.entries()) {
        const above = some[index]!;
        for (const entry of entries) {
          const hidden = entry.name.startsWith('.');
          if (entry.isDirectory() && !hidden) next.push(`${above}${entry.name}/`);
          const fits = above !== '' && entry.name.toLowerCase().startsWith(wanted);
          if (fits) inLevel.push(`${above}${shown(entry)}`);
        }
      }
    }
    found.push(...inLevel.toSorted());
    level = looked < MAX_FOLDERS ? next : [];
  }
  return found;
}

async function namesIn(folder: string): Promise<Dirent[]> {
  const all = await readdir(folder, { withFileTypes: true });
  return all.filter(({ name }) => !SKIPPED.has(name));
}

function shown(entry: Dirent): string {
  return `${entry.name}${entry.isDirectory() ? '/' : ''}`;
}
