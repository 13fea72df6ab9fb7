/**
 * Saves the files that MCP servers send, except images that the model gets. They are stored in `mcp-files` in the data
 * folder, and only the user may read them. If there are too many files, or if they are too large together, the oldest
 * are removed.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SaveMcpFile } from '../../agent/index.ts';

const MAX_FILES = 200;
const MAX_TOTAL_BYTES = 200 * 1024 * 1024;

/**
 * Returns a function that saves a file and returns its path. If the file cannot be saved, the function calls `failed`
 * and returns undefined. If old files cannot be removed, it calls `failed` and still returns the path.
 */
export function mcpFiles(dataFolder: string, failed: (error: unknown) => void): SaveMcpFile {
  const folder = path.join(dataFolder, 'mcp-files');
  return async ({ bytes, mediaType }) => {
    // A name begins with the time, so the order of the names is the order of time. Only the file extension comes from
    // the server. It has only letters and digits.
    const type = /\/([a-z0-9]{1,8})$/.exec(mediaType)?.[1] ?? 'bin';
    const time = new Date().toISOString().replaceAll(/\D/g, '');
    const file = path.join(folder, `${time}-${randomBytes(4).toString('hex')}.${type}`);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(file, bytes, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      failed(error);
      return undefined;
    }
    await removeOldest(folder).catch(failed);
    return file;
  };
}

async function removeOldest(folder: string): Promise<void> {
  const names = (await readdir(folder)).toSorted().toReversed();
  let total = 0;
  for (const [at, name] of names.entries()) {
    const file = path.join(folder, name);
    // Another process may have removed the file in the meantime.
    total += (await stat(file).catch(() => undefined))?.size ?? 0;
    if (at > 0 && (at >= MAX_FILES || total > MAX_TOTAL_BYTES)) await rm(file, { force: true });
  }
}
