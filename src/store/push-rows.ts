/** The rows of webhooks and dead letters. SQLite and PostgreSQL return them with the same columns. */
import type { ProtocolVersion } from '../protocol/index.ts';
import type { DeadLetter, DuePush, PushProgress, PushRecord } from '../tasks/index.ts';

export type ProgressRow = [
  cursor: number,
  attempts: number,
  failingSince: number | null,
  dueAt: number | null,
];

export type DeadLetterRow = [
  taskId: string,
  configId: string,
  seq: number,
  reason: string,
  attempts: number,
  at: number,
];

export type DueRow = [
  tenant: string,
  owner: string,
  taskId: string,
  configId: string,
  dueAt: number,
  id: number,
];

export function progressColumns({
  cursor,
  attempts,
  failingSince,
  dueAt,
}: PushProgress): ProgressRow {
  return [cursor, attempts, failingSince ?? null, dueAt ?? null];
}

/** Returns a webhook. `json` is its configuration, decrypted. */
export function pushRecord(
  taskId: string,
  json: string,
  version: ProtocolVersion,
  view: string | null,
  [cursor, attempts, failingSince, dueAt]: ProgressRow,
): PushRecord {
  const progress = {
    cursor,
    attempts,
    ...(failingSince !== null && { failingSince }),
    ...(dueAt !== null && { dueAt }),
  };
  return { taskId, config: JSON.parse(json), version, ...(view !== null && { view }), progress };
}

export function duePush([tenant, owner, taskId, configId, dueAt, position]: DueRow): DuePush {
  return { tenant, owner, taskId, configId, dueAt, position };
}

export function deadLetter([
  taskId,
  configId,
  seq,
  reason,
  attempts,
  at,
]: DeadLetterRow): DeadLetter {
  return { taskId, configId, seq, reason, attempts, at };
}
