/** Checks and resolves folders from the command line. */
import { realpath, stat } from 'node:fs/promises';
import { reasonOf, systemCode } from '../../base/index.ts';
import { usageError } from './exit.ts';

/** Returns the real paths of the `--workspace` folders or, if none is given, of the current folder. */
export async function workspaceFolders(given: readonly string[]): Promise<string[]> {
  const folders = given.length > 0 ? given : ['.'];
  return [...new Set(await Promise.all(folders.map((folder) => workspaceFolder(folder))))];
}

/** Returns the real path of the folder to work in. Throws if several are given. The error names the command `what`. */
export async function onlyWorkspaceFolder(what: string, given: readonly string[]): Promise<string> {
  const [folder = '', ...others] = await workspaceFolders(given);
  if (others.length === 0) return folder;
  throw usageError(`${what} works in one folder: use --workspace only once`);
}

export async function workspaceFolder(folder: string): Promise<string> {
  try {
    const found = await realpath(folder);
    if ((await stat(found)).isDirectory()) return found;
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'no such folder' : reasonOf(error);
    throw usageError(`${folder}: ${why}`, { cause: error });
  }
  throw usageError(`${folder} is not a folder: give the path of a folder`);
}
