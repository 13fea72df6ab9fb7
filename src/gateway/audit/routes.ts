/** The HTTP route of the audit log. */
import * as z from 'zod';
import { Day, NameFilter, whole } from '../api/fields.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { type AuditLog, AuditRecord } from './audit.ts';

const MAX_PAGE = 500;

const AuditQuery = z.object({
  limit: whole(1, MAX_PAGE, 50),
  before: whole(0)
    .optional()
    .describe(
      'Only entries with a smaller number are listed. Use the value of `next` from the previous page',
    ),
  actor: NameFilter.describe(
    'Only changes by this actor: `key:ID`, `oidc:SUBJECT`, `cli`, `gateway`, `program`, or the name that a key had at that time',
  ),
  action: NameFilter.describe(
    'Only this action, such as `key.create`, or all actions that begin with this word, such as `key`',
  ),
  subject: NameFilter.describe(
    'Only changes of the key or model card with this id, or of the agent with this name',
  ),
  from: Day.optional().describe('The first day, in UTC'),
  to: Day.optional().describe('The last day, in UTC'),
});
const AuditList = z.object({
  items: z.array(AuditRecord),
  next: z
    .int()
    .optional()
    .describe('The value of `before` for the next page. Missing on the last page'),
});

export function auditRoutes({ audit }: { readonly audit: AuditLog }): GatewayRoute[] {
  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/audit',
      scope: 'audit:read',
      summary: 'List the entries of the audit log of the workspace, newest first',
      query: AuditQuery,
      answers: { 200: { description: 'A page of entries', schema: AuditList } },
      handle: async ({ caller, query: { limit, before, ...filter } }) => {
        const found = await audit.list(caller.workspace, { limit: limit + 1, before, filter });
        const items = found.slice(0, limit);
        const next = found.length > limit ? items.at(-1)?.number : undefined;
        return { body: { items, next } };
      },
    }),
  ];
}
