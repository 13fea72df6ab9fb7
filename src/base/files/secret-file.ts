/** Files that only their owner may read, such as those with secrets. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { systemCode } from '../errors.ts';
import { makeFolder } from './make-folder.ts';

/**
 * Reads a file with a secret. If the file does not exist, creates it with the result of `make`, with access for the
 * owner only. The file appears with its complete content, so other processes never read a part of it, even after a
 * power failure. If two processes create the file at the same time, both return the content of the first.
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

/** Writes a file with access for the owner only. Replaces the file if it exists, or keeps it if the write fails. */
export function writePrivateFile(file: string, content: string | Uint8Array): void {
  withDraft(file, Buffer.from(content), (draft) => renameSync(draft, file));
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

/** Writes the content to another file beside the file, and passes its path to `publish`. */
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
