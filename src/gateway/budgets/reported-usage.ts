/**
 * Reads the usage that an agent reports in `metadata.usage` of a status update or of its message. The gateway's own
 * tasks report their usage in the same format: `{ "inputTokens": 20, "outputTokens": 12, "cost": { "amount": 0.01,
 * "currency": "USD" } }`.
 */
import * as z from 'zod';
import type { ExecutorEvent } from '../../tasks/index.ts';
import type { CallUse } from './calls.ts';

/**
 * Limits of one report, because a wrong report of an agent must not use up a whole budget. A report with more tokens is
 * ignored. If only its cost is too high, the cost is ignored.
 */
const MAX_TOKENS = 100_000_000;
const MAX_AMOUNT = 10_000;

const tokens = z.number().min(0).max(MAX_TOKENS);
const Reported = z.object({
  inputTokens: tokens.default(0),
  outputTokens: tokens.default(0),
  cost: z
    .object({
      amount: z.number().min(0).max(MAX_AMOUNT),
      currency: z.string().regex(/^[A-Z]{3}$/),
    })
    .optional()
    .catch(undefined),
});

/** Returns the usage in the event, or undefined if the event has no valid usage. The message takes precedence. */
export function reportedUsage(event: ExecutorEvent): CallUse | undefined {
  if (event.kind !== 'status-update') return undefined;
  const { message, metadata } = event;
  const said = typeof message === 'object' ? message.metadata?.['usage'] : undefined;
  const usage = said ?? metadata?.['usage'];
  if (usage === undefined) return undefined;
  return Reported.safeParse(usage).data;
}
