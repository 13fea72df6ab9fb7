/** The types of queries for usage, and of the rows in the result. */
import * as z from 'zod';
import type { PageQuery } from '../api/fields.ts';

/**
 * The dimensions by which usage can be grouped, and their columns. `key` is the caller's key, or the subject of the JWT
 * if the caller has no key.
 */
export const COLUMNS = {
  day: ['day'],
  workspace: ['workspace'],
  key: ['key_id', 'subject'],
  subject: ['subject'],
  model: ['model'],
  agent: ['agent'],
  context: ['context_id'],
  task: ['task_id'],
} as const;
export type Dimension = keyof typeof COLUMNS;
export const DIMENSIONS = Object.keys(COLUMNS) as Dimension[];

/** The default dimensions. Usage by these dimensions is kept without a time limit, but old days are merged by month. */
export const USUAL_DIMENSIONS: readonly Dimension[] = ['day', 'key', 'subject', 'model', 'agent'];

export const UsageRow = z.object({
  day: z.string().optional().describe('YYYY-MM-DD, or YYYY-MM for old usage'),
  workspaceId: z.string().optional().describe('Present if the usage is grouped by workspace'),
  keyId: z.string().optional(),
  keyName: z.string().optional().describe('The current name of the key'),
  subject: z.string().optional().describe('The subject of a JWT, for callers without a key'),
  model: z.string().optional(),
  agent: z.string().optional().describe('The agent, for calls to an agent behind the gateway'),
  contextId: z.string().optional(),
  taskId: z
    .string()
    .optional()
    .describe("Missing for requests in a vendor's API, which have no task"),
  calls: z.int().describe('The number of calls, including those that failed'),
  failures: z
    .int()
    .describe('The number of calls that failed, including failures in the middle of the answer'),
  inputTokens: z.int(),
  outputTokens: z.int(),
  cost: z
    .object({ amount: z.number(), currency: z.string() })
    .optional()
    .describe('Each currency has its own row. Missing in the row of usage without a price'),
});
export type UsageRow = Readonly<z.infer<typeof UsageRow>>;

/** The dimensions that a query can filter by. */
export const FILTERS = ['key', 'subject', 'model', 'agent', 'context', 'task'] as const;
export type UsageFilter = Readonly<Partial<Record<(typeof FILTERS)[number], string | undefined>>>;

export interface UsageQuery extends PageQuery {
  /**
   * Dimensions of the rows. The rows are sorted by these dimensions, in this order. Days are sorted from new to old,
   * all others from A to Z.
   */
  readonly by: readonly Dimension[];
  readonly filter?: UsageFilter | undefined;
  /** The first and the last day, both inclusive. */
  readonly from: string;
  readonly to: string;
}

export interface UsagePage {
  readonly rows: readonly UsageRow[];
  /** The offset of the next page, or undefined on the last page. */
  readonly next: number | undefined;
}

/** Returns whether the query needs the rows of tasks, which are kept only for a limited time. */
export function isByTask({ by, filter = {} }: Pick<UsageQuery, 'by' | 'filter'>): boolean {
  const { context, task } = filter;
  return (
    context !== undefined || task !== undefined || by.includes('context') || by.includes('task')
  );
}
