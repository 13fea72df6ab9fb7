/**
 * OAuth for MCP servers over HTTP (MCP 2025-11-25, "Authorization").
 *
 * A person logs in once in a browser (`loginToMcp`). After that, the stored tokens are used and refreshed without a
 * person (`mcpAuthorization`). A session never starts a login. If there are no valid tokens, the server is
 * unavailable, and the error names the command to run.
 */
import type {
  FetchLike,
  OAuthClientInformation,
  OAuthClientProvider,
  OAuthDiscoveryState,
  OAuthTokens,
} from '@modelcontextprotocol/client';
import { mcpLibrary, type McpAuthorization } from './mcp-transport.ts';

/** The result of a login. It is stored as JSON. */
export interface McpLogin {
  readonly client: Readonly<Pick<OAuthClientInformation, 'client_id' | 'client_secret'>>;
  readonly tokens?: Readonly<Omit<OAuthTokens, 'token_type' | 'id_token'>>;
  /** The address and the metadata of the authorization server, as they were at the login. */
  readonly discovery: Readonly<OAuthDiscoveryState>;
}

/** Stores the login of one MCP server. */
export interface McpLogins {
  load(): Promise<McpLogin | undefined>;
  /**
   * Replaces the login with the result of `change`. Changes of one login run one after the other. If `change`
   * rejects, the login stays unchanged.
   */
  update(change: (login: McpLogin | undefined) => Promise<McpLogin>): Promise<void>;
}

/** Error codes of an authorization server after which only a new login helps. */
const LOST = new Set(['invalid_grant', 'invalid_client', 'unauthorized_client']);

/**
 * Returns the authorization for a server. `needsLogin` is the error message if a person has to log in. `fetch` is
 * used for requests to the authorization server.
 */
export function mcpAuthorization(
  logins: McpLogins,
  needsLogin: string,
  fetch: FetchLike,
): McpAuthorization {
  return {
    token: async () => (await logins.load())?.tokens?.access_token,
    async onUnauthorized(refused) {
      let isLost = false;
      await logins.update(async (login) => {
        const { tokens } = login ?? {};
        if (!login || !tokens) throw new Error(needsLogin);
        // If the token is different, another request, session or process has refreshed it in the meantime.
        if (tokens.access_token !== refused) return login;
        const fresh = await refreshed(login, fetch);
        if (fresh) return { ...login, tokens: fresh };
        isLost = true;
        const { tokens: _lost, ...rest } = login;
        return rest;
      });
      if (isLost) throw new Error(needsLogin);
    },
  };
}

/** Returns new tokens. Returns undefined if there is no refresh token, or if the authorization server refuses it. */
async function refreshed(
  { client, tokens, discovery }: McpLogin,
  fetch: FetchLike,
): Promise<McpLogin['tokens']> {
  const refreshToken = tokens?.refresh_token;
  if (refreshToken === undefined) return undefined;
  const { OAuthError, refreshAuthorization } = await mcpLibrary();
  const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = discovery;
  try {
    return await refreshAuthorization(authorizationServerUrl, {
      clientInformation: client,
      refreshToken,
      fetchFn: fetch,
      ...(authorizationServerMetadata && { metadata: authorizationServerMetadata }),
      ...(resourceMetadata && { resource: resourceMetadata.resource }),
    });
  } catch (error) {
    if (error instanceof OAuthError && LOST.has(error.code)) return undefined;
    throw error;
  }
}

/** The options of `loginToMcp`. */
export interface McpLoginOptions {
  readonly url: string;
  readonly logins: McpLogins;
  /** The URL to which the authorization server redirects the browser. */
  readonly redirectUrl: string;
  /** A random value that the redirect must repeat. `authorize` checks it. */
  readonly state: string;
  /** A client that is already registered. By default, a new client is registered. */
  readonly client?: McpLogin['client'] | undefined;
  readonly scopes?: readonly string[] | undefined;
  /** Shows the URL to the person and waits for the redirect. Checks the redirect's state, and returns its query. */
  authorize(url: URL): Promise<URLSearchParams>;
  readonly fetch: FetchLike;
}

/** Logs in to an MCP server, and stores the login. Rejects if the person or the server declines. */
export async function loginToMcp(options: McpLoginOptions): Promise<void> {
  const { url, redirectUrl, scopes, fetch } = options;
  const { auth, extractWWWAuthenticateParams } = await mcpLibrary();
  const flow: {
    client?: McpLogin['client'];
    tokens?: McpLogin['tokens'];
    discovery?: OAuthDiscoveryState;
    verifier?: string;
    page?: URL;
  } = options.client ? { client: options.client } : {};
  const scope = scopes?.join(' ');
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: 'Parley',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...(scope !== undefined && { scope }),
    },
    state: () => options.state,
    clientInformation: () => flow.client,
    saveClientInformation: (client) => void (flow.client = client),
    tokens: () => undefined,
    saveTokens: (tokens) => void (flow.tokens = tokens),
    redirectToAuthorization: (page) => void (flow.page = page),
    saveCodeVerifier: (verifier) => void (flow.verifier = verifier),
    codeVerifier: () => flow.verifier ?? '',
    saveDiscoveryState: (discovery) => void (flow.discovery = discovery),
    discoveryState: () => flow.discovery,
  };
  const refusal = await fetch(url, { method: 'POST', headers: PROBE_HEADERS, body: PROBE });
  const challenge = extractWWWAuthenticateParams(refusal);
  await refusal.body?.cancel();
  const common = { serverUrl: url, fetchFn: fetch };
  try {
    await auth(provider, {
      ...common,
      ...((scope ?? challenge.scope) !== undefined && { scope: scope ?? challenge.scope }),
      ...(challenge.resourceMetadataUrl && { resourceMetadataUrl: challenge.resourceMetadataUrl }),
    });
  } catch (error) {
    if (!isAboutRegistration(error)) throw error;
    const server = flow.discovery?.authorizationServerUrl ?? url;
    const unasked = refusal.status === 401 ? '' : '; the MCP server did not ask for a login';
    throw new Error(
      `${new URL(server).host} did not register Parley as a client: set oauth.clientId in the settings${unasked}`,
      { cause: error },
    );
  }
  if (!flow.page || !/^https?:$/.test(flow.page.protocol)) {
    throw new Error('the authorization server has no page for a login');
  }
  const answer = await options.authorize(flow.page);
  const code = answer.get('code');
  const iss = answer.get('iss');
  if (code === null) throw new Error('the authorization server refused the login');
  await auth(provider, { ...common, authorizationCode: code, ...(iss !== null && { iss }) });
  const { client, tokens, discovery } = flow;
  if (!client || !tokens || !discovery) throw new Error('the authorization server sent no token');
  await options.logins.update(() => Promise.resolve({ client, tokens, discovery }));
}

/** Returns whether the login failed because the authorization server did not register the client. */
function isAboutRegistration(error: unknown): boolean {
  return error instanceof Error && /\bdynamic client registration\b/i.test(error.message);
}

/**
 * The headers of a request without a token. A server that needs a login refuses this request. Its response can contain
 * the URL of the resource metadata, which names the authorization server, and the scope to request.
 */
const PROBE_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const PROBE = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' });
