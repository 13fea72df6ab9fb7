/**
 * Removes tasks from PostgreSQL. The database reuses the space of removed rows (autovacuum), and does not give it back to
 * the file system.
 */
import {
  fromPostgresRow,
  fromPostgresText,
  statements,
  toPostgresText,
  type Executor,
  type Postgres,
} from '../../base/postgres/index.ts';
import { ChangeClock, type FinishedTask, type StoreRetention } from '../../tasks/index.ts';
import { IS_FINISHED } from './statements.ts';

/** Maximum number of log entries that are removed in one transaction. */
const MAX_ENTRIES = 5000;

interface TaskRow {
  readonly id: number;
  readonly task_id: string;
  readonly scope: number;
  readonly state: string;
  readonly seq: number;
  readonly status_seq: number;
  readonly counted: number;
}

type FinishedRow = [tenant: string, owner: string, taskId: string, changed: number, isDue: boolean];

const COLUMNS = 'id, task_id, scope, state, seq, status_seq, counted';

const SQL = statements('', {
  finished: `SELECT s.tenant, s.owner, t.task_id, t.changed,
               EXISTS (SELECT FROM parley.push p WHERE p.task = t.id AND p.due_at IS NOT NULL)
             FROM (SELECT * FROM parley.tasks WHERE ${IS_FINISHED} AND changed > $1 ORDER BY changed, id LIMIT $2) t
             CROSS JOIN LATERAL (SELECT * FROM parley.scopes s WHERE s.id = t.scope LIMIT 1) s
             ORDER BY t.changed, t.id`,
  size: 'SELECT coalesce(sum(bytes), 0)::bigint FROM parley.counters',
});

/** Removes a task. Returns whether it existed. */
export function dropTask(db: Postgres, taskId: string, scope: number): Promise<boolean> {
  return db.transaction(async (tx) => {
    const tasks = await tx.query<TaskRow>(
      `SELECT ${COLUMNS} FROM parley.tasks WHERE task_id = $1 AND scope = $2 FOR UPDATE`,
      [toPostgresText(taskId), scope],
    );
    await drop(tx, tasks);
    return tasks.length > 0;
  });
}

/**
 * Removes tasks whose rows the transaction has locked. The rows were locked by an earlier statement, so these statements
 * see every entry that was appended before.
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

/** Adds tasks to the counters, or removes them. */
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
      const gone: TaskRow[] = [];
      let done = tasks.length;
      let room = MAX_ENTRIES;
      for (const [at, { taskId }] of tasks.entries()) {
        const row = rows.get(taskId);
        if (!row) continue;
        room -= row.seq;
        if (room < 0) {
          done = at;
          break;
        }
        gone.push(row);
      }
      await drop(tx, gone);
      const large = rows.get(tasks[0]?.taskId ?? '');
      if (done === 0 && large) await dropPart(tx, large);
      return done;
    });
  }

  return {
    // A database server is meant for many tasks, and its operator watches its size.
    maxBytes: Infinity,
    async size() {
      const [row] = await db.run<[bytes: number]>(SQL.size);
      return row?.[0] ?? 0;
    },
    async finished({ after = 0, limit }) {
      const rows = await db.run<FinishedRow>(SQL.finished, [after, limit]);
      return rows.map(([tenant, owner, taskId, changed, isDue]) => {
        const endedAt = ChangeClock.time(changed);
        return fromPostgresRow({ tenant, owner, taskId, endedAt, position: changed, isDue });
      });
    },
    remove,
    reclaim: () => false,
  };
}

/**
 * Removes the last entries of a large task. The entry with the status is in the first part, so that clients never see an
 * incomplete task.
 */
async function dropPart(tx: Executor, { id, seq, status_seq }: TaskRow): Promise<void> {
  const after = Math.max(0, Math.min(seq - MAX_ENTRIES, status_seq - 1));
  await dropEntries(tx, [id], after);
  await tx.query('UPDATE parley.tasks SET seq = $2 WHERE id = $1', [id, after]);
}
