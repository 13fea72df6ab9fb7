/**
 * The files of a workspace for `@` in a prompt: those of the folder whose names begin so; and where no folder is named,
 * those further down too.
 */
import type { Dirent } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

const MAX_FOUND = 50;
/** Of no use to anybody who types. */
const PASSED_OVER = new Set(['.git', 'node_modules']);
/** One letter begins too many names. */
const MIN_BELOW = 2;
/** It is looked for at each key. */
const MAX_FOLDERS = 400;
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
      const deep = cut === 0 && begun.length >= MIN_BELOW && found.length < MAX_FOUND;
      const below = deep ? await filesBelow(folder, begun) : [];
      return [...found, ...below].slice(0, MAX_FOUND);
    } catch {
      return [];
    }
  };
}

/** Files and folders in folders of this one whose names begin so, in whatever case; the nearest first. */
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
  return all.filter(({ name }) => !PASSED_OVER.has(name));
}

function shown(entry: Dirent): string {
  return `${entry.name}${entry.isDirectory() ? '/' : ''}`;
}
