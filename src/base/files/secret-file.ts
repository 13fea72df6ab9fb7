/** Files that only their owner may read, such as those with secrets. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode } from '../errors.ts';
import { isUnix } from '../system/index.ts';
import { makeFolder } from './make-folder.ts';

/** Maximum length of a chain of symbolic links, as in Linux. */
const MAX_LINKS = 40;

/**
 * Reads a file with a secret. If the file does not exist, creates it with the result of `make`, with access for the
 * owner only. The file appears with its complete content, so other processes never read a part of it, even after a
 * power failure. If two processes create the file at the same time, both return the content of the first process.
 */
export function readOrCreateSecret(file: string, make: () => string | Uint8Array): Buffer {
  return readSecret(file) ?? create(file, make());
}

/** Reads a file with a secret. Returns undefined if the file does not exist. */
export function readSecret(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Returns whether the group or other users have access to the file. False if the file does not exist, and on Windows,
 * which has no such modes.
 */
export function isExposed(file: string): boolean {
  const { mode = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return isUnix && (mode & 0o077) !== 0;
}

/**
 * Writes a file with access for the owner only. An existing file is replaced. If the write fails, the existing file
 * stays unchanged. If the file is a symbolic link, its target is written and the link stays. Throws if there is
 * something else at the path, such as a folder or a pipe.
 */
export function writePrivateFile(file: string, content: string | Uint8Array): void {
  const target = targetOf(file);
  withDraft(target, Buffer.from(content), (draft) => renameSync(draft, target));
}

/** Follows symbolic links to a regular file, or to the path of a file that does not exist yet. */
function targetOf(file: string): string {
  let target = file;
  for (let links = 0; links <= MAX_LINKS; links += 1) {
    const found = lstatSync(target, { throwIfNoEntry: false });
    if (!found || found.isFile()) return target;
    if (!found.isSymbolicLink()) throw new Error(`${target} is not a regular file`);
    // A relative link starts at the real folder of the link.
    target = resolve(realpathSync(dirname(target)), readlinkSync(target));
  }
  throw new Error(`${file}: too many symbolic links`);
}

function create(file: string, secret: string | Uint8Array): Buffer {
  const content = Buffer.from(secret);
  try {
    // Unlike a rename, a link fails if another process has created the file in the meantime.
    withDraft(file, content, (draft) => linkSync(draft, file));
    return content;
  } catch (error) {
    const found = systemCode(error) === 'EEXIST' ? readSecret(file) : undefined;
    if (found) return found;
    throw error;
  }
}

/** Writes the content to a temporary file in the same folder. Calls `publish` with its path, and removes the file. */
function withDraft(file: string, content: Buffer, publish: (draft: string) => void): void {
  makeFolder(dirname(file));
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      // Unlike writeSync, writeFileSync continues after a short write, and throws if the disk is full.
      writeFileSync(descriptor, content);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    publish(draft);
  } finally {
    rmSync(draft, { force: true });
  }
}
