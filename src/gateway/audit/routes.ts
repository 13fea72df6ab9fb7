/** The HTTP route of the audit log. */
import * as z from 'zod';
import { whole } from '../api/page.ts';
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
      handle: async ({ caller, query: page }) => {
        const items = await audit.list(caller.workspace, page);
        const last = items.length < page.limit ? undefined : items.at(-1);
        return { body: { items, ...(last && { next: last.number }) } };
      },
    }),
  ];
}
