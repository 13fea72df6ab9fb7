/**
 * Finds the files and folders of a workspace that commands in the sandbox must not change, because programs outside the
 * sandbox run commands from them:
 *
 * - `.parley` and `.git` in the root, even if they do not exist yet. If the root is not a repository, `HEAD` is
 *   protected too, because git treats a folder with `HEAD`, `objects` and `refs` as a repository.
 * - `.parley` and `.git` in the folders below the root that had them when the sandbox was opened. The search for these
 *   folders skips node_modules, and ends after MAX_FOLDERS folders or MAX_FOUND results. The settings in `.parley`
 *   contain MCP servers and rules. The configuration and the hooks in `.git` contain programs. A repository elsewhere
 *   in the workspace is included if a `.git` file points to it.
 * - The hooks folder and the included files that the configuration of a repository names.
 */
import { accessSync, constants, lstatSync, readFileSync, realpathSync, type Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { SandboxUnavailable } from './sandbox-unavailable.ts';
import { isInside } from '../files/path-rules.ts';

const NAMES: readonly string[] = ['.git', '.parley'];
/** Limits of the search for nested repositories. */
const MAX_FOLDERS = 10_000;
const MAX_FOUND = 500;
const MAX_CONFIG_BYTES = 256 * 1024;
/**
 * Settings of git that contain the path of a file or folder. Git runs the content of this file or folder, or reads
 * settings from it.
 */
const NAMING = /^[ \t]*(hookspath|path|fsmonitor)[ \t]*=[ \t]*"?([^"\r\n#;]+)/gim;

export interface ReadOnlyPaths {
  /** Existing files and folders. */
  readonly existing: readonly string[];
  /** Paths that must not be created. Their parent folders exist. */
  readonly absent: readonly string[];
}

/** Returns the folders below the root that contain `.git` or `.parley`, up to the limits. */
export async function findNested(root: string): Promise<string[]> {
  const found: string[] = [];
  let looked = 0;
  for (let level = [root]; level.length > 0;) {
    const next: string[] = [];
    for (const folder of level) {
      if (++looked > MAX_FOLDERS || found.length >= MAX_FOUND) return found;
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      if (folder !== root && entries.some(({ name }) => NAMES.includes(name))) found.push(folder);
      for (const entry of entries) {
        const isSearched = entry.isDirectory() && !NAMES.includes(entry.name);
        if (isSearched && entry.name !== 'node_modules') next.push(path.join(folder, entry.name));
      }
    }
    level = next;
  }
  return found;
}

/** Returns the paths for a command that starts now. `nested` is the result of `findNested`. */
export function readOnlyPaths(root: string, nested: readonly string[]): ReadOnlyPaths {
  const existing = new Set<string>();
  const absent = new Set<string>();
  const mayCreate = isWritable(root);

  function protect(file: string): void {
    if (!isInside(root, file) || file === root) return;
    const stats = statsOf(file);
    if (stats?.isSymbolicLink()) {
      // A symbolic link cannot be covered by a mount, so a command could replace the link. In the root, this is an
      // error. In a folder below, only the target of the link is protected.
      if (path.dirname(file) === root) throw linkError(file);
      protect(realOf(file) ?? file);
    } else if (stats) existing.add(file);
    else if (mayCreate && statsOf(path.dirname(file))?.isDirectory()) absent.add(file);
  }

  for (const folder of [root, ...nested]) {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      if (folder === root || statsOf(file)) protect(file);
    }
    for (const file of namedByGit(folder)) protect(file);
  }
  if (!isRepository(path.join(root, '.git'))) protect(path.join(root, 'HEAD'));
  return {
    existing: [...existing].toSorted(),
    // A missing path inside a read-only folder is already protected by this folder.
    absent: [...absent].filter((file) => ![...existing].some((one) => isInside(one, file))),
  };
}

function linkError(file: string): SandboxUnavailable {
  return new SandboxUnavailable(
    `the sandbox cannot protect ${file}, because it is a symbolic link`,
    'replace the link by its target',
  );
}

/**
 * Returns the repository that a `.git` file points to, and the files that the configuration of the repository names. If
 * the hooks folder is a link, also returns its target.
 */
function namedByGit(folder: string): string[] {
  const git = path.join(folder, '.git');
  const stats = statsOf(git);
  if (!stats) return [];
  const pointer = stats.isFile() ? /^gitdir:\s*(.+)/.exec(readText(git))?.[1]?.trim() : undefined;
  const repository = pointer === undefined ? git : path.resolve(folder, pointer);
  const found = pointer === undefined ? [] : [repository];
  for (const file of ['config', 'config.worktree']) {
    const text = readText(path.join(repository, file));
    for (const [, setting = '', value = ''] of text.matchAll(NAMING)) {
      const base = setting.toLowerCase() === 'path' ? repository : folder;
      if (!/^(?:true|false|~.*)$/i.test(value.trim())) found.push(path.resolve(base, value.trim()));
    }
  }
  // The hooks folder may be a link to a folder in the workspace.
  const hooks = path.join(repository, 'hooks');
  if (statsOf(hooks)?.isSymbolicLink()) found.push(realOf(hooks) ?? hooks);
  return found;
}

function isRepository(git: string): boolean {
  const stats = statsOf(git);
  return stats?.isFile() === true || statsOf(path.join(git, 'HEAD')) !== undefined;
}

function statsOf(file: string): Stats | undefined {
  return lstatSync(file, { throwIfNoEntry: false });
}

function realOf(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    // The target of the link does not exist.
    return undefined;
  }
}

function readText(file: string): string {
  try {
    if (statsOf(file)?.isFile() !== true) return '';
    return readFileSync(file, 'utf8').slice(0, MAX_CONFIG_BYTES);
  } catch {
    return '';
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
