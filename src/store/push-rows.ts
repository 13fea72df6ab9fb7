/** The columns with the progress of a webhook, which are the same in every database. */
import type { PushProgress } from '../tasks/index.ts';

export type ProgressRow = [
  cursor: number,
  attempts: number,
  failingSince: number | null,
  dueAt: number | null,
];

export function progressColumns({
  cursor,
  attempts,
  failingSince,
  dueAt,
}: PushProgress): ProgressRow {
  return [cursor, attempts, failingSince ?? null, dueAt ?? null];
}

export function progressOf([cursor, attempts, failingSince, dueAt]: ProgressRow): PushProgress {
  return {
    cursor,
    attempts,
    ...(failingSince !== null && { failingSince }),
    ...(dueAt !== null && { dueAt }),
  };
}
