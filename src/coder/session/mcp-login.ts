/**
 * Logs in to an MCP server. Shows a URL to the person, and waits for the browser's redirect to a loopback address. Only
 * the person at this machine can start a login, with `parley mcp login`.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { raceAbort } from '../../base/index.ts';
import { loginToMcp } from '../../agent/internal/index.ts';
import type { McpServers } from '../../protocol/development-tool/index.ts';
import { expandVariables } from '../settings/expand-variables.ts';
import { mcpLogins, oauthFetch, type LoginPlace } from './mcp-logins.ts';

const CALLBACK = '/callback';
/** The time limit of a login. */
const TIMEOUT_MS = 5 * 60_000;

interface LoggedServer extends LoginPlace {
  readonly name: string;
  readonly server: McpServers[string];
}

export interface LoginOptions extends LoggedServer {
  /** Shows the URL of the login to the person, or opens it in a browser. */
  show(url: URL): void;
  readonly signal: AbortSignal;
}

/** Logs in, and stores the tokens. Rejects with a reason in one line. */
export async function logInToMcpServer(options: LoginOptions): Promise<void> {
  const { name } = options;
  const { url, oauth = {} } = addressed(options);
  const state = randomBytes(32).toString('base64url');
  const answer = Promise.withResolvers<URLSearchParams>();
  const listener = listen(state, answer.resolve);
  try {
    listener.listen(oauth.callbackPort ?? 0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const limit = AbortSignal.any([options.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const { clientId, clientSecret, scopes } = oauth;
    const login = loginToMcp({
      url,
      logins: mcpLogins(name, url, options),
      redirectUrl: `http://127.0.0.1:${port}${CALLBACK}`,
      state,
      client:
        clientId === undefined
          ? undefined
          : { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) },
      scopes,
      authorize(page) {
        options.show(page);
        return raceAbort(answer.promise, limit);
      },
      fetch: oauthFetch(url, options),
    });
    await raceAbort(login, limit);
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

/** Removes the stored login. Returns false if there is none. */
export function logOutOfMcpServer(options: LoggedServer): Promise<boolean> {
  return mcpLogins(options.name, addressed(options).url, options).remove();
}

/** Returns the URL and the login settings of the server, with variables replaced. Throws if it is a local program. */
function addressed({ server }: LoggedServer) {
  const { url, oauth } = expandVariables(server, process.env);
  if (url === undefined) throw new Error('it is a program, and needs no login');
  return { url, oauth };
}

/**
 * Returns an HTTP server that receives the redirect of the browser. Requests with another path or without the correct
 * state get 404.
 */
function listen(state: string, answer: (query: URLSearchParams) => void): Server {
  return createServer((request, response) => {
    // Any program on this machine may send a request. The target may be an invalid URL, for example `//`.
    const target = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    const query = target?.pathname === CALLBACK ? target.searchParams : undefined;
    const isOurs = query !== undefined && isSame(query.get('state') ?? '', state);
    response.writeHead(isOurs ? 200 : 404, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(isOurs ? 'You can close this window and return to Parley.\n' : 'Not found\n');
    if (isOurs) answer(query);
  });
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
