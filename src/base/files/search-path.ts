import { delimiter, isAbsolute } from 'node:path';

/**
 * Search path if no absolute folder is left. It must not be empty on Unix, because an empty search path means the
 * current folder there.
 */
const DEFAULT = process.platform === 'win32' ? '' : '/usr/bin:/bin';

/**
 * Returns the search path for programs without its relative folders and its empty entries. An empty entry means the
 * current folder. With such a folder, a program in the workspace could run instead of `git`.
 */
export function absoluteFolders(searchPath: string | undefined): string {
  return (searchPath ?? '').split(delimiter).filter(isAbsolute).join(delimiter) || DEFAULT;
}
