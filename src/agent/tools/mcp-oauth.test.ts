import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpAuthorization, type McpLogin } from './mcp-oauth.ts';
import { mcpToolset } from './mcp.ts';

/** Returns a login with this token. The refresh token is the same for all tokens. */
function loginWith(token: string): McpLogin {
  return {
    client: { client_id: 'parley' },
    tokens: { access_token: token, refresh_token: 'refresh' },
    discovery: { authorizationServerUrl: 'https://login.test' },
  };
}

test('a token that was refreshed after the refused request is not refreshed again', async () => {
  let login: McpLogin | undefined = loginWith('old');
  let refreshed = 0;
  const logins = {
    load: () => Promise.resolve(login),
    async update(change: (before: McpLogin | undefined) => Promise<McpLogin>) {
      login = await change(login);
    },
  };
  const authorization = mcpAuthorization(logins, 'log in first', async () => {
    refreshed++;
    return Response.json({ access_token: 'newer', token_type: 'Bearer' });
  });
  const slow = await authorization.token();
  login = loginWith('new');
  const fast = await authorization.token();

  await authorization.onUnauthorized(slow);
  assert.equal(refreshed, 0);
  assert.equal(await authorization.token(), 'new');

  await authorization.onUnauthorized(fast);
  assert.equal(refreshed, 1);
  assert.equal(await authorization.token(), 'newer');
});

test('the authorization learns which token the server refused', async () => {
  const refused: (string | undefined)[] = [];
  let sent = 0;
  const server = mcpToolset({
    name: 'notes',
    url: 'https://notes.test/mcp',
    authorization: {
      token: () => Promise.resolve(`token ${++sent}`),
      async onUnauthorized(token) {
        refused.push(token);
        throw new Error('log in first');
      },
    },
    fetch: () => Promise.resolve(new Response(null, { status: 401 })),
  });
  await assert.rejects(server.tools(new AbortController().signal), /log in first/);
  await server.close();
  assert.equal(refused[0], 'token 1');
});
