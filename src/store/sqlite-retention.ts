/** Removes old tasks from the SQLite store, and gives their space back. */
import type { DatabaseSync } from 'node:sqlite';
import { isTerminal } from '../protocol/index.ts';
import { ChangeClock, type StoreRetention } from '../tasks/index.ts';
import type { Version } from './batch-changes.ts';
import { Query } from './statements.ts';

/** Maximum number of log entries that are removed in one transaction. More would block the event loop. */
const MAX_ENTRIES = 5000;
/** Number of pages that one step gives back. */
const STEP_PAGES = 256;
/** Free pages up to this number, and up to this part of the data, are kept for new tasks. */
const SPARE_PAGES = 1024;
const SPARE_PART = 0.05;

/** The value of `auto_vacuum` in files whose free pages can be given back. */
const INCREMENTAL = 2;

/** What is needed of the store. */
interface Store {
  /** Runs the work in a transaction. */
  transaction<Result>(work: () => Result): Result;
  version(taskId: string): Version | undefined;
  /** Removes a task. */
  drop(taskId: string, version: Version): void;
  /** Removes the entries after `after`. */
  dropEvents(taskId: string, version: Version, after: number): void;
}

type FinishedRow = [tenant: string, owner: string, taskId: string, changed: number, isDue: number];

export function sqliteRetention(db: DatabaseSync, store: Store): StoreRetention {
  const number = (name: string) => {
    const query = new Query<[number]>(db, `PRAGMA ${name}`);
    return () => query.get()?.[0] ?? 0;
  };
  const pages = number('page_count');
  const freePages = number('freelist_count');
  const pageBytes = number('page_size')();
  const reclaims = canReclaim(db);
  // There is no join with the log, because a task that was removed in part must be found again.
  const finished = new Query<FinishedRow>(
    db,
    `SELECT s.tenant, s.owner, t.task_id, t.changed,
       EXISTS (SELECT 1 FROM push p WHERE p.task = t.id AND p.due_at IS NOT NULL)
     FROM tasks t INDEXED BY tasks_finished CROSS JOIN scopes s ON s.id = t.scope
     WHERE t.state IN ('completed', 'canceled', 'failed', 'rejected') AND t.changed > ?
     ORDER BY t.changed LIMIT ?`,
  );
  const statusSeq = new Query<[seq: number]>(db, 'SELECT status_seq FROM tasks WHERE task_id = ?');

  return {
    size: () => (pages() - freePages()) * pageBytes,

    finished: ({ after = 0, limit }) =>
      finished.all(after, limit).map(([tenant, owner, taskId, changed, isDue]) => {
        const endedAt = ChangeClock.time(changed);
        return { tenant, owner, taskId, endedAt, position: changed, isDue: isDue === 1 };
      }),

    remove: (tasks) =>
      store.transaction(() => {
        let room = MAX_ENTRIES;
        for (const [done, { taskId }] of tasks.entries()) {
          const version = store.version(taskId);
          if (!version || !isTerminal(version.state)) continue;
          room -= version.seq;
          if (room >= 0) {
            store.drop(taskId, version);
            continue;
          }
          // A large task is removed in parts, the end first. So clients do not see a part of it.
          const [status = 1] = statusSeq.get(taskId) ?? [];
          const after = Math.min(version.seq - MAX_ENTRIES, status - 1);
          if (done === 0) store.dropEvents(taskId, version, after);
          return done;
        }
        return tasks.length;
      }),

    reclaim() {
      const free = freePages();
      const spare = Math.max(SPARE_PAGES, (pages() - free) * SPARE_PART);
      if (!reclaims || free <= spare) return false;
      db.exec(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, Math.ceil(free - spare))})`);
      // The file becomes shorter when the write-ahead log is written back.
      if (freePages() <= spare) db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      return true;
    },
  };
}

/** Returns whether the free pages of the file can be given back to the file system. */
export function canReclaim(db: DatabaseSync): boolean {
  return new Query<[number]>(db, 'PRAGMA auto_vacuum').get()?.[0] === INCREMENTAL;
}
