/** The files of a workspace whose paths begin so, for `@` in a prompt. */
import { readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

const MAX_FOUND = 50;
/** Of no use to anybody who types. */
const PASSED_OVER = new Set(['.git', 'node_modules']);

export function filesIn(root: string) {
  return async (prefix: string): Promise<readonly string[]> => {
    const cut = prefix.lastIndexOf('/') + 1;
    const [above, begun] = [prefix.slice(0, cut), prefix.slice(cut)];
    try {
      const folder = await realpath(path.resolve(root, above));
      const within = path.relative(await realpath(root), folder);
      if (within.startsWith('..') || path.isAbsolute(within)) return [];
      const found = await readdir(folder, { withFileTypes: true });
      return found
        .filter(({ name }) => name.startsWith(begun) && !PASSED_OVER.has(name))
        .filter(({ name }) => begun !== '' || !name.startsWith('.'))
        .map((entry) => `${above}${entry.name}${entry.isDirectory() ? '/' : ''}`)
        .toSorted()
        .slice(0, MAX_FOUND);
    } catch {
      return [];
    }
  };
}
