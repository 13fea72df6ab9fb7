/** Removes old tasks from the SQLite store, and gives their space back. */
import type { DatabaseSync } from 'node:sqlite';
import { isTerminal } from '../protocol/index.ts';
import { ChangeClock, KEPT, type StoreRetention } from '../tasks/index.ts';
import type { Version } from './batch-changes.ts';
import { FINISHED } from './migrations.ts';
import { removalPlan } from './removal-plan.ts';
import { Query } from './statements.ts';

/** Maximum number of pages that one call of `reclaim` gives back. */
const STEP_PAGES = 256;
/**
 * Number of free pages that are kept for new tasks, as a fixed number and as a fraction of the used pages. The larger
 * number applies.
 */
const SPARE_PAGES = 1024;
const SPARE_PART = 0.05;
/** Rough size of an entry without its JSON, and of a task without its entries, in bytes, including the indexes. */
const ENTRY_BYTES = 64;
const TASK_BYTES = 512;

/** The value of `auto_vacuum` in files whose free pages can be given back. */
const INCREMENTAL = 2;

/** The methods of the store that the removal needs. */
interface Store {
  /** Ends the transaction that reads share (`SharedReads`). */
  endReads(): void;
  /** Runs the work in a transaction. */
  transaction<Result>(work: () => Result): Result;
  version(taskId: string): Version | undefined;
  /** Removes a task. */
  drop(taskId: string, version: Version): void;
  /** Removes the entries after `after`, and the message ids of the task. */
  dropEvents(taskId: string, version: Version, after: number): void;
}

type FinishedRow = [
  tenant: string,
  owner: string,
  taskId: string,
  contextId: string,
  changed: number,
  isDue: number,
];

export function sqliteRetention(db: DatabaseSync, store: Store): StoreRetention {
  const number = (name: string) => {
    const query = new Query<[number]>(db, `PRAGMA ${name}`);
    return () => query.get()?.[0] ?? 0;
  };
  const pages = number('page_count');
  const freePages = number('freelist_count');
  const pageBytes = number('page_size')();
  const reclaims = canReclaim(db);
  // The query does not join the log. So it also finds a task that was removed in part and has lost its status entry.
  const finished = (filter: string) =>
    new Query<FinishedRow>(
      db,
      `SELECT s.tenant, s.owner, t.task_id, t.context_id, t.changed,
         EXISTS (SELECT 1 FROM push p WHERE p.task = t.id AND p.due_at IS NOT NULL)
       FROM tasks t ${filter} AND ${FINISHED} AND t.changed > ?
       ORDER BY t.changed LIMIT ?`,
    );
  const scoped = 'CROSS JOIN scopes s ON s.id = t.scope WHERE';
  const others = finished(`INDEXED BY tasks_finished ${scoped} t.expires_at IS NOT ${KEPT}`);
  const kept = finished(`INDEXED BY tasks_by_expiry ${scoped} t.expires_at = ${KEPT}`);

  const entryBytes = new Query<[number]>(
    db,
    `SELECT coalesce(sum(octet_length(json) + ${ENTRY_BYTES}), 0) FROM events
     WHERE task = (SELECT id FROM tasks WHERE task_id = ?)`,
  );

  return {
    size: () => (pages() - freePages()) * pageBytes,

    sizeOf: (tasks) =>
      tasks.reduce((sum, { taskId }) => sum + TASK_BYTES + (entryBytes.get(taskId)?.[0] ?? 0), 0),

    finished: ({ after = 0, limit, kept: isKept = false }) =>
      (isKept ? kept : others).all(after, limit).map((row) => {
        const [tenant, owner, taskId, contextId, position, due] = row;
        const endedAt = ChangeClock.time(position);
        return { tenant, owner, taskId, contextId, endedAt, position, isDue: due === 1 };
      }),

    remove: (tasks) =>
      store.transaction(() => {
        const { whole, part, done } = removalPlan(tasks, (taskId) => {
          const version = store.version(taskId);
          return version && isTerminal(version.state) ? { ...version, taskId } : undefined;
        });
        for (const task of whole) store.drop(task.taskId, task);
        if (part) store.dropEvents(part.task.taskId, part.task, part.after);
        return done;
      }),

    reclaim() {
      const free = freePages();
      const spare = Math.max(SPARE_PAGES, (pages() - free) * SPARE_PART);
      if (!reclaims || free <= spare) return false;
      store.endReads();
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
