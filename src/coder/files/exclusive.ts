/**
 * Serializes changes to the user's own files, such as settings.json. Several processes may want to change the same file
 * at the same time.
 */
import path from 'node:path';
import { backoffMs, pause } from '../../base/index.ts';
import { prepareFile, tryLock, type FileLock } from '../../base/sqlite/index.ts';
import { fileTurns } from './queue.ts';

/** Maximum time to wait for another process that changes the file. */
const MAX_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;

/**
 * Runs work that reads a file and then writes it. No other work for the same path runs at the same time, in this
 * process or in another one. The lock file is beside the file (`.NAME.lock`). If the file is a link, the lock file is
 * beside the link. Rejects if another process does not release the lock within 10 seconds.
 *
 *     await exclusively(file, async () => write(file, changed(await read(file))));
 */
export function exclusively<T>(file: string, work: () => Promise<T>): Promise<T> {
  return fileTurns.run(file, async () => {
    const lock = await lockOf(file);
    try {
      return await work();
    } finally {
      lock.release();
    }
  });
}

async function lockOf(file: string): Promise<FileLock> {
  const lockFile = prepareFile(path.join(path.dirname(file), `.${path.basename(file)}.lock`));
  const giveUpAt = performance.now() + MAX_WAIT_MS;
  for (let attempt = 1; ; attempt += 1) {
    const lock = tryLock(lockFile);
    if (lock) return lock;
    if (performance.now() >= giveUpAt) {
      throw new Error(`${file} is in use by another process; try again`);
    }
    await pause(backoffMs(attempt, FIRST_PAUSE_MS, MAX_PAUSE_MS));
  }
}
