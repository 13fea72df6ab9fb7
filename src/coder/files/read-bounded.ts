/** Reads the start of a regular file, up to a limit. Refuses devices and pipes. */
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { FileError } from './file-error.ts';
import { openPathHandle } from './path-handle.ts';
import { isInside, isOfSystem } from './path-rules.ts';

export interface BoundedRead {
  /** The real path, without links. */
  readonly path: string;
  /** The start of the file, at most `limit` bytes. */
  readonly bytes: Buffer;
  /** The size of the whole file. */
  readonly size: number;
}

/**
 * Reads the first `limit` bytes of a file. `within` is the real path of a folder. A file whose real path is outside
 * this folder is refused. Throws a FileError or a system error.
 */
export async function readBounded(
  path: string,
  limit: number,
  { within, signal }: { readonly within?: string | undefined; readonly signal?: AbortSignal } = {},
): Promise<BoundedRead> {
  signal?.throwIfAborted();
  await using held = await openPathHandle(path);
  if (within !== undefined && (!isInside(within, held.path) || isOfSystem(held.path))) {
    throw new FileError('outside', `${path} is outside ${within}`);
  }
  if (!held.stats.isFile()) throw new FileError('wrong-kind', `${path} is not a file`);
  await using handle = await open(held.self, constants.O_RDONLY | constants.O_NONBLOCK);
  const size = Number(held.stats.size);
  const buffer = Buffer.alloc(Math.min(limit, Math.max(size, 0)));
  let filled = 0;
  while (filled < buffer.length) {
    signal?.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  await held.confirm();
  return { path: held.path, bytes: buffer.subarray(0, filled), size };
}

/** Returns whether the file exists. A broken link counts as existing. */
export async function isThere(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined)) !== undefined;
}
