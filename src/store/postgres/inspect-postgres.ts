/**
 * Describes a task store in PostgreSQL for the operator. Changes nothing, and servers may use the database at the same
 * time.
 */
import { fromPostgresRow, openPostgres, type Postgres } from '../../base/postgres/index.ts';
import { ChangeClock, KEPT } from '../../tasks/index.ts';
import type { OwnedDeadLetter, StoreReport } from '../inspect-store.ts';
import { CLUSTER } from './cluster-schema.ts';
import { isAlive } from './cluster-statements.ts';
import { TASKS } from './migrations.ts';
import { IS_FINISHED, IS_UNFINISHED } from './statements.ts';

export interface PostgresReport extends Pick<
  StoreReport,
  'bytes' | 'tasks' | 'old' | 'deadLetters'
> {
  /** The host and the database, without the password. */
  readonly name: string;
  /** The version of PostgreSQL on the database server. */
  readonly server: string;
  /** Number of nodes with a valid lease. */
  readonly nodes: number;
  /** Number of submitted and working tasks whose node is gone. */
  readonly orphans: number;
}

function open(url: string): Promise<Postgres> {
  return openPostgres(url, { schemas: [TASKS, CLUSTER], poolSize: 1, migrate: false });
}

/** Returns the report. `endedBefore` is a time in milliseconds. Throws a StoreError if the database cannot be read. */
export async function inspectPostgres(url: string, endedBefore: number): Promise<PostgresReport> {
  await using db = await open(url);
  const [row] = await db.query<Omit<PostgresReport, 'name'>>(
    `SELECT current_setting('server_version') AS server,
       (SELECT coalesce(sum(bytes), 0)::bigint FROM parley.counters) AS bytes,
       (SELECT coalesce(sum(n), 0)::bigint FROM parley.counters) AS tasks,
       (SELECT count(*) FROM parley.tasks
          WHERE ${IS_FINISHED} AND changed < $1 AND expires_at IS DISTINCT FROM ${KEPT}) AS old,
       (SELECT count(*) FROM parley.dead_letters) AS "deadLetters",
       (SELECT count(*) FROM parley.nodes WHERE lease_until > clock_timestamp()) AS nodes,
       (SELECT count(*) FROM parley.tasks t WHERE ${IS_UNFINISHED} AND t.node IS NOT NULL
          AND NOT ${isAlive('t.node')}) AS orphans`,
    [ChangeClock.first(Math.max(0, endedBefore))],
  );
  if (!row) throw new Error('the database returned no row');
  return { name: db.name, ...row };
}

/**
 * Returns at most `limit` dead letters of all owners, the latest first. Throws a StoreError if the database cannot be
 * read.
 */
export async function postgresDeadLetters(url: string, limit: number): Promise<OwnedDeadLetter[]> {
  await using db = await open(url);
  const rows = await db.query<OwnedDeadLetter>(
    `SELECT s.tenant, s.owner, t.task_id AS "taskId", p.config_id AS "configId", d.seq, d.reason, d.attempts, d.at
     FROM parley.dead_letters d JOIN parley.push p ON p.id = d.push JOIN parley.tasks t ON t.id = p.task
       JOIN parley.scopes s ON s.id = d.scope
     ORDER BY d.at DESC, d.seq DESC LIMIT $1`,
    [limit],
  );
  return rows.map((row) => fromPostgresRow(row));
}
