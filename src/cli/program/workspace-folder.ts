/** Folders that are named on the command line. */
import { reasonOf, systemCode } from '../../base/index.ts';
import { realpath, stat } from 'node:fs/promises';
import { usageError } from './exit.ts';

/** The folders of `--workspace`, by their true paths; without any, the current one. */
export async function workspaceFolders(given: readonly string[]): Promise<string[]> {
  const folders = given.length > 0 ? given : ['.'];
  return [...new Set(await Promise.all(folders.map((folder) => workspaceFolder(folder))))];
}

export async function workspaceFolder(folder: string): Promise<string> {
  try {
    const found = await realpath(folder);
    if ((await stat(found)).isDirectory()) return found;
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'there is no such folder' : reasonOf(error);
    throw usageError(`${folder}: ${why}`, { cause: error });
  }
  throw usageError(`${folder} is a file: name a folder`);
}
