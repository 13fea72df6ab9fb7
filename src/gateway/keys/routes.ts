/**
 * The HTTP routes for API keys. Callers see only the keys of their own workspace. A secret is only in the response to
 * the request that created it.
 *
 * With the scope `keys:write`, a caller may create keys with any budget, rate limit and expiry. But a caller may not
 * create, change, rotate or revoke a key with a scope that the caller does not have.
 */
import * as z from 'zod';
import { NO_STORE } from '../../http/index.ts';
import { A2AError } from '../../protocol/index.ts';
import type { Caller, ApiScope } from '../api/caller.ts';
import { TrueOrFalse, pageOf, PageQuery } from '../api/fields.ts';
import { defineRoute, type GatewayRoute } from '../api/route.ts';
import type { Keys } from './keys.ts';
import { Key, KeyChange, MadeKey, NewKey, Rotation } from './schema.ts';

const ForceQuery = z.object({
  force: TrueOrFalse.describe(
    'If true, even the last key with the scope keys:write in the workspace may be revoked or lose this scope',
  ),
});

const GIVE = 'give this scope to another key';
const KeyList = pageOf(Key);
export function keyRoutes({ keys }: { readonly keys: Keys }): GatewayRoute[] {
  /** Throws if the workspace has no such key, or if the key has a scope that the caller does not have. */
  async function needChangeable(caller: Caller, id: string): Promise<void> {
    const { scopes } = await keys.get(caller.workspace, id);
    needScopes(caller, scopes, 'change, rotate or revoke a key with this scope');
  }

  return [
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys',
      scope: 'keys:write',
      resource: 'key',
      summary: 'List the keys of the workspace, newest first',
      query: PageQuery,
      answers: { 200: { description: 'The keys, without their secrets', schema: KeyList } },
      handle: async ({ caller, query: page }) => ({
        body: { ...(await keys.list(caller.workspace, page)), ...page },
      }),
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/keys',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Create a key',
      detail:
        'Only this response contains the secret. The new key cannot have a scope that the caller does not have.',
      body: NewKey,
      answers: {
        201: { description: 'The key and its secret', schema: MadeKey },
        409: { description: 'The workspace has too many keys' },
      },
      handle: async ({ caller, body }) => {
        needScopes(caller, body.scopes, GIVE);
        const made = await keys.create({ ...body, workspace: caller.workspace }, caller.actor);
        return { status: 201, headers: NO_STORE, body: made };
      },
    }),
    defineRoute({
      verb: 'GET',
      path: '/a2a/keys/{id}',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Get a key',
      answers: { 200: { description: 'The key, without its secret', schema: Key } },
      handle: async ({ caller, values: { id = '' } }) => ({
        body: await keys.get(caller.workspace, id),
      }),
    }),
    defineRoute({
      verb: 'PATCH',
      path: '/a2a/keys/{id}',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Change the settings of a key',
      detail:
        'Fields that are missing stay as they are. `null` removes a rate limit, a budget or an expiry. The change takes effect at once, and on other nodes usually within a second. The spending of the key is kept.',
      query: ForceQuery,
      body: KeyChange,
      answers: {
        200: { description: 'The key, without its secret', schema: Key },
        409: { description: 'The key is revoked, or is the last key with the scope keys:write' },
      },
      handle: async ({ caller, values: { id = '' }, body, query }) => {
        await needChangeable(caller, id);
        needScopes(caller, body.scopes ?? [], GIVE);
        const force = query.force === 'true';
        return { body: await keys.edit(caller.workspace, id, body, caller.actor, { force }) };
      },
    }),
    defineRoute({
      verb: 'POST',
      path: '/a2a/keys/{id}/rotate',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Give a key a new secret',
      detail:
        'The key keeps its id, settings and usage. Only this response contains the new secret.',
      body: Rotation.optional(),
      answers: {
        200: { description: 'The key and its new secret', schema: MadeKey },
        409: {
          description: 'The key is revoked or expired, or too many of its secrets are still valid',
        },
      },
      handle: async ({ caller, values: { id = '' }, body = {} }) => {
        await needChangeable(caller, id);
        const made = await keys.rotate(caller.workspace, id, body, caller.actor);
        return { headers: NO_STORE, body: made };
      },
    }),
    defineRoute({
      verb: 'DELETE',
      path: '/a2a/keys/{id}',
      scope: 'keys:write',
      resource: 'key',
      summary: 'Revoke a key permanently',
      query: ForceQuery,
      answers: {
        204: { description: 'The key is revoked' },
        409: { description: 'The key is the last key with the scope keys:write in the workspace' },
      },
      handle: async ({ caller, values: { id = '' }, query }) => {
        const force = query.force === 'true';
        await needChangeable(caller, id);
        await keys.revoke(caller.workspace, id, { force }, caller.actor);
        return { status: 204 };
      },
    }),
  ];
}

/** Throws if the caller does not have all scopes. `action` is the end of the message, after "so it cannot". */
function needScopes(caller: Caller, scopes: readonly (ApiScope | '*')[], action: string): void {
  const missing = scopes.find((scope) =>
    scope === '*' ? !caller.scopes.has('*') : !caller.may(scope),
  );
  if (missing === undefined) return;
  throw new A2AError(
    'forbidden',
    `The caller does not have the scope ${missing}, so it cannot ${action}`,
  );
}
