/** Which paths a workspace has: by their letters, and by where they really lead. */
import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { explain, FileError } from './file-error.ts';
import { takeGrip, type Grip } from './grip.ts';
import { checkPath, isInside, isOfSystem } from './names.ts';

export interface Access {
  /** True paths. */
  readonly roots: readonly string[];
  /** The absolute path that is meant, by its letters alone: the disk is not asked. Throws when it is outside. */
  readonly locate: (path: string) => string;
  /** The path as people and models should see it: relative to the first root where it is below it. */
  readonly show: (path: string) => string;
  readonly rootOf: (absolute: string) => string | undefined;
  /** Takes hold of what the path leads to, and throws unless that is inside. `shown` is for the error. */
  readonly hold: (path: string, shown: string, noFollow?: boolean) => Promise<Grip>;
}

export async function openAccess(folders: readonly string[], pin: boolean): Promise<Access> {
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
      throw explain(error, `the workspace ${named}`);
    }
  }
  const first = given[0]?.real;
  if (first === undefined) throw new FileError('bad-path', 'a workspace needs a folder');
  const roots = [...new Set(given.map(({ real }) => real))];
  const rootOf = (absolute: string): string | undefined =>
    roots.find((root) => isInside(root, absolute));

  return {
    roots,
    rootOf,
    show: (path) => (isInside(first, path) ? relative(first, path) || '.' : path),
    locate(path) {
      checkPath(path);
      const wanted = resolve(first, path);
      for (const { named, real } of given) {
        if (isInside(real, wanted)) return wanted;
        // By the name that the root was given under, which may be a link.
        if (isAbsolute(path) && isInside(named, wanted)) return join(real, relative(named, wanted));
      }
      throw outside(path);
    },
    async hold(path, shown, noFollow = false) {
      const grip = await takeGrip(path, { pin, noFollow });
      if (rootOf(grip.path) !== undefined && !isOfSystem(grip.path)) return grip;
      await grip[Symbol.asyncDispose]();
      throw outside(shown);
    },
  };
}

export function outside(shown: string): FileError {
  return new FileError(
    'outside',
    `${shown} is outside of the workspace; give a path inside it, relative to its root`,
  );
}
