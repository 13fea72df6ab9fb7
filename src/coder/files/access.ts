/** Checks that a path is inside the workspace, both by its text and by its real path after links have been followed. */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { toFileError, FileError } from './file-error.ts';
import { openPathHandle, type PathHandle } from './path-handle.ts';
import { checkPath, isInside, isOfSystem } from './path-rules.ts';

export type Access = Awaited<ReturnType<typeof openAccess>>;

export async function openAccess(folders: readonly string[], pin: boolean) {
  const given: { readonly named: string; readonly real: string }[] = [];
  for (const folder of folders) {
    const named = resolve(folder);
    try {
      const real = await realpath(named);
      if (!(await stat(real)).isDirectory()) {
        throw new FileError('wrong-kind', `the workspace ${named} is not a folder`);
      }
      given.push({ named, real });
    } catch (error) {
      throw toFileError(error, `the workspace ${named}`);
    }
  }
  const first = given[0]?.real;
  if (first === undefined) throw new FileError('bad-path', 'a workspace needs at least one folder');
  const roots: readonly string[] = [...new Set(given.map(({ real }) => real))];
  const rootOf = (absolute: string): string | undefined =>
    roots.find((root) => isInside(root, absolute));

  return {
    /** The real paths of the root folders. Relative paths start at the first root. */
    roots,
    rootOf,
    /** Returns the path for people and models. It is relative to the first root if it is inside this root. */
    show: (path: string) => (isInside(first, path) ? relative(first, path) || '.' : path),
    /** Returns the absolute path, without access to the disk. Throws if the path is outside the workspace. */
    locate: (path: string): string => {
      checkPath(path);
      const wanted = resolve(first, path);
      for (const { named, real } of given) {
        if (isInside(real, wanted)) return wanted;
        // The given path of the root may contain links.
        if (isAbsolute(path) && isInside(named, wanted)) return join(real, relative(named, wanted));
      }
      throw outside(path);
    },
    /**
     * Opens a handle on the file or folder at the path. Throws if its real path is outside the workspace, or in /proc,
     * /sys or /dev. `shown` is the path in the error message.
     */
    openHandle: async (path: string, shown: string, noFollow = false): Promise<PathHandle> => {
      const held = await openPathHandle(path, { pin, noFollow });
      if (rootOf(held.path) !== undefined && !isOfSystem(held.path)) return held;
      await held[Symbol.asyncDispose]();
      throw outside(shown);
    },
  };
}

export function outside(shown: string): FileError {
  return new FileError(
    'outside',
    `${shown} is outside the workspace; use a path relative to the workspace root`,
  );
}
