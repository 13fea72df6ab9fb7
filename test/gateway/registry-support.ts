/** Asks the routes of the registry of agents. */
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext } from 'node:test';
import { agentRoutes } from '../../src/gateway/agents/routes.ts';
import type { RouteAnswer } from '../../src/gateway/api/route.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { callerOf, type Behind } from './agents-support.ts';

export const LOOPBACK = ['127.0.0.0/8'];

/** Asks a route as a caller would, and says what came of it. */
export async function ask(
  { agents, handler }: Behind,
  verb: string,
  path: string,
  body?: unknown,
  workspace = 'default',
): Promise<{ status: number; body: unknown; text: string }> {
  const [pathname = '', query = ''] = path.split('?');
  const name = pathname.split('/')[3];
  const template = name === undefined ? '/a2a/agents' : '/a2a/agents/{name}';
  const route = agentRoutes({ agents }).find(
    (each) => each.verb === verb && each.path === template,
  );
  assert.ok(route, `${verb} ${template}`);
  const caller = callerOf(workspace);
  try {
    const answer = (await route.handle({
      values: name === undefined ? {} : { name },
      query: new URLSearchParams(query),
      body,
      caller,
      call: { user: caller },
      handler,
      header: () => undefined,
    })) as RouteAnswer;
    const status = answer.status ?? 200;
    const schema = route.answers[status]?.schema;
    if (schema) schema.parse(answer.body);
    return { status, body: answer.body, text: JSON.stringify(answer.body) ?? '' };
  } catch (error) {
    assert.ok(error instanceof A2AError, String(error));
    return { status: error.httpStatus, body: { error: error.message }, text: error.message };
  }
}

export async function raw(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export const INTERNAL = 'http://10.9.8.7:4000';

/** A card whose every field that is not to be shown names the internal network. */
export function gossip(origin: string) {
  return {
    name: 'Gossip',
    description: 'Tells',
    version: '1',
    protocolVersion: '0.3.0',
    url: `${origin}/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url: `${origin}/rest`, transport: 'HTTP+JSON' }],
    provider: { organization: 'Org', url: origin },
    documentationUrl: `${origin}/docs`,
    iconUrl: `${origin}/icon.png`,
    capabilities: {
      streaming: true,
      extensions: [
        {
          uri: 'https://ext.example/1',
          description: 'Fine',
          required: false,
          params: { at: origin },
        },
        { uri: `${origin}/extension` },
      ],
      at: origin,
    },
    securitySchemes: {
      login: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: `${origin}/token`, scopes: {} } },
        oauth2MetadataUrl: `${origin}/meta`,
      },
      oidc: { type: 'openIdConnect', openIdConnectUrl: `${origin}/oidc` },
    },
    security: [{ [origin]: [] }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [
      {
        id: 's',
        name: 'Skill',
        description: `Reads ${origin}/things`,
        tags: ['a'],
        examples: ['do it'],
        security: [{ [origin]: [] }],
        at: origin,
      },
    ],
    signatures: [{ protected: origin, signature: origin, header: { at: origin } }],
    [`x-${origin}`]: origin,
  };
}
