/** A small OAuth 2.1 authorization server with dynamic registration, and a check for the resources behind it. */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

interface Code {
  readonly client: string;
  readonly redirect: string;
  readonly challenge: string;
  readonly resource: string | null;
}

export interface OAuthServer {
  readonly url: string;
  /** What it was asked for: `register`, `authorize`, `token authorization_code`, `token refresh_token`. */
  readonly asked: string[];
  isValid(authorization: string | undefined): boolean;
  /** Makes all access tokens invalid, and the refresh tokens too if told. */
  expire(what?: 'all'): void;
}

export async function startOAuthServer(t: TestContext): Promise<OAuthServer> {
  const asked: string[] = [];
  const redirects = new Map<string, readonly string[]>();
  const codes = new Map<string, Code>();
  const tokens = new Set<string>();
  const refreshTokens = new Set<string>();

  function issue() {
    const [access_token, refresh_token] = [randomUUID(), randomUUID()];
    tokens.add(access_token);
    refreshTokens.add(refresh_token);
    return { access_token, refresh_token, token_type: 'Bearer', expires_in: 3600 };
  }

  function token(form: URLSearchParams): object | undefined {
    asked.push(`token ${form.get('grant_type')}`);
    if (form.get('grant_type') === 'refresh_token') {
      // A refresh token is valid once.
      return refreshTokens.delete(form.get('refresh_token') ?? '') ? issue() : undefined;
    }
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const verifier = createHash('sha256').update(form.get('code_verifier') ?? '');
    const isOurs =
      code?.client === form.get('client_id') &&
      code.redirect === form.get('redirect_uri') &&
      code.challenge === verifier.digest('base64url');
    return isOurs ? issue() : undefined;
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    asked.push('authorize');
    const client = query.get('client_id') ?? '';
    const redirect = query.get('redirect_uri') ?? '';
    if (!redirects.get(client)?.includes(redirect) || query.get('code_challenge_method') !== 'S256')
      return void response.writeHead(400).end('unknown client or redirect');
    const code = randomUUID();
    const challenge = query.get('code_challenge') ?? '';
    codes.set(code, { client, redirect, challenge, resource: query.get('resource') });
    const back = new URL(redirect);
    back.searchParams.set('code', code);
    back.searchParams.set('iss', url);
    back.searchParams.set('state', query.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    const answer = (status: number, body: object): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(body));
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return answer(200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          registration_endpoint: `${url}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
        });
      case '/register': {
        asked.push('register');
        const metadata = JSON.parse(await text(request)) as { redirect_uris: string[] };
        const client_id = randomUUID();
        redirects.set(client_id, metadata.redirect_uris);
        return answer(201, { ...metadata, client_id });
      }
      case '/authorize':
        return authorize(searchParams, response);
      case '/token': {
        const issued = token(new URLSearchParams(await text(request)));
        return issued ? answer(200, issued) : answer(400, { error: 'invalid_grant' });
      }
      default:
        return answer(404, {});
    }
  }

  const http = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return {
    url,
    asked,
    isValid: (authorization) => tokens.has(authorization?.replace(/^Bearer /, '') ?? ''),
    expire(what) {
      tokens.clear();
      if (what === 'all') refreshTokens.clear();
    },
  };
}
