/**
 * Rules for paths. They need no access to the disk.
 *
 * Names that some file system treats as equal are treated as equal on every system, because a workspace may move
 * between machines. For example, `.GIT`, `.git.`, `.g<zero width>it` and `GIT~1` are the same as `.git` on some
 * systems.
 */
import { SYSTEM } from '../../base/system/index.ts';
import { trimEndOf } from '../../base/index.ts';
import { isAbsolute, relative, sep } from 'node:path';
import { FileError } from './file-error.ts';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

// oxlint-disable-next-line no-control-regex -- searches for control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
/**
 * Characters that change the direction of text. They can make the name of a program look like the name of a text file.
 */
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/;
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]/g;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const SHORT_GIT = /^git~\d+$/;

/** Throws if tools must not use this path because of its characters, its length or its form. */
export function checkPath(path: string, platform: NodeJS.Platform = SYSTEM): void {
  const refuse = (why: string): never => {
    throw new FileError('bad-path', `the path ${JSON.stringify(path.slice(0, 200))} ${why}`);
  };
  if (path === '') refuse('is empty');
  if (CONTROL.test(path)) refuse('contains control characters');
  if (BIDIRECTIONAL.test(path)) refuse('contains characters that change the direction of text');
  if (!path.isWellFormed()) refuse('is not well-formed Unicode');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) refuse(`is longer than ${MAX_PATH_BYTES} bytes`);
  if (path === '~' || path.startsWith('~/')) {
    refuse('starts with ~, which is not expanded; use a path relative to the workspace');
  }
  if (/^[a-z]+:\/\//i.test(path)) refuse('is a URL; use a path in the workspace');
  for (const name of path.split(/[/\\]/)) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
      refuse(`contains a name that is longer than ${MAX_NAME_BYTES} bytes`);
    }
    if (platform === 'win32' && WINDOWS_DEVICE.test(name)) refuse('contains the name of a device');
  }
  // On Windows, a colon selects another stream of the file, except after the drive letter.
  if (platform === 'win32' && path.replace(/^[a-z]:/i, '').includes(':')) {
    refuse('contains a colon');
  }
}

/** Returns whether `path` is `root` or inside `root`. Both must be absolute and normalized. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/**
 * Returns whether the path is in one of the kernel's virtual file systems. These are refused even if the workspace is
 * `/`.
 */
export function isOfSystem(path: string): boolean {
  return ['/proc', '/sys', '/dev'].some((folder) => isInside(folder, path));
}

/** Normalizes a name. Names that some file system treats as equal, such as `.GIT` and `.git.`, get the same form. */
function plain(name: string): string {
  const [base = ''] = name.normalize('NFKC').replace(INVISIBLE, '').split(':', 1);
  return trimEndOf(base, '. ').toLowerCase();
}

/** Returns a path with slashes in which each name is normalized by `plain`. */
export function comparable(way: string): string {
  return way.split('/').map(plain).join('/');
}

/**
 * Returns the reason why tools may not write to this path, or undefined if they may. The path is relative to a root.
 */
export function protectedName(way: string): string | undefined {
  const names = way.split(/[/\\]/).map(plain);
  for (const [at, name] of names.entries()) {
    if (name === '.git' || SHORT_GIT.test(name)) {
      return 'tools may not write into .git, because git runs files in it; use git commands instead';
    }
    if (name === '.parley' && names[at + 1] === 'settings.json') {
      return 'tools may not change the settings, because the settings control the tools; ask the user to change them';
    }
  }
  return undefined;
}
