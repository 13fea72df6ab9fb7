/** The webhooks of the task store in PostgreSQL. */
import {
  fromPostgresRow,
  fromPostgresText,
  statements,
  toPostgresText,
  type Executor,
  type Postgres,
} from '../../base/postgres/index.ts';
import {
  taskNotFound,
  type ProtocolVersion,
  type PushNotificationConfig,
} from '../../protocol/index.ts';
import {
  MAX_DEAD_LETTERS,
  sameJson,
  type DeadLetter,
  type DeadLetterQuery,
  type DuePush,
  type DueQuery,
  type PushChange,
  type PushRecord,
} from '../../tasks/index.ts';
import {
  deadLetter,
  duePush,
  progressColumns,
  pushRecord,
  type DeadLetterRow,
  type DueRow,
  type ProgressRow,
} from '../push-rows.ts';
import type { WebhookSecrets } from '../webhook-secrets.ts';
import type { PostgresCluster } from './postgres-cluster.ts';
import { isAlive } from './cluster-statements.ts';
import { pushValues, TASK } from './statements.ts';

type PushRow = [
  configId: string,
  version: ProtocolVersion,
  config: Uint8Array,
  sealed: boolean,
  view: string | null,
  ...progress: ProgressRow,
];

type SealedRow = [id: number, taskId: string, configId: string, config: Uint8Array];

const LETTER = `(SELECT t.task_id FROM parley.tasks t WHERE t.id = p.task), p.config_id, d.seq, d.reason, d.attempts,
  d.at`;

/** Returns the parameters of `PUSH_SQL.save`. */
export function saveValues(
  { taskId, config, version, view, progress }: PushRecord,
  webhooks: WebhookSecrets,
): unknown[] {
  const stored = webhooks.seal(taskId, config);
  return [
    ...pushValues({ taskId, configId: config.id }),
    version,
    Buffer.from(stored),
    typeof stored !== 'string',
    view ?? null,
    ...progressColumns(progress),
  ];
}

export const PUSH_SQL = statements('push_', {
  // Saves a webhook. Because of the lock, the task cannot be removed before the webhook is saved. The lock does not
  // delay appends.
  save: `WITH task AS (SELECT id FROM parley.tasks WHERE task_id = $1 FOR KEY SHARE),
       saved AS (
         INSERT INTO parley.push
           (task, config_id, version, config, sealed, view, cursor, attempts, failing_since, due_at)
         SELECT id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM task
         ON CONFLICT (task, config_id) DO UPDATE SET
           version = excluded.version, config = excluded.config, sealed = excluded.sealed,
           view = excluded.view, cursor = excluded.cursor, attempts = excluded.attempts,
           failing_since = excluded.failing_since, due_at = excluded.due_at, node = NULL
         RETURNING id, xmax <> 0 AS replaced),
       dropped AS (
         DELETE FROM parley.dead_letters WHERE push = (SELECT id FROM saved) AND seq > $7)
     SELECT replaced FROM saved`,
  list: `SELECT config_id, version, config, sealed, view, cursor, attempts, failing_since, due_at
     FROM parley.push WHERE task = ${TASK} ORDER BY id`,
  sealed: `SELECT p.id, t.task_id, p.config_id, p.config FROM parley.push p JOIN parley.tasks t ON t.id = p.task
     WHERE p.id > $1 AND p.sealed ORDER BY p.id LIMIT 100`,
  // Removes a webhook. If $3 is not NULL, removes it only if its stored configuration equals $3.
  delete: `WITH gone AS (
         DELETE FROM parley.push WHERE task = ${TASK} AND config_id = $2 AND ($3::bytea IS NULL OR config = $3)
         RETURNING id),
       dropped AS (DELETE FROM parley.dead_letters WHERE push = (SELECT id FROM gone))
     SELECT id FROM gone`,
  due: `SELECT s.tenant, s.owner, t.task_id, p.config_id, p.due_at, p.id
     FROM (SELECT * FROM parley.push q WHERE due_at IS NOT NULL AND (due_at, id) > ($1, $2)
             AND (q.node IS NULL OR q.node = $4 OR NOT ${isAlive('q.node')})
           ORDER BY due_at, id LIMIT $3) p
     CROSS JOIN LATERAL (SELECT * FROM parley.tasks t WHERE t.id = p.task LIMIT 1) t
     CROSS JOIN LATERAL (SELECT * FROM parley.scopes s WHERE s.id = t.scope LIMIT 1) s
     ORDER BY p.due_at, p.id`,
  lettersOfScope: `SELECT ${LETTER} FROM (
       SELECT * FROM parley.dead_letters WHERE scope = $1 ORDER BY at DESC, seq DESC LIMIT $2) d
     CROSS JOIN LATERAL (SELECT * FROM parley.push p WHERE p.id = d.push LIMIT 1) p
     ORDER BY d.at DESC, d.seq DESC`,
  lettersOfTask: `SELECT ${LETTER} FROM parley.push p
     CROSS JOIN LATERAL (SELECT * FROM parley.dead_letters d WHERE d.push = p.id LIMIT ${MAX_DEAD_LETTERS}) d
     WHERE p.task = (SELECT id FROM parley.tasks WHERE task_id = $1 AND scope = $2)
       AND ($3::text IS NULL OR p.config_id = $3)
     ORDER BY d.at DESC, d.seq DESC LIMIT $4`,
});

/**
 * Stores the progress of webhooks. If the new `due_at` is null, the statement locks the task before it changes the
 * webhook. Without the lock, a concurrent append could read the old `due_at` and leave it unchanged, while this
 * statement does not read the new entry. The entry would then not be delivered.
 */
const SET_PROGRESS = `
  WITH changes AS (
    SELECT c.*, t.id AS task, k.seq
    FROM unnest($1::text[], $2::text[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[])
      AS c (task_id, config_id, cursor, attempts, failing_since, due_at)
    CROSS JOIN LATERAL (SELECT t.id FROM parley.tasks t WHERE t.task_id = c.task_id LIMIT 1) t
    LEFT JOIN LATERAL (
      SELECT k.seq FROM parley.tasks k WHERE k.id = t.id AND c.due_at IS NULL FOR SHARE) k ON true)
  UPDATE parley.push p SET cursor = c.cursor, attempts = c.attempts, failing_since = c.failing_since,
    due_at = CASE WHEN c.due_at IS NULL AND c.seq > c.cursor THEN 0 ELSE c.due_at END
  FROM changes c WHERE p.task = c.task AND p.config_id = c.config_id
    AND ($7::text IS NULL OR p.node = $7)`;

const ADD_LETTER = `
  INSERT INTO parley.dead_letters (push, seq, scope, reason, attempts, at)
  SELECT p.id, $3, (SELECT t.scope FROM parley.tasks t WHERE t.id = p.task), $4, $5, $6
  FROM parley.push p WHERE p.task = ${TASK} AND p.config_id = $2 AND ($7::text IS NULL OR p.node = $7)
  ON CONFLICT (push, seq) DO UPDATE SET
    reason = excluded.reason, attempts = excluded.attempts, at = excluded.at
  RETURNING push`;

const TRIM_LETTERS = `
  DELETE FROM parley.dead_letters WHERE push = $1 AND seq <=
    (SELECT seq FROM parley.dead_letters WHERE push = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2)`;

export class PostgresPush {
  readonly #db: Postgres;
  readonly #webhooks: WebhookSecrets;
  readonly #cluster: PostgresCluster;

  constructor(db: Postgres, webhooks: WebhookSecrets, cluster: PostgresCluster) {
    this.#db = db;
    this.#cluster = cluster;
    this.#webhooks = webhooks;
  }

  /** See `TaskStore.checkPush`. */
  check(config: PushNotificationConfig): void {
    this.#webhooks.check(config);
  }

  async save(record: PushRecord): Promise<void> {
    const { taskId, config } = record;
    const values = saveValues(record, this.#webhooks);
    const [saved] = await this.#db.run<[replaced: boolean]>(PUSH_SQL.save, values);
    if (!saved) throw taskNotFound(taskId);
    if (saved[0]) this.#cluster.pushChanged({ taskId, configId: config.id });
  }

  async list(taskId: string): Promise<PushRecord[]> {
    return (await this.#rows(taskId)).map(({ record }) => record);
  }

  /** Returns the webhooks of a task, each with its configuration as it is stored. */
  async #rows(taskId: string): Promise<{ record: PushRecord; stored: Uint8Array }[]> {
    const rows = await this.#db.run<PushRow>(PUSH_SQL.list, [toPostgresText(taskId)]);
    return rows.flatMap(([id, version, stored, sealed, view, ...progress]) => {
      const json = sealed
        ? this.#webhooks.open(stored, taskId, fromPostgresText(id))
        : Buffer.from(stored).toString();
      if (json === undefined) return [];
      return { record: pushRecord(taskId, json, version, view, progress), stored };
    });
  }

  async delete(taskId: string, configId: string, only?: PushNotificationConfig): Promise<void> {
    let stored: Uint8Array | null = null;
    if (only) {
      const rows = await this.#rows(taskId);
      const found = rows.find(({ record: { config } }) => config.id === configId);
      if (!found || !sameJson(found.record.config, only)) return;
      ({ stored } = found);
    }
    const values = [...pushValues({ taskId, configId }), stored];
    const gone = await this.#db.run(PUSH_SQL.delete, values);
    if (gone.length > 0) this.#cluster.pushChanged({ taskId, configId });
  }

  async change(changes: readonly PushChange[]): Promise<void> {
    if (changes.length === 0) return;
    const rows = changes.map(({ progress, ...key }) => {
      return [...pushValues(key), ...progressColumns(progress)];
    });
    // The rows are sorted to prevent deadlocks between transactions. A later change of a webhook replaces an earlier
    // one.
    const latest = new Map(rows.map((row) => [`${row[0]} ${row[1]}`, row]));
    const sorted = [...latest].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    const columns = (rows[0] ?? []).map((_, column) => sorted.map((row) => row[column]));
    // Only the node that has claimed a webhook may store its progress. A process outside the cluster may store the
    // progress of every webhook.
    const { member } = this.#cluster;
    const values = [...columns, member];
    const letters = changes.flatMap((change) => change.deadLetter ?? []);
    if (letters.length === 0) {
      await this.#db.query(SET_PROGRESS, values);
      return;
    }
    await this.#db.transaction(async (tx) => {
      await tx.query(SET_PROGRESS, values);
      for (const letter of letters) {
        const push = await addDeadLetter(tx, letter, member);
        if (push !== undefined) await tx.query(TRIM_LETTERS, [push, MAX_DEAD_LETTERS]);
      }
    });
  }

  async due({ after, limit }: DueQuery): Promise<DuePush[]> {
    const { node } = this.#cluster;
    const values = [after?.dueAt ?? -1, after?.position ?? -1, limit, node];
    const rows = await this.#db.run<DueRow>(PUSH_SQL.due, values);
    return rows.map((row) => fromPostgresRow(duePush(row)));
  }

  async deadLetters(query: DeadLetterQuery, scope: number): Promise<DeadLetter[]> {
    const { taskId, configId, limit } = query;
    const config = configId === undefined ? null : toPostgresText(configId);
    const rows =
      taskId === undefined
        ? await this.#db.run<DeadLetterRow>(PUSH_SQL.lettersOfScope, [scope, limit])
        : await this.#db.run<DeadLetterRow>(PUSH_SQL.lettersOfTask, [
            toPostgresText(taskId),
            scope,
            config,
            limit,
          ]);
    return rows.map((row) => fromPostgresRow(deadLetter(row)));
  }

  /** See `WebhookSecrets.reseal`. */
  reseal(): Promise<void> {
    return this.#webhooks.reseal(async () => {
      let changed = 0;
      const after = (id: number) => this.#db.run<SealedRow>(PUSH_SQL.sealed, [id]);
      for (let rows = await after(0); rows.length > 0;) {
        for (const [id, taskId, configId, config] of rows) {
          const names = [fromPostgresText(taskId), fromPostgresText(configId)] as const;
          const resealed = this.#webhooks.resealed(config, ...names);
          if (!resealed) continue;
          // A client may have replaced the webhook in the meantime.
          await this.#db.query('UPDATE parley.push SET config = $2 WHERE id = $1 AND config = $3', [
            id,
            resealed,
            config,
          ]);
          changed++;
        }
        rows = await after(rows.at(-1)?.[0] ?? 0);
      }
      return changed;
    });
  }
}

/**
 * Adds a dead letter to its webhook. Returns the number of the webhook. Does nothing and returns undefined if the
 * webhook does not exist, or if `node` is not null and has not claimed the webhook.
 */
export async function addDeadLetter(
  tx: Executor,
  letter: DeadLetter,
  node: string | null,
): Promise<number | undefined> {
  const { seq, reason, attempts, at } = letter;
  const values = [...pushValues(letter), seq, toPostgresText(reason), attempts, at, node];
  const [added] = await tx.query<{ push: number }>(ADD_LETTER, values);
  return added?.push;
}
