/**
 * Removes tasks from PostgreSQL. The database reuses the space of removed rows (autovacuum), and does not give it back
 * to the file system.
 */
import {
  fromPostgresRow,
  fromPostgresText,
  statements,
  toPostgresText,
  type Executor,
  type Postgres,
} from '../../base/postgres/index.ts';
import { ChangeClock, KEPT, type FinishedTask, type StoreRetention } from '../../tasks/index.ts';
import { removalPlan } from '../removal-plan.ts';
import { IS_FINISHED } from './statements.ts';

interface TaskRow {
  readonly id: number;
  readonly task_id: string;
  readonly scope: number;
  readonly state: string;
  readonly seq: number;
  readonly statusSeq: number;
  readonly counted: number;
}

type FinishedRow = [
  tenant: string,
  owner: string,
  taskId: string,
  contextId: string,
  changed: number,
  isDue: boolean,
];

const COLUMNS = 'id, task_id, scope, state, seq, status_seq AS "statusSeq", counted';

const finished = (filter: string) =>
  `SELECT s.tenant, s.owner, t.task_id, t.context_id, t.changed,
     EXISTS (SELECT FROM parley.push p WHERE p.task = t.id AND p.due_at IS NOT NULL)
   FROM (SELECT * FROM parley.tasks WHERE ${IS_FINISHED} AND ${filter} AND changed > $1
         ORDER BY changed, id LIMIT $2) t
   CROSS JOIN LATERAL (SELECT * FROM parley.scopes s WHERE s.id = t.scope LIMIT 1) s
   ORDER BY t.changed, t.id`;

const SQL = statements('', {
  finished: finished(`expires_at IS DISTINCT FROM ${KEPT}`),
  kept: finished(`expires_at = ${KEPT}`),
  size: 'SELECT coalesce(sum(bytes), 0)::bigint FROM parley.counters',
  sizeOf: 'SELECT coalesce(sum(counted), 0)::bigint FROM parley.tasks WHERE task_id = ANY ($1)',
});

/**
 * Removes a task. If `seq` is given, removes the task only if it is finished and its last entry has this sequence
 * number. Returns whether it was removed.
 */
export function dropTask(
  db: Postgres,
  taskId: string,
  scope: number,
  seq?: number,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const tasks = await tx.query<TaskRow>(
      `SELECT ${COLUMNS} FROM parley.tasks WHERE task_id = $1 AND scope = $2
         AND ($3::integer IS NULL OR seq = $3 AND ${IS_FINISHED}) FOR UPDATE`,
      [toPostgresText(taskId), scope, seq ?? null],
    );
    await drop(tx, tasks);
    return tasks.length > 0;
  });
}

/**
 * Removes tasks whose rows an earlier statement of the transaction has locked. Nothing can be appended to these tasks
 * any more, so the statements below see all entries.
 */
async function drop(tx: Executor, tasks: readonly TaskRow[]): Promise<void> {
  if (tasks.length === 0) return;
  const ids = tasks.map(({ id }) => id);
  await dropEntries(tx, ids, 0);
  await tx.query(
    'DELETE FROM parley.dead_letters WHERE push IN (SELECT id FROM parley.push WHERE task = ANY ($1))',
    [ids],
  );
  await tx.query('DELETE FROM parley.push WHERE task = ANY ($1)', [ids]);
  await tx.query('DELETE FROM parley.tasks WHERE id = ANY ($1)', [ids]);
  await changeCounters(tx, tasks, -1);
}

/** Adds tasks to the counters (`sign` is 1), or removes them from the counters (-1). */
export async function changeCounters(
  tx: Executor,
  tasks: readonly Pick<TaskRow, 'scope' | 'state' | 'counted'>[],
  sign: 1 | -1,
): Promise<void> {
  await tx.query(
    `INSERT INTO parley.counters AS c (scope, state, shard, n, bytes)
     SELECT u.scope, u.state, pg_backend_pid() % 8, $4::integer * count(*), $4::integer * sum(u.counted)
     FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS u (scope, state, counted)
     GROUP BY u.scope, u.state ORDER BY u.scope, u.state
     ON CONFLICT (scope, state, shard) DO UPDATE SET n = c.n + excluded.n, bytes = c.bytes + excluded.bytes`,
    [
      tasks.map(({ scope }) => scope),
      tasks.map(({ state }) => state),
      tasks.map(({ counted }) => counted),
      sign,
    ],
  );
}

/** Removes the entries after `after`, and the message ids of the tasks. */
async function dropEntries(tx: Executor, ids: readonly number[], after: number): Promise<void> {
  await tx.query('DELETE FROM parley.messages WHERE task = ANY ($1)', [ids]);
  await tx.query('DELETE FROM parley.events WHERE task = ANY ($1) AND seq > $2', [ids, after]);
}

export function postgresRetention(db: Postgres): StoreRetention {
  async function remove(tasks: readonly FinishedTask[]): Promise<number> {
    return db.transaction(async (tx) => {
      const found = await tx.query<TaskRow>(
        `SELECT ${COLUMNS} FROM parley.tasks WHERE task_id = ANY ($1) AND ${IS_FINISHED} ORDER BY id FOR UPDATE`,
        [tasks.map(({ taskId }) => toPostgresText(taskId))],
      );
      const rows = new Map(found.map((row) => [fromPostgresText(row.task_id), row]));
      const { whole, part, done } = removalPlan(tasks, (taskId) => rows.get(taskId));
      await drop(tx, whole);
      if (part) {
        const { task, after } = part;
        await dropEntries(tx, [task.id], after);
        await tx.query('UPDATE parley.tasks SET seq = $2 WHERE id = $1', [task.id, after]);
      }
      return done;
    });
  }

  return {
    // The default is no limit, because the operator manages the database. A configured limit replaces this default.
    maxBytes: Infinity,
    async size() {
      const [row] = await db.run<[bytes: number]>(SQL.size);
      return row?.[0] ?? 0;
    },
    async sizeOf(tasks) {
      const ids = tasks.map(({ taskId }) => toPostgresText(taskId));
      const [row] = await db.run<[bytes: number]>(SQL.sizeOf, [ids]);
      return row?.[0] ?? 0;
    },
    async finished({ after = 0, limit, kept = false }) {
      const rows = await db.run<FinishedRow>(kept ? SQL.kept : SQL.finished, [after, limit]);
      return rows.map(([tenant, owner, taskId, contextId, position, isDue]) => {
        const endedAt = ChangeClock.time(position);
        return fromPostgresRow({ tenant, owner, taskId, contextId, endedAt, position, isDue });
      });
    },
    remove,
    reclaim: () => false,
  };
}
