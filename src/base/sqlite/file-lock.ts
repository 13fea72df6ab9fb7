/**
 * A lock between processes: an open transaction in an empty database. The operating system releases the lock when its
 * process ends, even after a crash, so there are no stale locks. The lock file stays after the release. If it were
 * removed, a process that has already opened it and a process that creates it again could both get the lock.
 */
import { DatabaseSync } from 'node:sqlite';
import { createFile } from './open-database.ts';
import { isDatabaseBusy } from './store-error.ts';

export interface FileLock {
  /** Whether `tryLock` created the lock file. */
  readonly created: boolean;
  release(): void;
}

/**
 * Takes the lock whose lock file has this path. Creates the file if it does not exist. Returns undefined if another
 * process, or another caller in this process, holds the lock. Does not wait.
 */
export function tryLock(path: string): FileLock | undefined {
  const created = createFile(path);
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (isDatabaseBusy(error)) return undefined;
    throw error;
  }
  const held = lock;
  return { created, release: () => held.close() };
}
