/** The configuration of tasks: their expiry, and how often expired tasks are removed. */
import * as z from 'zod';

/** One year. */
const MAX_SECONDS = 366 * 24 * 3600;
const MAX_SWEEP_SECONDS = 3600;

const seconds = z.int().min(1).max(MAX_SECONDS);

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
    keepExpiredSeconds: z
      .int()
      .min(0)
      .max(MAX_SECONDS)
      .default(3600)
      .describe(
        'How long a task can still be read after it was ended because it expired. Default: 3600.',
      ),
    sweepSeconds: z
      .int()
      .min(1)
      .max(MAX_SWEEP_SECONDS)
      .default(30)
      .describe('Interval between searches for expired tasks. Default: 30.'),
  })
  .refine(({ ttlSeconds = 0, maxTtlSeconds = MAX_SECONDS }) => ttlSeconds <= maxTtlSeconds, {
    path: ['ttlSeconds'],
    error: 'must not be more than maxTtlSeconds',
  });
export type TasksConfig = z.infer<typeof TasksConfig>;
