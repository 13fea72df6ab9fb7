/**
 * Appends batches to the task store in PostgreSQL.
 *
 * If the connection is lost while a batch is written, the batch may or may not have been committed, and it may even be
 * committed later. So it is sent again. If it was committed, all its appends are conflicts now. Then the stored entries
 * are compared with the entries of the append. If they are the same, the append was written.
 */
import {
  acrossLostConnections,
  isDuplicate,
  toPostgresText,
  type Postgres,
  type LostConnectionOptions,
} from '../../base/postgres/index.ts';
import type { LogEntry, TaskState } from '../../protocol/index.ts';
import {
  setsStatus,
  type Append,
  type AppendOutcome,
  type SerializedEntry,
} from '../../tasks/index.ts';
import { ID_SEPARATOR, LOG_SEPARATOR } from './append-function.ts';

/** Rough size of the columns and index entries of a log entry, in bytes. */
const ENTRY_BYTES = 100;
/** Maximum number of attempts to write a batch if other processes store the same message ids at the same time. */
const MAX_RACES = 20;

export const APPEND = {
  // The name of the statement contains the number of the function. Without this number, an older node behind the same
  // pooler could have prepared another statement with this name on the same connection.
  name: 'parley.append_2',
  text: `SELECT parley.append_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
    $17)`,
};

const WRITTEN = {
  name: 'parley.appended',
  text: `SELECT e.json FROM parley.events e
         WHERE e.task = (SELECT id FROM parley.tasks WHERE task_id = $1 AND scope = $2)
           AND e.seq > $3 AND e.seq <= $4 ORDER BY e.seq`,
};

export interface Appender extends LostConnectionOptions {
  readonly db: Postgres;
  /** Returns the id of this node, which becomes the owner of new tasks that have an epoch. */
  readonly node: () => string | undefined;
}

/** An append with the number of its scope, and its position in the batch. */
export interface ScopedAppend extends Append {
  readonly scope: number;
  readonly position: number;
}

/** One append, or several joined appends. `parts` has their indexes in the batch. */
interface Joined {
  readonly append: ScopedAppend & {
    entries: LogEntry[];
    bytes: number;
    /** The `expected` and the `position` of each append that was joined. */
    readonly starts: number[];
    readonly positions: number[];
  };
  readonly parts: number[];
}

/**
 * Writes a batch. Appends to one task that continue each other are joined, so that the row of the task changes only
 * once. In a transaction, each change of a row makes its next change slower.
 */
export async function appendBatch(
  appender: Appender,
  batch: readonly ScopedAppend[],
): Promise<AppendOutcome[]> {
  const groups = joined(batch);
  const outcomes: AppendOutcome[] = batch.map(() => 'conflict');
  const isOk = await write(
    appender,
    groups.map(({ append }) => append),
  );
  const undecided: number[] = [];
  for (const [at, { parts }] of groups.entries()) {
    if (isOk[at]) for (const part of parts) outcomes[part] = 'ok';
    else if (parts.length > 1) undecided.push(...parts);
  }
  // If joined appends are refused, the first ones may still be valid. So all of them are written again, one by one.
  for (const part of undecided) {
    const [ok] = await write(appender, batch.slice(part, part + 1));
    if (ok) outcomes[part] = 'ok';
  }
  return outcomes;
}

function joined(batch: readonly ScopedAppend[]): Joined[] {
  const groups: Joined[] = [];
  const last = new Map<string, Joined>();
  for (const [at, append] of batch.entries()) {
    const group = last.get(append.taskId);
    if (group && continues(group.append, append)) {
      group.append.entries.push(...append.entries);
      group.append.bytes += sizeOf(append);
      group.append.positions.push(append.position);
      group.append.starts.push(append.expected);
      group.parts.push(at);
      continue;
    }
    const entries = [...append.entries];
    const own = { starts: [append.expected], positions: [append.position] };
    const next = { append: { ...append, entries, bytes: sizeOf(append), ...own }, parts: [at] };
    groups.push(next);
    last.set(append.taskId, next);
  }
  return groups;
}

function continues(first: ScopedAppend, next: ScopedAppend): boolean {
  return (
    next.expected === first.expected + first.entries.length &&
    next.scope === first.scope &&
    next.epoch === first.epoch &&
    !next.messageIds?.length
  );
}

/** Writes the appends in one transaction. Returns for each one whether it was written. If not, it is a conflict. */
function write(appender: Appender, batch: readonly ScopedAppend[]): Promise<boolean[]> {
  const { db, node } = appender;
  const columns = columnsOf(batch);
  return acrossLostConnections(async (isRetry) => {
    for (let attempt = 1; ; attempt++) {
      try {
        const [row] = await db.run<[outcomes: string]>(APPEND, [node() ?? null, ...columns]);
        const isOk = Array.from(row?.[0] ?? '', (outcome) => outcome === '1');
        if (isRetry) await verify(db, batch, isOk);
        return isOk;
      } catch (error) {
        if (!isDuplicate(error) || attempt >= MAX_RACES) throw error;
      }
    }
  }, appender);
}

/** Sets `isOk` to true for the appends that an earlier attempt has written. */
async function verify(
  db: Postgres,
  batch: readonly ScopedAppend[],
  isOk: boolean[],
): Promise<void> {
  for (const [at, { taskId, scope, expected, entries }] of batch.entries()) {
    if (isOk[at]) continue;
    const values = [toPostgresText(taskId), scope, expected, expected + entries.length];
    const stored = await db.run<[json: string]>(WRITTEN, values);
    isOk[at] =
      stored.length === entries.length &&
      entries.every((entry, index) => jsonOf(entry) === stored[index]?.[0]);
  }
}

/** The position of `logs` among the results of `columnsOf`. */
const LOGS = 6;

/** Returns the parameters of the function in append-function.ts, except the first one. */
export function columnsOf(batch: readonly ScopedAppend[]): unknown[] {
  const logs = batch.map(({ entries }) => entries.map(jsonOf).join('\n')).join(LOG_SEPARATOR);
  const rows = batch.map((append): unknown[] => {
    const {
      taskId,
      scope,
      contextId,
      expected,
      entries,
      epoch,
      messageIds = [],
      expiresAt,
    } = append;
    const open = statusAfter(append, expected === 0 ? undefined : 'working');
    const done = expected === 0 ? undefined : statusAfter(append, 'completed');
    return [
      toPostgresText(taskId),
      scope,
      toPostgresText(contextId),
      expected,
      entries.length,
      epoch,
      messageIds.length === 0 ? null : messageIds.map(toPostgresText).join(ID_SEPARATOR),
      open?.state,
      open?.seq,
      done?.state,
      done?.seq,
      sizeOf(append) + entries.length * ENTRY_BYTES,
      entries.at(-1)?.event.kind === 'artifact-update' ? Date.now() : null,
      expiresAt,
      positionOf(append, open?.seq ?? done?.seq),
    ];
  });
  const arrays = (rows[0] ?? []).map((_, column) => rows.map((row) => row[column] ?? null));
  return [...arrays.slice(0, LOGS), logs, ...arrays.slice(LOGS)];
}

/**
 * Returns the position in the batch of the append that contains entry `seq`, the entry with the new status. In lists,
 * the task whose status changed last comes first.
 */
function positionOf(
  {
    position,
    starts = [],
    positions = [],
  }: ScopedAppend & Partial<Pick<Joined['append'], 'starts' | 'positions'>>,
  seq = 0,
): number {
  return positions[starts.findLastIndex((start) => start < seq)] ?? position;
}

/** Returns the status after the append, for a task in `state`. Returns undefined if its status does not change. */
function statusAfter(
  { taskId, entries }: Append,
  state: TaskState | undefined,
): { state: TaskState; seq: number } | undefined {
  let last: { state: TaskState; seq: number } | undefined;
  for (const { seq, event } of entries) {
    if (!setsStatus(taskId, last?.state ?? state, event)) continue;
    last = { state: event.status.state, seq };
  }
  return last;
}

/** Returns the rough size of the entries in bytes, without ENTRY_BYTES. */
function sizeOf({ bytes, entries }: Append): number {
  return bytes ?? entries.reduce((sum, entry) => sum + jsonOf(entry).length, 0);
}

/** Returns the JSON of an entry. It has no line breaks, because JSON.stringify escapes them. */
function jsonOf({ event, json }: SerializedEntry): string {
  return json ?? JSON.stringify(event);
}
