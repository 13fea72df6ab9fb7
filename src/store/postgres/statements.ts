/** The statements of the task store in PostgreSQL, and the types of their rows. */
import { createHash } from 'node:crypto';
import {
  fromPostgresRow,
  fromPostgresText,
  statements,
  toPostgresText,
} from '../../base/postgres/index.ts';
import type { Task, TaskStatusUpdateEvent } from '../../protocol/index.ts';
import {
  ChangeClock,
  foldedStatus,
  type PushKey,
  type Scope,
  type TaskHead,
} from '../../tasks/index.ts';

/** The columns of a task's head. `json` is the log entry with the status, or null if the task is being removed. */
export type HeadRow = [
  taskId: string,
  contextId: string,
  changed: number,
  createdAt: number,
  expiresAt: number | null,
  seq: number,
  artifactAt: number | null,
  epoch: number,
  node: string | null,
  id: number,
  json: string | null,
];

export type ScopedHeadRow = [tenant: string, owner: string, ...head: HeadRow];

const COLUMNS = `t.task_id, t.context_id, t.changed, t.created_at, t.expires_at, t.seq, t.artifact_at, t.epoch,
  t.node, t.id`;
const JSON_OF = '(SELECT e.json FROM parley.events e WHERE e.task = t.id AND e.seq = t.status_seq)';

/** The columns of `HeadRow`, selected from parley.tasks as `t`. */
export const HEAD = `${COLUMNS}, ${JSON_OF}`;
/** The columns of `ScopedHeadRow`. */
export const SCOPED_HEAD = `(SELECT s.tenant FROM parley.scopes s WHERE s.id = t.scope),
  (SELECT s.owner FROM parley.scopes s WHERE s.id = t.scope), ${HEAD}`;
/** The condition for tasks that have ended. */
export const IS_FINISHED = `state IN ('completed', 'canceled', 'failed', 'rejected')`;
/** The condition for tasks that are running or have not started yet. */
export const IS_UNFINISHED = `t.state IN ('submitted', 'working')`;
/** The row id of a task, by its task id in the first parameter. */
export const TASK = '(SELECT id FROM parley.tasks WHERE task_id = $1)';
/**
 * The parameters of a page: $1 the scope, $2 the states, $3 the lowest `changed`, $4 and $5 the position of the last
 * row of the previous page, $6 the number of rows.
 */
const IN_STATE = 't.scope = $1 AND t.state = s.state AND t.changed >= $3';
const PAGE = `AND (t.changed, t.id) < ($4, $5) ORDER BY t.changed DESC, t.id DESC LIMIT $6`;

const page = (filter: string) =>
  `SELECT p.task_id, p.context_id, p.changed, p.created_at, p.expires_at, p.seq, p.artifact_at, p.epoch, p.node, p.id,
     (SELECT e.json FROM parley.events e WHERE e.task = p.id AND e.seq = p.status_seq)
   FROM (
     SELECT t.* FROM unnest($2::text[]) AS s (state)
     CROSS JOIN LATERAL (SELECT t.* FROM parley.tasks t WHERE ${IN_STATE} ${filter} ${PAGE}) t
     ORDER BY t.changed DESC, t.id DESC LIMIT $6) p
   ORDER BY p.changed DESC, p.id DESC`;

export const STATEMENTS = statements('', {
  addScope:
    'INSERT INTO parley.scopes (key, tenant, owner) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING RETURNING id',
  findScope: 'SELECT id FROM parley.scopes WHERE key = $1',

  head: `SELECT ${HEAD} FROM parley.tasks t WHERE t.task_id = $1 AND t.scope = $2`,
  read: `SELECT e.seq, e.json FROM parley.events e WHERE e.task = ${TASK} AND e.seq > $2 ORDER BY e.seq LIMIT $3`,
  message: `SELECT (SELECT t.task_id FROM parley.tasks t WHERE t.id = m.task)
     FROM parley.messages m WHERE m.scope = $1 AND m.message_id = $2`,
  unfinished: `SELECT ${SCOPED_HEAD} FROM parley.tasks t WHERE ${IS_UNFINISHED}`,
  expired: `SELECT ${SCOPED_HEAD} FROM parley.tasks t
     WHERE t.expires_at <= $1 ORDER BY t.expires_at, t.id LIMIT $2`,
  setExpiry: 'UPDATE parley.tasks SET expires_at = $3 WHERE task_id = $1 AND scope = $2',

  pageOfState: page(''),
  pageOfContext: page('AND t.context_id = $7'),
  counters:
    'SELECT coalesce(sum(n), 0)::bigint FROM parley.counters WHERE scope = $1 AND state = ANY ($2)',
  countOfState:
    'SELECT count(*) FROM parley.tasks t WHERE t.scope = $1 AND t.state = ANY ($2) AND t.changed >= $3',
  countOfContext: `SELECT count(*) FROM parley.tasks t
     WHERE t.scope = $1 AND t.state = ANY ($2) AND t.changed >= $3 AND t.context_id = $4`,
});

/** Converts a row to a head. Returns undefined if the task is being removed. */
export function toHead({ tenant, owner }: Scope, row: HeadRow): TaskHead | undefined {
  const [taskId, contextId, changed, createdAt, expires, seq, artifactAt, epoch, node, , json] =
    row;
  if (json === null) return undefined;
  const event: Task | TaskStatusUpdateEvent = JSON.parse(json);
  const status = foldedStatus(event);
  return {
    tenant,
    owner,
    taskId: fromPostgresText(taskId),
    contextId: fromPostgresText(contextId),
    seq,
    status,
    updatedAt: ChangeClock.time(changed),
    createdAt,
    expiresAt: expires ?? undefined,
    // `artifactAt` is defined for working tasks only (see `TaskHead`).
    ...(status.state === 'working' && { artifactAt: artifactAt ?? undefined }),
    ...(epoch > 0 && { epoch }),
    ...(node !== null && { node }),
  };
}

export function toHeads(rows: readonly ScopedHeadRow[]): TaskHead[] {
  return rows.flatMap(([tenant, owner, ...row]) => {
    return toHead(fromPostgresRow({ tenant, owner }), row) ?? [];
  });
}

/** Returns the ids of a webhook for a statement. */
export function pushValues({ taskId, configId }: PushKey): string[] {
  return [toPostgresText(taskId), toPostgresText(configId)];
}

/** Returns the hash by which the database finds a scope. `key` is the result of `scopeKey`. */
export function scopeHash(key: string): Uint8Array {
  return createHash('sha256').update(key, 'utf16le').digest();
}
