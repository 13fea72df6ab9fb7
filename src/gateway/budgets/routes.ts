/** The HTTP routes for the usage of keys and workspaces, by day and model. */
import * as z from 'zod';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { Budget, dayOf } from './budget.ts';
import type { Spending } from './spending.ts';
import { UsageRow } from './store.ts';

const MAX_USAGE_ROWS = 5000;
const USAGE_DETAIL = `Lists the newest days first, with at most ${MAX_USAGE_ROWS} rows. To get all rows, request fewer days.`;

const Day = z.iso.date('a day such as 2026-01-31');

const UsageQuery = z.object({
  from: Day.optional().describe('The first day. Default: the first day of the current month'),
  to: Day.optional().describe('The last day. Default: today'),
});

const Usage = z.object({ from: Day, to: Day, items: z.array(UsageRow) });
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
  /** Throws `notFound` if the workspace has no such key. */
  readonly needKey: (workspace: string, id: string) => void;
  readonly now?: () => number;
}

export function usageRoutes(options: UsageRoutesOptions): GatewayRoute[] {
  const { spending, needKey, now = Date.now } = options;

  async function usage(workspace: string, query: z.infer<typeof UsageQuery>, keyId?: string) {
    const today = dayOf(now());
    const { from = `${today.slice(0, 7)}-01`, to = today } = query;
    const items = await spending.usage(workspace, { keyId, from, to, limit: MAX_USAGE_ROWS });
    return { from, to, items };
  }

  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys/{id}/usage',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Usage of a key, by day and model, and the state of its budget',
      detail: USAGE_DETAIL,
      query: UsageQuery,
      answers: { 200: { description: 'The usage', schema: KeyUsage } },
      handle: async ({ caller, values, query }) => {
        const { id = '' } = values;
        needKey(caller.workspace, id);
        const status = await spending.budgetStatus(id);
        return { body: { ...(await usage(caller.workspace, query, id)), ...status } };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/usage',
      scope: 'audit:read',
      summary: 'Usage of the workspace, by day, key and model',
      detail: USAGE_DETAIL,
      query: UsageQuery,
      answers: { 200: { description: 'The usage', schema: Usage } },
      handle: async ({ caller, query }) => ({ body: await usage(caller.workspace, query) }),
    }),
  ];
}
