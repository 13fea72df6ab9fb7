/**
 * Finds the files and folders of a workspace that commands in the sandbox must not change. The reason is that programs
 * outside the sandbox run commands from these files:
 *
 * - `.parley` and `.git` in the root, even if they do not exist yet. If the root is not a repository, `HEAD` is
 *   protected too, because git treats a folder with `HEAD`, `objects` and `refs` as a repository.
 * - `.parley` and `.git` in the folders below the root that had them when the sandbox was opened. The search for these
 *   folders skips node_modules, and ends after MAX_FOLDERS folders or MAX_FOUND results. The settings in `.parley`
 *   contain MCP servers and rules. The configuration and the hooks in `.git` contain programs. A repository elsewhere
 *   in the workspace is included if a `.git` file points to it.
 * - The hooks folder and the included files that are named in the configuration of one of these repositories, or of the
 *   repository that contains the root. Also the files that an included file names, and the targets of links among the
 *   hooks.
 */
import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  type Stats,
} from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { homeFolder } from '../../base/system/index.ts';
import { SandboxUnavailable } from './sandbox-unavailable.ts';
import { isInside } from '../files/path-rules.ts';
import { realOf } from './workspace-path.ts';

const NAMES: readonly string[] = ['.git', '.parley'];
/** Limits of the search for nested repositories. */
const MAX_FOLDERS = 10_000;
const MAX_FOUND = 500;
const MAX_CONFIG_BYTES = 256 * 1024;
/** Maximum number of configuration files that are read for one repository. */
const MAX_CONFIGS = 100;
/** The header of a section of a configuration file, for example `[core]`. Settings may follow it on the same line. */
const SECTION = /\[(?:"(?:\\.|[^"\\\r\n])*"|[^\]"\r\n])*\]/;
/** The value of a setting, as it is written. A part may be in quotes, and a value may continue on the next line. */
const VALUE = /(?:"(?:\\(?:\r\n|[^])|[^"\\\r\n])*"|\\(?:\r\n|[^])|[^"\\\r\n#;])*/;
/**
 * Settings of git that contain the path of a file or folder. Git runs the content of this file or folder, or reads
 * settings from it.
 */
const NAMING = new RegExp(
  `^[ \\t\\uFEFF]*(?:${SECTION.source}[ \\t]*)*(hookspath|path|fsmonitor)[ \\t]*=(${VALUE.source})`,
  'gim',
);
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b' };

export interface ReadOnlyPaths {
  /** Existing files and folders. */
  readonly existing: readonly string[];
  /** Paths that must not be created. Their parent folders exist. */
  readonly absent: readonly string[];
  /**
   * The folders between the root and the paths that git's files name, parents first. Commands may write in them, but
   * must not rename them. By renaming, a command could move a folder of hooks away and create another one. The folders
   * above a nested repository are not included, because a sandbox with very many mounts starts slowly.
   */
  readonly fixed: readonly string[];
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
  const fixed = new Set<string>();
  const links = new Set<string>();
  const mayCreate = isWritable(root);

  /**
   * Protects a path, and returns the path that is protected. For a link, this is the target of the link. If parent
   * folders of the path are missing, it is the uppermost missing folder. In all other cases, it is the path itself.
   * Returns undefined if nothing is protected, for example outside the workspace.
   */
  function protect(named: string): string | undefined {
    const folder = path.dirname(named);
    const file = path.join(resolved(folder), path.basename(named));
    const stats = statsOf(file);
    if (stats?.isSymbolicLink()) {
      // A symbolic link cannot be covered by a mount, so a command could replace the link. In the root, this is an
      // error. In a folder below, only the target of the link is protected.
      if (path.dirname(file) === root) throw linkError(file);
      if (links.has(file)) return undefined;
      links.add(file);
      return protect(path.resolve(path.dirname(file), readlinkSync(file)));
    }
    if (!isInside(root, file) || file === root) return undefined;
    // If the parent folder is missing too, the parent folder must not be created.
    if (!stats && !statsOf(path.dirname(file))?.isDirectory()) return protect(path.dirname(file));
    if (!stats && !mayCreate) return undefined;
    (stats ? existing : absent).add(file);
    return file;
  }

  for (const folder of [root, ...nested]) {
    for (const name of NAMES) {
      const file = path.join(folder, name);
      if (folder === root || statsOf(file)) protect(file);
    }
  }
  const above = parentRepository(root);
  for (const folder of [root, ...nested, ...(above === undefined ? [] : [above])]) {
    for (const named of namedByGit(folder)) {
      const file = protect(named);
      if (file !== undefined) for (const each of foldersBetween(root, file)) fixed.add(each);
    }
  }
  if (!isRepository(path.join(root, '.git'))) protect(path.join(root, 'HEAD'));
  // A read-only folder also protects its content.
  const isUncovered = (file: string) =>
    ![...foldersBetween(root, file), file].some((each) => existing.has(each));
  return {
    existing: [...existing].toSorted(),
    absent: [...absent].filter(isUncovered),
    fixed: [...fixed].filter(isUncovered).toSorted(),
  };
}

/** Returns the folders between the root and a file inside it, without the root. */
function foldersBetween(root: string, file: string): string[] {
  const folder = path.dirname(file);
  return folder === root ? [] : [...foldersBetween(root, folder), folder];
}

/** Returns the nearest folder above `folder` that contains `.git`, or undefined if there is none. */
function parentRepository(folder: string): string | undefined {
  const above = path.dirname(folder);
  if (above === folder) return undefined;
  return statsOf(path.join(above, '.git')) ? above : parentRepository(above);
}

function linkError(file: string): SandboxUnavailable {
  return new SandboxUnavailable(
    `the sandbox cannot protect ${file}, because it is a symbolic link`,
    'replace the link by its target',
  );
}

/**
 * Returns the folders of the repository that a `.git` file points to, and the files that the configuration of the
 * repository names. A linked worktree has a folder of its own, and its file `commondir` points to the repository.
 */
function namedByGit(folder: string): string[] {
  const git = path.join(folder, '.git');
  if (!statsOf(git)) return [];
  const pointer = /^gitdir:\s*(.+)/.exec(readText(git))?.[1]?.trim();
  const own = resolved(pointer === undefined ? git : path.resolve(folder, pointer));
  const common = readText(path.join(own, 'commondir')).trim();
  const repository = common === '' ? own : resolved(path.resolve(own, common));
  const found = [own, repository].filter((each) => each !== git);
  const seen = new Set<string>();
  for (const each of new Set([own, repository])) {
    for (const file of ['config', 'config.worktree']) {
      found.push(...namedByConfig(path.join(each, file), folder, seen));
    }
    found.push(...linksOf(path.join(each, 'hooks')));
  }
  return found;
}

/**
 * Returns the symbolic links in a folder of hooks, and the folder itself if it is a link. The links may lead to files
 * in the workspace.
 */
function linksOf(hooks: string): string[] {
  const folder = statsOf(hooks)?.isSymbolicLink() ? [hooks] : [];
  try {
    const entries = readdirSync(hooks, { withFileTypes: true });
    const links = entries.filter((entry) => entry.isSymbolicLink());
    return [...folder, ...links.map(({ name }) => path.join(hooks, name))];
  } catch {
    // The folder does not exist.
    return folder;
  }
}

/**
 * Returns the files and folders that are named in a configuration file or in the files that it includes. `folder`
 * contains the files of the repository. `seen` are the configuration files that were read before.
 */
function namedByConfig(file: string, folder: string, seen: Set<string>): string[] {
  if (seen.has(file) || seen.size >= MAX_CONFIGS) return [];
  seen.add(file);
  return Array.from(readText(file).matchAll(NAMING), ([, setting = '', written = '']) => {
    const value = pathIn(written);
    if (/^(?:true|false|)$/i.test(value)) return [];
    const named = path.resolve(folder, value);
    if (setting.toLowerCase() !== 'path') return [named, ...linksOf(named)];
    const included = path.resolve(path.dirname(file), value);
    return [included, ...namedByConfig(included, folder, seen)];
  }).flat();
}

/** Returns the path in the value of a setting, without its quotes. `~/` becomes the user's home folder. */
function pathIn(written: string): string {
  const value = written
    .replaceAll(/\\\r?\n/g, '')
    .trim()
    .replaceAll(/"|\\(.)/gs, (_, escaped?: string) =>
      escaped === undefined ? '' : (ESCAPES[escaped] ?? escaped),
    );
  return value.startsWith('~/') ? path.join(homeFolder(), value.slice(2)) : value;
}

function isRepository(git: string): boolean {
  const stats = statsOf(git);
  return stats?.isFile() === true || statsOf(path.join(git, 'HEAD')) !== undefined;
}

function statsOf(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    // The file does not exist, or its parent is not a folder.
    return undefined;
  }
}

/** Returns the path without symbolic links. If the path does not exist, returns it unchanged. */
function resolved(file: string): string {
  return realOf(file) ?? file;
}

function readText(file: string): string {
  try {
    if (!statSync(file).isFile()) return '';
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
