import { delimiter, isAbsolute } from 'node:path';
import { DEFAULT_SEARCH_PATH } from '../system/index.ts';

/**
 * Removes relative folders and empty entries from a search path for programs. Returns DEFAULT_SEARCH_PATH if nothing is
 * left. An empty entry means the current folder. With a relative folder or an empty entry, a program in the
 * workspace could run instead of, for example, `git`.
 */
export function absoluteFolders(searchPath: string | undefined): string {
  return (
    (searchPath ?? '').split(delimiter).filter(isAbsolute).join(delimiter) || DEFAULT_SEARCH_PATH
  );
}
