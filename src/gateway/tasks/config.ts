/** What the gateway's configuration says of tasks: how long they live, and how often somebody looks. */
import * as z from 'zod';

/** A year: what is to be kept longer is not to expire. */
const MAX_SECONDS = 366 * 24 * 3600;
const MAX_SWEEP_SECONDS = 3600;

const seconds = z.int().min(1).max(MAX_SECONDS);

export const TasksConfig = z
  .strictObject({
    ttlSeconds: seconds
      .optional()
      .describe(
        'How long a task lives that does not say so itself: then it is ended, or removed if it is finished. Absent: for ever.',
      ),
    maxTtlSeconds: seconds
      .optional()
      .describe(
        'The longest life of a task, asked for or not. Absent: as long as its client likes.',
      ),
    keepExpiredSeconds: z
      .int()
      .min(0)
      .max(MAX_SECONDS)
      .default(3600)
      .describe('How long a task that was ended by its expiry can still be read.'),
    sweepSeconds: z
      .int()
      .min(1)
      .max(MAX_SWEEP_SECONDS)
      .default(30)
      .describe('How often expired tasks are looked for.'),
  })
  .refine(({ ttlSeconds = 0, maxTtlSeconds = MAX_SECONDS }) => ttlSeconds <= maxTtlSeconds, {
    path: ['ttlSeconds'],
    error: 'must not be more than maxTtlSeconds',
  });
export type TasksConfig = z.infer<typeof TasksConfig>;
