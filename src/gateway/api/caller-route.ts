/** The HTTP route for a caller's own name and scopes. A program uses it to offer only actions that its key allows. */
import * as z from 'zod';
import { NO_STORE } from '../../http/index.ts';
import { seesAllWorkspaces } from './all-workspaces.ts';
import { SCOPES } from './caller.ts';
import { defineRoute, type GatewayRoute } from './route.ts';

const CallerView = z.object({
  workspaceId: z.string(),
  keyId: z.string().optional(),
  keyName: z.string().optional(),
  subject: z.string().optional().describe('The subject of the JWT, for a caller without a key'),
  scopes: z
    .array(z.enum(SCOPES))
    .describe('The scopes of the caller. A key with the scope * has all scopes'),
  allWorkspaces: z
    .boolean()
    .describe(
      'Whether the caller may read the metrics and, with audit:read, the usage of all workspaces',
    ),
});

export function callerRoute(): GatewayRoute {
  return defineRoute({
    verb: 'GET',
    path: '/a2a/caller',
    scope: 'any',
    summary: 'The workspace, the name and the scopes of the caller',
    answers: { 200: { description: 'The caller', schema: CallerView } },
    handle: async ({ caller }) => {
      const { workspace: workspaceId, keyId, keyName, subject } = caller;
      const scopes = SCOPES.filter((scope) => caller.may(scope));
      return {
        headers: NO_STORE,
        body: {
          workspaceId,
          keyId,
          keyName,
          subject,
          scopes,
          allWorkspaces: seesAllWorkspaces(caller),
        },
      };
    },
  });
}
