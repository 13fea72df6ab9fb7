/**
 * API keys over HTTP. Callers see the keys of their own workspace only. A secret is in the response that creates it, and
 * in no other.
 *
 * A key with `keys:write` may give other keys any budget, limit and expiry. It may not give a scope that it does not
 * have: neither by creating a key, nor by rotating a key with more scopes.
 */
import * as z from 'zod';
import { A2AError } from '../../protocol/index.ts';
import type { Caller, Scope } from '../api/caller.ts';
import { pageOf, PageQuery } from '../api/page.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import type { Keys } from './keys.ts';
import { Key, MadeKey, NewKey, Rotation } from './schema.ts';

const NO_STORE = { 'cache-control': 'no-store' };

const RevokeQuery = z.object({
  force: z
    .enum(['true', 'false'])
    .optional()
    .describe('Also the last key that can write keys in the workspace'),
});

const KeyList = pageOf(Key);
export function keyRoutes({ keys }: { readonly keys: Keys }): GatewayRoute[] {
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
