/** The HTTP routes for the usage of keys and workspaces. */
import * as z from 'zod';
import { whole } from '../api/page.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { Budget, dayOf } from './budget.ts';
import type { Spending } from './spending.ts';
import {
  type Dimension,
  DIMENSIONS,
  USUAL_DIMENSIONS,
  type UsageFilter,
  UsageRow,
} from './usage.ts';

const MAX_USAGE_ROWS = 5000;
const MAX_NAME_CHARS = 1024;
const PAGING = `A response has at most \`limit\` rows. If there are more, \`next\` is the \`offset\` of the next page.`;

const Day = z.iso.date('must be a day such as 2026-01-31');
const Name = z.string().max(MAX_NAME_CHARS).optional();

const RangeQuery = z.object({
  from: Day.optional().describe('The first day. Default: the first day of the current month'),
  to: Day.optional().describe('The last day. Default: today'),
  limit: whole(1, MAX_USAGE_ROWS, MAX_USAGE_ROWS),
  offset: whole(0, undefined, 0),
});

const UsageQuery = RangeQuery.extend({
  by: z
    .string()
    .max(MAX_NAME_CHARS)
    .default(USUAL_DIMENSIONS.join(','))
    .transform((text, context) => dimensionsIn(text) ?? unknownDimension(context))
    .describe(
      `What the usage is grouped and sorted by: any of ${DIMENSIONS.join(', ')}, separated by commas. If empty, one sum for each currency`,
    ),
  key: Name.describe('Only usage of the key with this id'),
  subject: Name.describe('Only usage of this subject of a JWT'),
  model: Name.describe('Only usage of this model'),
  agent: Name.describe('Only usage of this agent'),
  context: Name.describe('Only usage for tasks of this context'),
  task: Name.describe('Only usage for this task'),
});

const Usage = z.object({
  from: Day,
  to: Day,
  items: z.array(UsageRow),
  next: z.int().optional().describe('The `offset` of the next page. Missing on the last page'),
});
const KeyUsage = Usage.extend({
  budget: Budget.optional(),
  spent: z
    .object({ tokens: z.int(), amount: z.number() })
    .optional()
    .describe('The spending in the current period of the budget'),
  resetsAt: z.iso.datetime().optional(),
});

export interface UsageRoutesOptions {
  readonly spending: Spending;
  /** Throws or rejects with `notFound` if the workspace has no such key. */
  readonly needKey: (workspace: string, id: string) => unknown;
  readonly now?: () => number;
}

export function usageRoutes(options: UsageRoutesOptions): GatewayRoute[] {
  const { spending, needKey, now = Date.now } = options;

  async function usage(
    workspace: string,
    query: z.infer<typeof RangeQuery>,
    by: readonly Dimension[],
    filter: UsageFilter,
  ) {
    const today = dayOf(now());
    const { from = `${today.slice(0, 7)}-01`, to = today, limit, offset } = query;
    const page = await spending.usage(workspace, { by, filter, from, to, limit, offset });
    return { from, to, items: page.rows, ...(page.next !== undefined && { next: page.next }) };
  }

  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys/{id}/usage',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Usage of a key, by day, model and agent, and the state of its budget',
      detail: `Newest days come first. ${PAGING}`,
      query: RangeQuery,
      answers: { 200: { description: 'The usage', schema: KeyUsage } },
      handle: async ({ caller, values, query }) => {
        const { id = '' } = values;
        await needKey(caller.workspace, id);
        const status = await spending.budgetStatus(id);
        const rows = await usage(caller.workspace, query, USUAL_DIMENSIONS, { key: id });
        return { body: { ...rows, ...status } };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/usage',
      scope: 'audit:read',
      summary:
        'Usage of the workspace: calls, failures, tokens and cost, by key, model, agent or day',
      detail: `The dimension \`key\` is the caller: a key, or the subject of a JWT. Usage by \`context\` or \`task\` is kept for a month only. ${PAGING}`,
      query: UsageQuery,
      answers: { 200: { description: 'The usage', schema: Usage } },
      handle: async ({ caller, query }) => {
        const { by, key, subject, model, agent, context, task } = query;
        const filter = { key, subject, model, agent, context, task };
        return { body: await usage(caller.workspace, query, by, filter) };
      },
    }),
  ];
}

/** Returns the dimensions in a list such as `key,model`, or undefined if one of them is unknown. */
function dimensionsIn(text: string): readonly Dimension[] | undefined {
  const names = text.split(',').map((name) => name.trim());
  if (text.trim() === '') return [];
  const found = names.map((name) => DIMENSIONS.find((dimension) => dimension === name));
  return found.every((dimension) => dimension !== undefined) ? [...new Set(found)] : undefined;
}

function unknownDimension(context: z.RefinementCtx<string>): never {
  context.addIssue(`must be a list of ${DIMENSIONS.join(', ')}, separated by commas`);
  return z.NEVER;
}
