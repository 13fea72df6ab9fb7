/**
 * Copies a task store from a SQLite file to PostgreSQL.
 *
 * Tasks are copied in groups, each in one transaction that also stores the progress. If the import is interrupted, the
 * next call continues it. A new import needs a database without tasks. No server may use the file during the import. A
 * server that uses the database meanwhile sees only the tasks that were copied already. A webhook that cannot be
 * decrypted is not copied, and this is logged.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../../base/index.ts';
import {
  openPostgres,
  toPostgresText,
  type Executor,
  type Postgres,
} from '../../base/postgres/index.ts';
import type { Task } from '../../protocol/index.ts';
import { consoleLogger, scopeKey, type Logger } from '../../tasks/index.ts';
import { openStoreFile } from '../open-store.ts';
import { SecretBox, secretKeys, type SecretKeyOptions } from '../secrets.ts';
import { SqliteStore } from '../sqlite.ts';
import { Query } from '../statements.ts';
import { WebhookSecrets } from '../webhook-secrets.ts';
import { CLUSTER } from './cluster-schema.ts';
import { TASKS } from './migrations.ts';
import { changeCounters } from './postgres-retention.ts';
import { addDeadLetter, PUSH_SQL, saveValues } from './postgres-push.ts';
import { scopeHash, STATEMENTS } from './statements.ts';

/** The options of `importSqlite`. */
export interface ImportOptions {
  /** The keys with which the webhooks in the file are encrypted. */
  readonly from: SecretKeyOptions;
  /** The keys with which webhooks in the database are encrypted. */
  readonly to: SecretKeyOptions;
  readonly logger?: Logger | undefined;
  /** Called after each group, with the number of tasks that were copied so far. */
  readonly onProgress?: ((tasks: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The progress of an import, which is stored in the table `meta`. */
interface Progress {
  /** Identifies the file. It is a hash of the file's random `cursor_key`. */
  readonly source: string;
  /** The row id of the last task that was copied. */
  readonly last: number;
  /** The number of tasks that were copied. */
  readonly tasks: number;
  readonly done: boolean;
  /** The content of the file (`contentOf`) when the import began. Missing if an earlier version began the import. */
  readonly content?: string | undefined;
}

/** What `importSqlite` has done. */
export interface Imported {
  /** The number of tasks that were copied, including those of earlier calls. */
  readonly tasks: number;
  /** Whether an earlier call has already copied all tasks. */
  readonly already: boolean;
}

/** Maximum number of tasks in a group. */
const GROUP = 200;
/** Log entries are inserted in batches. A batch ends with the entry that reaches one of these limits. */
const MAX_ENTRIES = 2000;
const MAX_CHARACTERS = 4_000_000;

type TaskRow = [
  id: number,
  scope: number,
  tenant: string,
  owner: string,
  taskId: string,
  contextId: string,
  state: string,
  seq: number,
  statusSeq: number,
  changed: number,
  createdAt: number,
  expiresAt: number | null,
  artifactAt: number | null,
  bytes: number,
];

type EventRow = [seq: number, json: string, accepts: string | null];

/** Selects the next tasks. A task that was removed in part no longer has the entry with its status, and is skipped. */
const TASK_ROWS = `
  SELECT t.id, t.scope, s.tenant, s.owner, t.task_id, t.context_id, t.state,
    (SELECT max(seq) FROM events WHERE task = t.id), t.status_seq, t.changed, t.created_at, t.expires_at,
    (SELECT at FROM events WHERE task = t.id ORDER BY seq DESC LIMIT 1),
    (SELECT sum(length(json) + 100) FROM events WHERE task = t.id)
  FROM tasks t JOIN scopes s ON s.id = t.scope
  WHERE t.id > ? AND EXISTS (SELECT 1 FROM events WHERE task = t.id AND seq = t.status_seq)
  ORDER BY t.id LIMIT ${GROUP}`;

/**
 * Copies the store. Throws a StoreError if the store cannot be copied, and the signal's reason if the signal is
 * aborted. A file that has changed since its import began cannot be imported again into the same database.
 */
export async function importSqlite(
  path: string,
  url: string,
  options: ImportOptions,
): Promise<Imported> {
  const { logger = consoleLogger } = options;
  // Without this check, a missing file would be created.
  if (!existsSync(path)) {
    throw new StoreError(`there is no file ${path}`, { hint: 'check the path' });
  }
  const opened = openStoreFile(path, { synchronous: 'NORMAL' });
  try {
    const source = new SqliteStore(opened, { ...options.from, logger });
    const [key] = new Query<[Uint8Array]>(
      opened.db,
      `SELECT value FROM meta WHERE key = 'cursor_key'`,
    ).get() ?? [new Uint8Array()];
    await using db = await openPostgres(url, {
      schemas: [TASKS, CLUSTER],
      poolSize: 2,
      timeoutMs: 600_000,
    });
    const id = createHash('sha256').update(key).digest('hex');
    const content = contentOf(opened.db);
    const begun = await begin(db, { source: id, content }, key);
    if (begun.content !== undefined ? begun.content !== content : hasMore(opened.db, begun)) {
      const part = begun.done ? '' : ' in part';
      throw new StoreError(
        `the file ${path} was already imported${part} into the database ${db.name}, and has changed since`,
        { hint: 'import into an empty database' },
      );
    }
    if (begun.done) return { tasks: begun.tasks, already: true };
    const [salt] = await db.query<{ value: Uint8Array }>(
      `SELECT value FROM parley.meta WHERE key = 'secret_salt'`,
    );
    const secrets = new SecretBox(secretKeys(options.to), salt?.value ?? new Uint8Array());
    const copy = new Copy(opened.db, source, new WebhookSecrets(secrets, logger));
    for (;;) {
      options.signal?.throwIfAborted();
      const progress = await db.transaction((tx) => copy.group(tx, id));
      options.onProgress?.(progress.tasks);
      if (!progress.done) continue;
      await db.query('ANALYZE parley.tasks; ANALYZE parley.events');
      return { tasks: progress.tasks, already: false };
    }
  } finally {
    opened.close();
  }
}

/** Returns a text that changes when tasks or webhooks are added or removed, or when events are added. */
function contentOf(db: DatabaseSync): string {
  const counts = new Query<(number | null)[]>(
    db,
    `SELECT (SELECT count(*) FROM tasks), (SELECT max(changed) FROM tasks), (SELECT max(id) FROM events),
       (SELECT count(*) FROM push), (SELECT max(id) FROM push)`,
  );
  return JSON.stringify(counts.get());
}

/**
 * Returns whether an import of an earlier version is done, and the file has other tasks than those that were copied.
 */
function hasMore(db: DatabaseSync, { done, tasks, last }: Progress): boolean {
  const all = new Query<[number, number | null]>(
    db,
    `SELECT count(*), max(id) FROM tasks t
     WHERE EXISTS (SELECT 1 FROM events WHERE task = t.id AND seq = t.status_seq)`,
  );
  const [count, newest] = all.get() ?? [0, null];
  return done && (count !== tasks || (newest ?? 0) !== last);
}

/**
 * Starts the import, unless an import of the same file has already been started. Returns the progress. Before it starts
 * a new import, throws a StoreError if the database already contains tasks, or if an import of another file has copied
 * tasks into it.
 */
async function begin(
  db: Postgres,
  file: Pick<Progress, 'source' | 'content'>,
  cursorKey: Uint8Array,
): Promise<Progress> {
  return db.transaction(async (tx) => {
    // Two imports must not start at the same time.
    await tx.query('LOCK TABLE parley.meta IN EXCLUSIVE MODE');
    const found = await progressOf(tx);
    if (found?.source === file.source) return found;
    const [task] = await tx.query('SELECT FROM parley.tasks LIMIT 1');
    // An import that has copied no task does not matter.
    if (task || (found && found.tasks > 0)) {
      throw new StoreError(`the database ${db.name} has tasks that are not from this file`, {
        hint: 'import into an empty database',
      });
    }
    // With the same key, page tokens of lists stay valid.
    await tx.query(`UPDATE parley.meta SET value = $1 WHERE key = 'cursor_key'`, [cursorKey]);
    const progress = { ...file, last: 0, tasks: 0, done: false };
    await save(tx, progress);
    return progress;
  });
}

async function progressOf(tx: Executor): Promise<Progress | undefined> {
  const [row] = await tx.query<{ value: Uint8Array }>(
    `SELECT value FROM parley.meta WHERE key = 'import' FOR UPDATE`,
  );
  if (!row) return undefined;
  const progress: Progress = JSON.parse(Buffer.from(row.value).toString());
  return progress;
}

async function save(tx: Executor, progress: Progress): Promise<void> {
  await tx.query(
    `INSERT INTO parley.meta VALUES ('import', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    [Buffer.from(JSON.stringify(progress))],
  );
}

class Copy {
  readonly #source: SqliteStore;
  readonly #webhooks: WebhookSecrets;
  readonly #tasks: Query<TaskRow>;
  readonly #events: Query<EventRow>;

  constructor(db: DatabaseSync, source: SqliteStore, webhooks: WebhookSecrets) {
    this.#source = source;
    this.#webhooks = webhooks;
    this.#tasks = new Query(db, TASK_ROWS);
    this.#events = new Query(
      db,
      'SELECT seq, json, accepts FROM events WHERE task = ? AND seq > ? ORDER BY seq LIMIT 500',
    );
  }

  /** Copies the next group of tasks. Returns the progress after this group. */
  async group(tx: Executor, source: string): Promise<Progress> {
    const before = await progressOf(tx);
    if (before?.source !== source) throw new StoreError('another import has been started');
    if (before.done) return before;
    const rows = this.#tasks.all(before.last);
    const last = rows.at(-1)?.[0];
    const tasks = before.tasks + rows.length;
    const progress = { ...before, last: last ?? before.last, tasks, done: last === undefined };
    const scopes = await this.#scopes(tx, rows);
    for (const row of rows) await this.#task(tx, row, scopes.get(row[1]) ?? 0);
    await changeCounters(
      tx,
      rows.map((row) => ({ scope: scopes.get(row[1]) ?? 0, state: row[6], counted: row[13] })),
      1,
    );
    await save(tx, progress);
    return progress;
  }

  /**
   * Adds the scopes of the tasks to the database. Returns a map from each scope's number in the file to its number in
   * the database.
   */
  async #scopes(tx: Executor, rows: readonly TaskRow[]): Promise<Map<number, number>> {
    const numbers = new Map<number, number>();
    for (const [, scope, tenant, owner] of rows) {
      if (numbers.has(scope)) continue;
      const hash = scopeHash(scopeKey({ tenant, owner }));
      await tx.query(STATEMENTS.addScope.text, [
        hash,
        toPostgresText(tenant),
        toPostgresText(owner),
      ]);
      const [found] = await tx.query<{ id: number }>(STATEMENTS.findScope.text, [hash]);
      if (found) numbers.set(scope, found.id);
    }
    return numbers;
  }

  async #task(tx: Executor, row: TaskRow, scope: number): Promise<void> {
    const [id, , tenant, owner, taskId, contextId, ...columns] = row;
    // A task whose execution was interrupted gets the empty node id, which no node has. So the nodes take it over. All
    // other tasks get no node id.
    const node = this.#isInterrupted(row) ? '' : null;
    const [task] = await tx.query<{ id: number }>(
      `INSERT INTO parley.tasks (task_id, scope, context_id, state, seq, status_seq, changed, created_at, expires_at,
         artifact_at, bytes, counted, node)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) RETURNING id`,
      [toPostgresText(taskId), scope, toPostgresText(contextId), ...columns, node],
    );
    if (!task) return;
    await this.#log(tx, id, task.id, scope);
    for (const record of this.#source.listPush(taskId)) {
      await tx.query(PUSH_SQL.save.text, saveValues(record, this.#webhooks));
      const key = { tenant, owner, taskId, configId: record.config.id };
      const letters = this.#source.deadLetters({ ...key, limit: Number.MAX_SAFE_INTEGER });
      for (const letter of letters) await addDeadLetter(tx, letter, null);
    }
  }

  /** Returns whether the task was being executed, or was about to be executed, when the server stopped. */
  #isInterrupted([id, , , , , , state, seq]: TaskRow): boolean {
    if (state !== 'submitted') return state === 'working';
    if (seq > 1) return true;
    const [[, json] = [0, '{}']] = this.#events.all(id, 0);
    const { history = [] }: Partial<Task> = JSON.parse(json);
    return history.length > 0;
  }

  async #log(tx: Executor, from: number, to: number, scope: number): Promise<void> {
    let seqs: number[] = [];
    let texts: string[] = [];
    let ids: string[] = [];
    let characters = 0;
    const write = async () => {
      await tx.query(
        'INSERT INTO parley.events (task, seq, json) SELECT $1, * FROM unnest($2::integer[], $3::text[])',
        [to, seqs, texts],
      );
      await tx.query(
        // The same message id may occur twice in `ids`.
        `INSERT INTO parley.messages (scope, message_id, task)
         SELECT DISTINCT $1::bigint, id, $2::bigint FROM unnest($3::text[]) AS id`,
        [scope, to, ids],
      );
      [seqs, texts, ids, characters] = [[], [], [], 0];
    };
    for (let rows = this.#events.all(from, 0); rows.length > 0;) {
      for (const [seq, json, accepts] of rows) {
        seqs.push(seq);
        texts.push(json);
        characters += json.length;
        const messageIds: string[] = accepts === null ? [] : JSON.parse(accepts);
        ids.push(...messageIds.map(toPostgresText));
        if (seqs.length >= MAX_ENTRIES || characters >= MAX_CHARACTERS) await write();
      }
      rows = this.#events.all(from, rows.at(-1)?.[0] ?? 0);
    }
    await write();
  }
}
