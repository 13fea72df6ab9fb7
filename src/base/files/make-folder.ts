import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents, with access for the owner only. Does nothing if the folder exists. The option
 * `recursive` is not used. With this option, Node never returns if the system reports ENOENT for a folder that cannot
 * be created, for example in /proc.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  if (dirname(path) !== path) makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}
