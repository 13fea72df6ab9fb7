/** The HTTP routes for the usage of keys and workspaces, and for the state of budgets. */
import * as z from 'zod';
import { ALL_WORKSPACES, askedWorkspace, needAllWorkspaces } from '../api/all-workspaces.ts';
import { Day, NameFilter, NextOffset, PageQuery, whole } from '../api/fields.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { A2AError } from '../../protocol/index.ts';
import { dayOf } from './budget.ts';
import type { Spending } from './spending.ts';
import { BudgetPage, BudgetStatus } from './status.ts';
import {
  type Dimension,
  DIMENSIONS,
  isByTask,
  USUAL_DIMENSIONS,
  type UsageFilter,
  UsageRow,
} from './usage.ts';

const MAX_USAGE_ROWS = 5000;
const PAGING = `A response has at most \`limit\` rows. If there are more, \`next\` is the \`offset\` of the next page.`;

const OPERATORS =
  'Only callers of the workspace default with the scope metrics:read may name another workspace';

const RangeQuery = z.object({
  from: Day.optional().describe('The first day. Default: the first day of the current month'),
  to: Day.optional().describe('The last day. Default: today'),
  limit: whole(1, MAX_USAGE_ROWS, MAX_USAGE_ROWS),
  offset: whole(0, undefined, 0),
});

const UsageQuery = RangeQuery.extend({
  by: z
    .string()
    .max(1024)
    .default(USUAL_DIMENSIONS.join(','))
    .transform((text, context) => dimensionsIn(text) ?? unknownDimension(context))
    .describe(
      `What the usage is grouped and sorted by: any of ${DIMENSIONS.join(', ')}, separated by commas. If empty, one sum for each currency`,
    ),
  workspaceId: NameFilter.describe(
    `The workspace, or ${ALL_WORKSPACES} for all. Default: the caller's own, or all if the usage is grouped by workspace. ${OPERATORS}`,
  ),
  key: NameFilter.describe('Only usage of the key with this id'),
  subject: NameFilter.describe('Only usage of this subject of a JWT'),
  model: NameFilter.describe('Only usage of this model'),
  agent: NameFilter.describe('Only usage of this agent'),
  context: NameFilter.describe('Only usage for tasks of this context'),
  task: NameFilter.describe('Only usage for this task'),
});

const Usage = z.object({
  from: Day,
  to: Day,
  items: z.array(UsageRow),
  next: NextOffset,
});
const KeyUsage = Usage.extend(BudgetStatus.partial().shape);
const BudgetsQuery = PageQuery.extend({
  workspaceId: NameFilter.describe(`Default: the caller's own workspace. ${OPERATORS}`),
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
    workspace: string | undefined,
    query: z.infer<typeof RangeQuery>,
    by: readonly Dimension[],
    filter: UsageFilter,
  ) {
    const today = dayOf(now());
    const { from = `${today.slice(0, 7)}-01`, to = today, limit, offset } = query;
    const { rows, next } = await spending.usage(workspace, { by, filter, from, to, limit, offset });
    return { from, to, items: rows, next };
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
      detail: `An operator may also read the usage of other workspaces. The dimension \`key\` is the caller: a key, or the subject of a JWT. Usage by \`context\` or \`task\` is kept for at most a month, and for a shorter time if there are very many calls. ${PAGING}`,
      query: UsageQuery,
      answers: { 200: { description: 'The usage', schema: Usage } },
      handle: async ({ caller, query }) => {
        const { by, key, subject, model, agent, context, task } = query;
        const filter = { key, subject, model, agent, context, task };
        if (by.includes('workspace')) needAllWorkspaces(caller, 'Usage by workspace covers');
        const asked = query.workspaceId ?? (by.includes('workspace') ? ALL_WORKSPACES : undefined);
        const workspace = askedWorkspace(caller, asked);
        if (workspace === undefined && isByTask({ by, filter })) {
          throw new A2AError(
            'invalidParams',
            'Usage by context or task can be read only for one workspace at a time: set workspaceId',
          );
        }
        return { body: await usage(workspace, query, by, filter) };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/budgets',
      scope: 'audit:read',
      summary:
        'The budgets of the workspace, its keys and its JWT subjects, with what is spent and reserved',
      detail: `The budget of the workspace comes first. The budgets of its usable keys follow, the newest keys first, and then the budgets of its JWT subjects. Subjects that the configuration names come first. Other subjects follow if they have used something. ${PAGING}`,
      query: BudgetsQuery,
      answers: { 200: { description: 'The budgets', schema: BudgetPage } },
      handle: async ({ caller, query }) => {
        const workspace = askedWorkspace(caller, query.workspaceId);
        if (workspace === undefined) {
          throw new A2AError(
            'invalidParams',
            'Budgets can be listed only for one workspace at a time: set workspaceId',
          );
        }
        return { body: await spending.budgets(workspace, query) };
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
