/** The configuration of tasks: their expiry, the removal of expired tasks, and the retention of finished tasks. */
import * as z from 'zod';
import { DEFAULT_RETENTION, type Retention } from '../../tasks/index.ts';
import { DAY_MS, integer } from '../api/fields.ts';

/** Maximum value of each setting in seconds, except for `sweepSeconds`: one year. */
const MAX_SECONDS = 366 * 24 * 3600;
const MAX_SWEEP_SECONDS = 3600;

const seconds = integer(1, MAX_SECONDS);

export const TasksConfig = z
  .strictObject({
    ttlSeconds: seconds
      .optional()
      .describe(
        'Lifetime of tasks without expiresAt. After this time, an unfinished task is ended and a finished task is deleted. Default: unlimited.',
      ),
    maxTtlSeconds: seconds
      .optional()
      .describe('Maximum lifetime of all tasks, with or without expiresAt. Default: unlimited.'),
    keepExpiredSeconds: integer(0, MAX_SECONDS)
      .default(3600)
      .describe(
        'How long a task can still be read after it was ended because it expired. Default: 3600.',
      ),
    sweepSeconds: integer(1, MAX_SWEEP_SECONDS)
      .default(30)
      .describe('Interval between searches for expired and old tasks. Default: 30.'),
    retentionDays: z
      .number()
      .min(0)
      .max(36_500)
      .default(DEFAULT_RETENTION.maxAgeMs / DAY_MS)
      .describe('How many days a finished task is kept after its end. Default: 30.'),
    retentionBytes: integer(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'Maximum size of the task store. If it is larger, the tasks that finished first are deleted. Default: 2000000000 (2 GB), and unlimited in PostgreSQL.',
      ),
  })
  .refine(({ ttlSeconds = 0, maxTtlSeconds = MAX_SECONDS }) => ttlSeconds <= maxTtlSeconds, {
    path: ['ttlSeconds'],
    error: 'must not be more than maxTtlSeconds',
  });
export type TasksConfig = z.infer<typeof TasksConfig>;

/** Returns the retention of finished tasks: their maximum age, and the maximum size of the task store. */
export function retentionOf({ retentionDays, retentionBytes }: TasksConfig): Retention {
  return { maxAgeMs: retentionDays * DAY_MS, maxBytes: retentionBytes };
}
