/**
 * What a path may look like, before the disk is asked.
 *
 * Names that look alike to a file system count as the same here on every system: a workspace moves between machines,
 * and `.GIT`, `.git.`, `.g<zero width>it` and `GIT~1` are all `.git` somewhere.
 */
import { isAbsolute, relative, sep } from 'node:path';
import { FileError } from './file-error.ts';

const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

// oxlint-disable-next-line no-control-regex -- that is what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/;
/** They turn the order of what a person reads around, so that `exe.txt` is shown for `txt.exe`. */
const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/;
const INVISIBLE = /[\u00ad\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]/g;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const SHORT_GIT = /^git~\d+$/;

/** Throws when no file should be called so. */
export function checkPath(path: string, platform: NodeJS.Platform = process.platform): void {
  const refuse = (why: string): never => {
    throw new FileError('bad-path', `the path ${JSON.stringify(path.slice(0, 200))} ${why}`);
  };
  if (path === '') refuse('is empty');
  if (CONTROL.test(path)) refuse('has control characters in it');
  if (BIDIRECTIONAL.test(path)) refuse('has characters in it that change the direction of text');
  if (!path.isWellFormed()) refuse('is not well-formed Unicode');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) refuse(`is longer than ${MAX_PATH_BYTES} bytes`);
  if (path === '~' || path.startsWith('~/')) {
    refuse('begins with ~, which is not expanded; give it relative to the workspace');
  }
  if (/^[a-z]+:\/\//i.test(path)) refuse('is a URL; give a path of the workspace');
  for (const name of path.split(/[/\\]/)) {
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
      refuse(`has a name in it that is longer than ${MAX_NAME_BYTES} bytes`);
    }
    if (platform === 'win32' && WINDOWS_DEVICE.test(name)) refuse('names a device');
  }
  // Past the drive's letter a colon names another stream of the same file.
  if (platform === 'win32' && path.replace(/^[a-z]:/i, '').includes(':')) {
    refuse('has a colon in it');
  }
}

/** Whether `path` is `root` or lies below it; both are absolute and normal. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Where the kernel shows itself as files. Not even a workspace that is `/` has them. */
export function isOfSystem(path: string): boolean {
  return ['/proc', '/sys', '/dev'].some((folder) => isInside(folder, path));
}

/** The name as the laxest of file systems compares it. */
function plain(name: string): string {
  return name
    .normalize('NFKC')
    .replace(INVISIBLE, '')
    .replace(/:.*$/, '')
    .replace(/[. ]+$/, '')
    .toLowerCase();
}

/** Why nothing may be written at this path, seen from a root; undefined when it may. */
export function protectedName(way: string): string | undefined {
  const names = way.split(/[/\\]/).map(plain);
  for (const [at, name] of names.entries()) {
    if (name === '.git' || SHORT_GIT.test(name)) {
      return 'git runs what lies in .git, so tools do not write there; use git itself';
    }
    if (name === '.parley' && names[at + 1] === 'settings.json') {
      return 'the settings decide what tools may do, so tools do not change them; ask the user to';
    }
  }
  return undefined;
}
