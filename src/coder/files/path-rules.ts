/**
 * Rules for paths that need no access to the disk.
 *
 * Names that some file system treats as equal are treated as equal here on every system, because a workspace may move
 * between machines: `.GIT`, `.git.`, `.g<zero width>it` and `GIT~1` are all `.git` on some system.
 */
import { isAbsolute, relative, sep } from 'node:path';
import { FileError } from './file-error.ts';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

// oxlint-disable-next-line no-control-regex -- searches for control characters
const CONTROL = /[\u0000-\u001f\u007f]/;
/** They change the direction of text: a person may see `exe.txt` for `txt.exe`. */
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/;
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]/g;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const SHORT_GIT = /^git~\d+$/;

/** Throws if a path is not acceptable as the name of a file. */
export function checkPath(path: string, platform: NodeJS.Platform = process.platform): void {
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
    if (platform === 'win32' && WINDOWS_DEVICE.test(name)) refuse('is the name of a device');
  }
  // A colon after the drive letter selects another stream of the file.
  if (platform === 'win32' && path.replace(/^[a-z]:/i, '').includes(':')) {
    refuse('contains a colon');
  }
}

/** Whether `path` is `root` or inside it. Both are absolute and normalized. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Whether the path is in the kernel's virtual file systems. These are refused even if the workspace is `/`. */
export function isOfSystem(path: string): boolean {
  return ['/proc', '/sys', '/dev'].some((folder) => isInside(folder, path));
}

/** The name as the most lenient file system compares it. */
function plain(name: string): string {
  return name
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
    .toLowerCase();
}

/** Why tools may not write to this path, relative to a root; undefined if they may. */
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
