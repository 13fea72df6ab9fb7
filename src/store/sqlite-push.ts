/** The webhooks of the SQLite store. */
import type { DatabaseSync } from 'node:sqlite';
import {
  taskNotFound,
  type ProtocolVersion,
  type PushNotificationConfig,
} from '../protocol/index.ts';
import {
  MAX_DEAD_LETTERS,
  sameJson,
  type DeadLetter,
  type DeadLetterQuery,
  type DuePush,
  type DueQuery,
  type PushChange,
  type PushRecord,
} from '../tasks/index.ts';
import {
  deadLetter,
  duePush,
  progressColumns,
  pushRecord,
  type DeadLetterRow,
  type DueRow,
  type ProgressRow,
} from './push-rows.ts';
import type { WebhookSecrets } from './webhook-secrets.ts';
import { Query, ROW_ID } from './statements.ts';

type PushRow = [
  configId: string,
  version: ProtocolVersion,
  config: string | Uint8Array,
  view: string | null,
  ...progress: ProgressRow,
];

const DEAD_LETTER = 't.task_id, p.config_id, d.seq, d.reason, d.attempts, d.at';

function prepare(db: DatabaseSync) {
  const command = (sql: string) => db.prepare(sql);
  const query = <Row extends unknown[]>(sql: string) => new Query<Row>(db, sql);
  return {
    taskScope: query<[scope: number]>('SELECT scope FROM tasks WHERE task_id = ?'),
    save: command(
      `INSERT INTO push
         (task, config_id, version, config, view, cursor, attempts, failing_since, due_at)
       VALUES (${ROW_ID}, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET
         version = excluded.version, config = excluded.config, view = excluded.view,
         cursor = excluded.cursor, attempts = excluded.attempts,
         failing_since = excluded.failing_since, due_at = excluded.due_at`,
    ),
    list: query<PushRow>(
      `SELECT config_id, version, config, view, cursor, attempts, failing_since, due_at
       FROM push WHERE task = ${ROW_ID} ORDER BY id`,
    ),
    sealed: query<[id: number, taskId: string, configId: string, config: Uint8Array]>(
      `SELECT p.id, t.task_id, p.config_id, p.config FROM push p CROSS JOIN tasks t ON t.id = p.task
       WHERE p.id > ? AND typeof(p.config) = 'blob' ORDER BY p.id LIMIT 100`,
    ),
    setConfig: command('UPDATE push SET config = ? WHERE id = ?'),
    find: query<[id: number]>(`SELECT id FROM push WHERE task = ${ROW_ID} AND config_id = ?`),
    setProgress: command(
      `UPDATE push SET cursor = ?1, attempts = ?2, failing_since = ?3,
         due_at = CASE
           WHEN ?4 IS NULL AND (SELECT max(seq) FROM events WHERE task = push.task) > ?1 THEN 0
           ELSE ?4 END
       WHERE id = ?5`,
    ),
    resume: command('UPDATE push SET due_at = 0 WHERE task = ? AND due_at IS NULL'),
    due: query<DueRow>(
      `SELECT s.tenant, s.owner, t.task_id, p.config_id, p.due_at, p.id
       FROM push p INDEXED BY push_by_due
       CROSS JOIN tasks t ON t.id = p.task
       CROSS JOIN scopes s ON s.id = t.scope
       WHERE p.due_at IS NOT NULL AND (p.due_at, p.id) > (?, ?)
       ORDER BY p.due_at, p.id LIMIT ?`,
    ),
    drop: command('DELETE FROM push WHERE id = ?'),
    dropAll: command('DELETE FROM push WHERE task = ?'),
    addDeadLetter: command(
      'INSERT OR REPLACE INTO dead_letters (push, seq, scope, reason, attempts, at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    trimDeadLetters: command(
      `DELETE FROM dead_letters WHERE push = ?1 AND seq <=
         (SELECT seq FROM dead_letters WHERE push = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)`,
    ),
    dropDeadLetters: command('DELETE FROM dead_letters WHERE push = ? AND seq > ?'),
    dropAllDeadLetters: command(
      'DELETE FROM dead_letters WHERE push IN (SELECT id FROM push WHERE task = ?)',
    ),
    deadLettersOfScope: query<DeadLetterRow>(
      `SELECT ${DEAD_LETTER} FROM scopes s
       CROSS JOIN dead_letters d INDEXED BY dead_letters_by_scope ON d.scope = s.id
       CROSS JOIN push p ON p.id = d.push CROSS JOIN tasks t ON t.id = p.task
       WHERE s.tenant = ? AND s.owner = ? ORDER BY d.at DESC, d.seq DESC LIMIT ?`,
    ),
    deadLettersOfTask: query<DeadLetterRow>(
      `SELECT ${DEAD_LETTER} FROM tasks t
       CROSS JOIN scopes s ON s.id = t.scope AND s.tenant = ?1 AND s.owner = ?2
       CROSS JOIN push p ON p.task = t.id AND (?4 IS NULL OR p.config_id = ?4)
       CROSS JOIN dead_letters d ON d.push = p.id
       WHERE t.task_id = ?3 ORDER BY d.at DESC, d.seq DESC LIMIT ?5`,
    ),
  };
}

export class SqlitePush {
  readonly #sql: ReturnType<typeof prepare>;
  readonly #webhooks: WebhookSecrets;
  /** Runs the work in a transaction. */
  readonly #transaction: <Result>(work: () => Result) => Result;

  constructor(
    db: DatabaseSync,
    webhooks: WebhookSecrets,
    transaction: <Result>(work: () => Result) => Result,
  ) {
    this.#sql = prepare(db);
    this.#webhooks = webhooks;
    this.#transaction = transaction;
  }

  /** See `TaskStore.checkPush`. */
  check(config: PushNotificationConfig): void {
    this.#webhooks.check(config);
  }

  save({ taskId, config, version, view, progress }: PushRecord): void {
    if (!this.#sql.taskScope.get(taskId)) throw taskNotFound(taskId);
    const stored = this.#webhooks.seal(taskId, config);
    this.#transaction(() => {
      const columns = progressColumns(progress);
      this.#sql.save.run(taskId, config.id, version, stored, view ?? null, ...columns);
      const [id] = this.#sql.find.get(taskId, config.id) ?? [];
      if (id !== undefined) this.#sql.dropDeadLetters.run(id, progress.cursor);
    });
  }

  list(taskId: string): PushRecord[] {
    return this.#sql.list.all(taskId).flatMap(([configId, version, stored, view, ...progress]) => {
      const json =
        typeof stored === 'string' ? stored : this.#webhooks.open(stored, taskId, configId);
      return json === undefined ? [] : [pushRecord(taskId, json, version, view, progress)];
    });
  }

  delete(taskId: string, configId: string, only?: PushNotificationConfig): void {
    this.#transaction(() => {
      const [id] = this.#sql.find.get(taskId, configId) ?? [];
      if (id === undefined) return;
      const stored = only && this.list(taskId).find(({ config }) => config.id === configId);
      if (only && !(stored && sameJson(stored.config, only))) return;
      this.#sql.dropDeadLetters.run(id, -1);
      this.#sql.drop.run(id);
    });
  }

  change(changes: readonly PushChange[]): void {
    this.#transaction(() => {
      for (const { taskId, configId, progress, deadLetter: letter } of changes) {
        const [id] = this.#sql.find.get(taskId, configId) ?? [];
        if (id === undefined) continue;
        this.#sql.setProgress.run(...progressColumns(progress), id);
        if (!letter) continue;
        const [scope = 0] = this.#sql.taskScope.get(taskId) ?? [];
        const { seq, reason, attempts, at } = letter;
        this.#sql.addDeadLetter.run(id, seq, scope, reason, attempts, at);
        this.#sql.trimDeadLetters.run(id, MAX_DEAD_LETTERS);
      }
    });
  }

  due({ after, limit }: DueQuery): DuePush[] {
    const rows = this.#sql.due.all(after?.dueAt ?? -1, after?.position ?? -1, limit);
    return rows.map(duePush);
  }

  deadLetters({ tenant, owner, taskId, configId, limit }: DeadLetterQuery): DeadLetter[] {
    const rows =
      taskId === undefined
        ? this.#sql.deadLettersOfScope.all(tenant, owner, limit)
        : this.#sql.deadLettersOfTask.all(tenant, owner, taskId, configId ?? null, limit);
    return rows.map(deadLetter);
  }

  /**
   * Makes webhooks of a task due now if they have no due time. `task` is the row id of the task. Runs in the caller's
   * transaction.
   */
  resume(task: number): void {
    this.#sql.resume.run(task);
  }

  /** Removes the webhooks of a task and their dead letters. `task` is its row id. Runs in the caller's transaction. */
  drop(task: number): void {
    this.#sql.dropAllDeadLetters.run(task);
    this.#sql.dropAll.run(task);
  }

  /** See `WebhookSecrets.reseal`. */
  reseal(): void {
    void this.#webhooks.reseal(() => {
      let changed = 0;
      for (let rows = this.#sql.sealed.all(0); rows.length > 0;) {
        this.#transaction(() => {
          for (const [id, taskId, configId, stored] of rows) {
            const resealed = this.#webhooks.resealed(stored, taskId, configId);
            if (!resealed) continue;
            this.#sql.setConfig.run(resealed, id);
            changed++;
          }
        });
        rows = this.#sql.sealed.all(rows.at(-1)?.[0] ?? 0);
      }
      return changed;
    });
  }
}
