import { delimiter, isAbsolute } from 'node:path';

/** An empty search path would mean the current folder. */
const DEFAULT = process.platform === 'win32' ? '' : '/usr/bin:/bin';

/**
 * Returns the search path for programs without its relative folders. An empty folder means the current one. Through
 * such a folder, a program that somebody put into the workspace could run instead of `git`.
 */
export function absoluteFolders(searchPath: string | undefined): string {
  return (searchPath ?? '').split(delimiter).filter(isAbsolute).join(delimiter) || DEFAULT;
}
