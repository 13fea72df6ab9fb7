/**
 * Keys, what they used, and the audit log, over HTTP. All of it is of the caller's own workspace; a secret is in the
 * answer that makes it, once.
 *
 * Who may write keys may also give them other budgets, limits and times than its own, but no scope that it does not
 * have itself, neither by making a key nor by taking a stronger one over with a rotation.
 */
import * as z from 'zod';
import { A2AError } from '../../protocol/index.ts';
import type { Caller, Scope } from '../api/caller.ts';
import { pageOf, PageQuery, whole } from '../api/page.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import { type AuditLog, AuditRecord } from './audit.ts';
import type { Keys } from './keys.ts';
import { dayOf } from './period.ts';
import { Budget, Key, MadeKey, NewKey, Rotation } from './schema.ts';
import { type SpendingLog, UsageRow } from './spending.ts';

const MAX_AUDIT_PAGE = 500;
const MAX_USAGE_ROWS = 5000;
const USAGE_DETAIL = `The newest days first, at most ${MAX_USAGE_ROWS} rows: ask for fewer days to see them all.`;
const NO_STORE = { 'cache-control': 'no-store' };

const Day = z.iso.date('a day, as in 2026-01-31');

const AuditQuery = z.object({
  limit: whole(1, MAX_AUDIT_PAGE, 50),
  before: whole(0)
    .optional()
    .describe('Only entries with a smaller number: the last one that was seen'),
});
const UsageQuery = z.object({
  from: Day.optional().describe('The first day; that of the month, unless told'),
  to: Day.optional().describe('The last day; today, unless told'),
});
type UsageQuery = z.infer<typeof UsageQuery>;
const RevokeQuery = z.object({
  force: z
    .enum(['true', 'false'])
    .optional()
    .describe('Also the last key that can write keys in the workspace'),
});

const KeyList = pageOf(Key);
const AuditList = z.object({
  items: z.array(AuditRecord),
  next: z.int().optional().describe('`before` for the next page; absent on the last'),
});
const Usage = z.object({
  from: Day,
  to: Day,
  items: z.array(UsageRow),
});
const KeyUsage = Usage.extend({
  budget: Budget.optional(),
  spent: z
    .object({ tokens: z.int(), amount: z.number() })
    .optional()
    .describe('In the present period of the budget'),
  resetsAt: z.iso.datetime().optional(),
});

export interface KeyRoutesOptions {
  readonly keys: Keys;
  readonly spending: SpendingLog;
  readonly audit: AuditLog;
  readonly now?: () => number;
}

export function keyRoutes({
  keys,
  spending,
  audit,
  now = Date.now,
}: KeyRoutesOptions): GatewayRoute[] {
  function usage(workspace: string, asked: UsageQuery, keyId?: string) {
    const today = dayOf(now());
    const { from = `${today.slice(0, 7)}-01`, to = today } = asked;
    return {
      from,
      to,
      items: spending.usage(workspace, { keyId, from, to, limit: MAX_USAGE_ROWS }),
    };
  }

  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys',
      scope: 'keys:write',
      resource: 'key',
      summary: 'The keys of the workspace, the newest first',
      query: PageQuery,
      answers: { 200: { description: 'The keys, without their secrets', schema: KeyList } },
      handle: async ({ caller, query: page }) => ({
        body: { ...keys.list(caller.workspace, page), ...page },
      }),
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/keys',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Make a key',
      detail:
        'The secret is in this answer and nowhere else. A key gives no scope that it does not have.',
      body: NewKey,
      answers: {
        201: { description: 'The key and its secret', schema: MadeKey },
        400: { description: 'A field is wrong' },
        409: { description: 'The workspace has too many keys' },
      },
      handle: async ({ caller, body }) => {
        mayGive(caller, body.scopes);
        const made = keys.create({ ...body, workspace: caller.workspace }, caller.actor);
        return { status: 201, headers: NO_STORE, body: made };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys/{id}',
      scope: 'keys:write',
      resource: 'key',
      summary: 'One key',
      answers: {
        200: { description: 'The key, without its secret', schema: Key },
        404: { description: 'There is no such key' },
      },
      handle: async ({ caller, values }) => ({ body: keys.get(caller.workspace, idOf(values)) }),
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/keys/{id}/rotate',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Give a key a new secret',
      detail:
        'The key keeps its id, its settings and what it has spent. The secret is in this answer and nowhere else.',
      body: Rotation.optional(),
      answers: {
        200: { description: 'The key and its new secret', schema: MadeKey },
        404: { description: 'There is no such key' },
        409: { description: 'It is revoked or expired' },
      },
      handle: async ({ caller, values, body = {} }) => {
        const { id, scopes } = keys.get(caller.workspace, idOf(values));
        mayGive(caller, scopes);
        const made = keys.rotate(caller.workspace, id, body, caller.actor);
        return { headers: NO_STORE, body: made };
      },
    }),
    defineRoute({
      verb: 'DELETE',
      path: '/a2a/keys/{id}',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Revoke a key, for good',
      query: RevokeQuery,
      answers: {
        204: { description: 'It is revoked' },
        404: { description: 'There is no such key' },
        409: { description: 'It is the last one that can write keys in the workspace' },
      },
      handle: async ({ caller, values, query }) => {
        const force = query.force === 'true';
        keys.revoke(caller.workspace, idOf(values), { force }, caller.actor);
        return { status: 204 };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys/{id}/usage',
      scope: 'keys:write',
      resource: 'key',
      summary: 'What a key used, by day and model, and how it stands with its budget',
      detail: USAGE_DETAIL,
      query: UsageQuery,
      answers: {
        200: { description: 'What it used', schema: KeyUsage },
        404: { description: 'There is no such key' },
      },
      handle: async ({ caller, values, query }) => {
        const { id } = keys.get(caller.workspace, idOf(values));
        return { body: { ...usage(caller.workspace, query, id), ...spending.standing(id) } };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/usage',
      scope: 'audit:read',
      summary: 'What the workspace used, by day, key and model',
      detail: USAGE_DETAIL,
      query: UsageQuery,
      answers: { 200: { description: 'What it used', schema: Usage } },
      handle: async ({ caller, query }) => ({ body: usage(caller.workspace, query) }),
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/audit',
      scope: 'audit:read',
      summary: 'Who changed what in the workspace, the newest first',
      query: AuditQuery,
      answers: { 200: { description: 'Entries of the log', schema: AuditList } },
      handle: async ({ caller, query: page }) => {
        const items = audit.list(caller.workspace, page);
        const last = items.length < page.limit ? undefined : items.at(-1);
        return { body: { items, ...(last && { next: last.number }) } };
      },
    }),
  ];
}

function mayGive(caller: Caller, scopes: readonly (Scope | '*')[]): void {
  const missing = scopes.find((scope) =>
    scope === '*' ? !caller.scopes.has('*') : !caller.may(scope),
  );
  if (missing === undefined) return;
  throw new A2AError('forbidden', `A key cannot give the scope ${missing}, which it does not have`);
}

function idOf(values: Readonly<Record<string, string>>): string {
  return values['id'] ?? '';
}
