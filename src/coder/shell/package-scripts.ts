/** Reads the names of the scripts in package.json. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { isObject } from '../../base/index.ts';

const MAX_BYTES = 1024 * 1024;

/** Returns whether package.json in the root folder of the workspace has a script with this name. Never throws. */
export function isPackageScript(name: string, root: string): boolean {
  try {
    const file = path.join(root, 'package.json');
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_BYTES) return false;
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const scripts = isObject(manifest) ? manifest['scripts'] : undefined;
    return isObject(scripts) && Object.hasOwn(scripts, name) && typeof scripts[name] === 'string';
  } catch {
    // The file does not exist or is not valid JSON.
    return false;
  }
}
