// Credentials stay at the origin that they are for: no redirect, no card and no MCP server can send them elsewhere.
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { mcpToolset } from '../../src/agent/index.ts';
import { requireKnown } from '../../src/agent/models/model-list.ts';
import { listModels } from '../../src/agent/models/model-list.ts';
import { VENDORS } from '../../src/agent/models/vendors.ts';
import { remoteConnection } from '../../src/bridge/remote/connection.ts';
import { connect, remoteLimits } from '../../src/client/index.ts';
import { oauthFetch } from '../../src/coder/session/mcp-logins.ts';
import { createDialler } from '../../src/gateway/agents/dialler.ts';
import { RemoteAgent } from '../../src/gateway/agents/remote.ts';
import { relayed } from '../../src/gateway/models/relay/relayed.ts';
import { createExporter } from '../../src/base/tracing/export/otlp.ts';
import { webhookDelivery } from '../../src/http/webhook.ts';
import { v1, type Task } from '../../src/protocol/index.ts';
import { Published } from '../../src/tasks/log/published.ts';
import { cardOf, openStream, sendJson, startPeer, type Asked } from '../client/peer.ts';
import { quiet } from '../interop/support.ts';

const never = new AbortController().signal;
/** `fetch` itself removes Authorization from a redirected request, but not a key with a name of its own. */
const headers = { Authorization: 'Bearer secret', 'X-API-Key': 'secret' };

type Answer = (asked: Asked, response: ServerResponse) => void;

interface Face {
  readonly name: string;
  /** Sends a request with credentials to the server. It may fail. */
  readonly call: (url: string) => Promise<unknown>;
  /** What the server does instead of a redirect. `undefined`: it redirects. */
  readonly answer?: (asked: Asked, thief: string) => Answer | undefined;
}

const withCard = ({ verb }: Asked): Answer | undefined =>
  verb === 'GET'
    ? ({ headers: { host = '' } }, response) => {
        sendJson(response, v1.encodeCard(cardOf(`http://${host}`, '1.0')));
      }
    : undefined;

async function connected(url: string): Promise<unknown> {
  const client = await connect(url, { headers });
  return client.get('t').finally(() => client.close());
}

async function remoteAgent(url: string): Promise<unknown> {
  const remote = remoteConnection({ url, headers }, remoteLimits());
  const session = { app: 'a', user: 'u', id: 's' };
  const client = await remote.open({ runId: 'r', session }, never);
  return client.get('t').finally(() => client.close());
}

async function gatewayAgent(url: string): Promise<unknown> {
  const dialler = createDialler([]);
  const { trusted: route } = dialler;
  const agent = new RemoteAgent({
    name: 'a',
    source: 'config',
    settings: { url, headers },
    route,
  });
  try {
    const { service } = await agent.fetchCard();
    return await service.getTask({ id: 't' });
  } finally {
    await dialler.close();
  }
}

async function mcp(url: string, type?: 'sse'): Promise<unknown> {
  const toolset = mcpToolset({ name: 'x', url, headers, ...(type && { type }) });
  try {
    return await toolset.tools(never);
  } finally {
    await toolset.close();
  }
}

const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };

async function webhook(url: string): Promise<unknown> {
  const hooks = webhookDelivery({ allowNetworks: ['127.0.0.0/8'] });
  const authentication = { schemes: ['Bearer'], credentials: 'secret' };
  const config = hooks.accept({ url, token: 'secret', authentication }, '1.0');
  const progress = { cursor: 0, attempts: 0 };
  const record = { taskId: 't', config, version: '1.0', progress } as const;
  const entry = new Published({ seq: 1, event: task });
  const send = await hooks.prepare({ record, entry, task: () => Promise.resolve(task) });
  return send?.(never, async () => {});
}

const vendor = VENDORS['anthropic']!;
const settingsOf = (baseURL: string) => ({ apiKey: 'secret', baseURL });

async function spans(url: string): Promise<void> {
  const options = { url, headers, resource: {}, version: '1', logger: quiet, retryMs: 1 };
  const exporter = createExporter(options);
  const context = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), sampled: true };
  exporter.add({
    name: 'span',
    context,
    parentSpanId: undefined,
    kind: 'server',
    startNs: 1n,
    endNs: 2n,
    attributes: {},
    failed: false,
  });
  await exporter.close();
}

const FACES: readonly Face[] = [
  { name: 'the card for connect', call: connected },
  { name: 'a call of connect', call: connected, answer: withCard },
  { name: 'the card of a remote agent', call: remoteAgent },
  { name: 'a call of a remote agent', call: remoteAgent, answer: withCard },
  { name: 'the card of an agent behind the gateway', call: gatewayAgent },
  { name: 'a call of an agent behind the gateway', call: gatewayAgent, answer: withCard },
  { name: 'an MCP server', call: (url) => mcp(url) },
  { name: 'an MCP server over SSE', call: (url) => mcp(url, 'sse') },
  {
    name: 'an MCP server over SSE that names another endpoint',
    call: (url) => mcp(url, 'sse'),
    answer: (_, thief) => (__, response) => {
      openStream(response);
      response.write(`event: endpoint\ndata: ${thief}/messages\n\n`);
    },
  },
  {
    name: 'the authorization server of an MCP server',
    call: (url) => oauthFetch(url, {})(url, { method: 'POST', headers, body: '{}' }),
  },
  { name: 'a webhook', call: webhook },
  {
    name: 'the list of models',
    call: (url) => requireKnown({ prefix: 'p', id: 'm' }, { vendor, ...settingsOf(url) }, never),
  },
  {
    name: 'the list of a local model server',
    call: (url) => listModels({ vendor, ...settingsOf(url), local: 'ollama' }, never),
  },
  {
    name: 'a relayed request to a model',
    async call(url) {
      const relay = {
        stream: false,
        accepts: () => true,
        path: () => '/messages',
        body: () => ({}),
        watched: /x/,
        read: () => ({}),
      };
      const target = { vendor, settings: settingsOf(url), model: 'm', name: 'm' };
      for await (const _ of relayed(relay, target, never));
    },
  },
  { name: 'a collector of spans', call: spans },
];

describe('a server that leads elsewhere does not get the credentials there', () => {
  for (const { name, call, answer } of FACES) {
    test(name, async (t) => {
      const thief = await startPeer(t, (_, response) => sendJson(response, {}));
      for (const status of [302, 307]) {
        const server = await startPeer(t, (asked, response) => {
          const own = answer?.(asked, thief.url);
          if (own) own(asked, response);
          else response.writeHead(status, { location: `${thief.url}/x` }).end();
        });
        await call(server.url).catch(() => undefined);
        assert.ok(server.asked.length > 0, 'the server gets a request');
        assert.ok(JSON.stringify(server.asked).includes('secret'), 'with credentials');
        assert.deepEqual(thief.asked, []);
      }
    });
  }
});
