// Attacker and victim: an address that somebody else chose never leads to this machine, to a private network or to a
// metadata service, on any path on which Parley requests such an address. The internet is a fake: nothing leaves loopback.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, after, describe, test, type TestContext } from 'node:test';
import { mcpToolset } from '../../src/agent/index.ts';
import { loginToMcp, type McpLogins } from '../../src/agent/internal/index.ts';
import { guardedFetch } from '../../src/base/net/index.ts';
import { remoteConnection } from '../../src/bridge/remote/connection.ts';
import { connect, remoteLimits } from '../../src/client/index.ts';
import { verifyCard } from '../../src/client/connection/verify-card.ts';
import { oauthFetch } from '../../src/coder/session/mcp-logins.ts';
import { pageFetcher } from '../../src/coder/web/fetch-page.ts';
import { AgentInput } from '../../src/gateway/agents/config.ts';
import { createDialler } from '../../src/gateway/agents/dialler.ts';
import { RemoteAgent } from '../../src/gateway/agents/remote.ts';
import { webhookDelivery } from '../../src/http/webhook.ts';
import { type AgentCard, v1, type Task } from '../../src/protocol/index.ts';
import { Published } from '../../src/tasks/log/published.ts';
import { cardOf } from '../client/peer.ts';
import { fakeInternet, type FakeInternet } from '../support/fake-internet.ts';

const PUBLIC = '93.184.216.34';
const METADATA = '169.254.169.254';
const never = new AbortController().signal;

/** The addresses of each name, one list for each time that it is resolved. The last list is repeated. */
const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'public.example': [[PUBLIC]],
  'cards.example': [[PUBLIC]],
  'mcp.example': [[PUBLIC]],
  'redirect.example': [[PUBLIC]],
  'private.example': [['10.0.0.1']],
  'loopback.example': [['127.0.0.1', '::1']],
  'mixed.example': [['127.0.0.1', PUBLIC, '::ffff:127.0.0.1', 'fd00::1']],
  'rebinding.example': [[PUBLIC], ['127.0.0.1']],
};

/** The hosts that an attacker names. Each path requests each of them twice. */
const HOSTS = [
  '127.0.0.1',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '0',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[fd00:ec2::254]',
  '10.0.0.1',
  '100.100.100.200',
  METADATA,
  '168.63.129.16',
  'localhost',
  'a.localhost.',
  'private.example',
  'loopback.example',
  'mixed.example',
  'rebinding.example',
  'redirect.example',
  'user:password@127.0.0.1',
  'public.example@127.0.0.1',
];

interface Path {
  readonly name: string;
  /** Makes Parley request the address. */
  readonly call: (url: string) => Promise<unknown>;
  /** Makes Parley send this header value to the host of the attacker. */
  readonly inject?: (url: string, value: string) => Promise<unknown>;
  /** Whether the path first requests an address of the operator, for which a proxy may be used. */
  readonly startsTrusted?: boolean;
  /** The only host that the path may request, if it does not request the attacker's addresses at all. */
  readonly onlyHost?: string;
}

let port = 0;
/** The address that the attacker's card or MCP server names, and the binding of the card. */
let named = '';
let binding = 'JSONRPC';
const seen: IncomingHttpHeaders[] = [];

/** The attacker, and the victim too: the fake internet records which of the two a request was for. */
const server = http.createServer((request, response) => {
  seen.push(request.headers);
  response.setHeader('connection', 'close');
  const [host = ''] = (request.headers.host ?? '').split(':');
  request.resume().on('end', () => answer(host, request.method ?? '', response));
});

// A request through a proxy fails at once.
server.on('connect', (_, socket) => socket.destroy());

function answer(host: string, method: string, response: ServerResponse): void {
  if (host === 'redirect.example') {
    response.writeHead(307, { location: `http://${METADATA}:${port}/latest/` }).end();
  } else if (host === 'mcp.example') {
    const challenge = `Bearer resource_metadata="${named}"`;
    response.writeHead(401, { 'www-authenticate': challenge }).end();
  } else if (method === 'GET') {
    const url = host === 'cards.example' ? named : `http://${host}:${port}/`;
    const body = JSON.stringify(v1.encodeCard(cardWith(url)));
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  } else response.writeHead(400).end();
}

function cardWith(url: string): AgentCard {
  const supportedInterfaces = [{ url, protocolBinding: binding, protocolVersion: '1.0' }];
  return { ...cardOf(url, '1.0'), supportedInterfaces };
}

before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
after(() => {
  server.close();
  server.closeAllConnections();
});

const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };

async function webhook(url: string, token = 'token'): Promise<unknown> {
  const hooks = webhookDelivery();
  const version = '1.0';
  const config = hooks.accept({ url, token }, version);
  const progress = { cursor: 0, attempts: 0 };
  const record = { taskId: 't', config, version, progress } as const;
  const entry = new Published({ seq: 1, event: task });
  const send = await hooks.prepare({ record, entry, task: () => Promise.resolve(task) });
  return send?.(never, async () => {});
}

async function registeredAgent(input: unknown): Promise<unknown> {
  const settings = AgentInput.parse(input);
  const dialler = createDialler([]);
  try {
    const { guarded: route } = dialler;
    const agent = new RemoteAgent({ name: 'a', source: 'api', settings, route });
    const { service } = await agent.fetchCard();
    return await service.getTask({ id: 't' });
  } finally {
    await dialler.close();
  }
}

async function cardOfClient(url: string, headers?: Record<string, string>): Promise<unknown> {
  const client = await connect(`http://cards.example:${port}`, { card: cardWith(url) });
  try {
    return await client.get('t', { ...(headers && { headers }) });
  } finally {
    client.close();
  }
}

async function clientMcp(url: string, headers = {}): Promise<unknown> {
  const toolset = mcpToolset({ name: 'x', url, headers, fetch: guardedFetch() });
  try {
    return await toolset.tools(never);
  } finally {
    await toolset.close();
  }
}

const noLogins: McpLogins = {
  load: () => Promise.resolve(undefined),
  update: () => Promise.reject(new Error('there is no login')),
};

/** Runs a call with cards that have only gRPC. Such a card has no scheme, and so its host can be anything. */
async function overGrpc(
  url: string,
  call: (address: string) => Promise<unknown>,
): Promise<unknown> {
  binding = 'GRPC';
  try {
    return await call(url.slice('http://'.length, -1));
  } finally {
    binding = 'JSONRPC';
  }
}

const PATHS: readonly Path[] = [
  { name: 'a webhook', call: (url) => webhook(url), inject: webhook },
  {
    name: 'an agent registered over the API',
    call: (url) => registeredAgent({ url }),
    inject: (url, value) => registeredAgent({ url, headers: { 'x-key': value } }),
  },
  {
    name: 'the card of an agent registered over the API',
    call(url) {
      named = url;
      const { origin } = new URL(url);
      return registeredAgent({ url: `http://cards.example:${port}`, allowOrigins: [origin] });
    },
  },
  { name: 'the card of an agent', call: (url) => cardOfClient(url) },
  {
    name: 'the gRPC interface in the card of an agent',
    call: (url) => overGrpc(url, (address) => cardOfClient(address)),
  },
  {
    name: 'the gRPC interface in the card of an agent registered over the API',
    call: (url) =>
      overGrpc(url, (address) => {
        named = address;
        const { origin } = new URL(url);
        return registeredAgent({ url: `http://cards.example:${port}`, allowOrigins: [origin] });
      }),
  },
  {
    name: 'the card of a remote agent of the framework',
    startsTrusted: true,
    onlyHost: 'cards.example',
    async call(url) {
      named = url;
      const remote = remoteConnection({ url: `http://cards.example:${port}` }, remoteLimits());
      const session = { app: 'a', user: 'u', id: 's' };
      const client = await remote.open({ runId: 'r', session }, never);
      return client.get('t').finally(() => client.close());
    },
  },
  {
    name: 'the key set that the signature of a card names',
    startsTrusted: true,
    onlyHost: 'cards.example',
    call(url) {
      const header = JSON.stringify({ alg: 'EdDSA', kid: 'k', jku: url });
      const signature = { protected: Buffer.from(header).toString('base64url'), signature: 'AA' };
      const card = { ...cardOf(`http://cards.example:${port}`, '1.0'), signatures: [signature] };
      return verifyCard(card, `http://cards.example:${port}/card.json`, true);
    },
  },
  {
    name: 'a page for the model',
    call: (url) => pageFetcher()(url, never),
  },
  {
    name: 'an MCP server of a client',
    call: (url) => clientMcp(url),
    inject: (url, value) => clientMcp(url, { 'x-key': value }),
  },
  {
    name: 'an authorization server that an MCP server names',
    call: (url) => oauthFetch(`http://mcp.example:${port}/`, {})(url),
    inject: (url, value) =>
      oauthFetch(`http://mcp.example:${port}/`, {})(url, { headers: { 'x-key': value } }),
  },
  {
    name: 'a login to an MCP server',
    startsTrusted: true,
    call(url) {
      named = url;
      const server = `http://mcp.example:${port}/`;
      return loginToMcp({
        url: server,
        logins: noLogins,
        redirectUrl: 'http://127.0.0.1:1/',
        state: 's',
        authorize: () => Promise.reject(new Error('nobody logs in')),
        fetch: oauthFetch(server, {}),
      });
    },
  },
];

function internet(t: TestContext): FakeInternet {
  const times = new Map<string, number>();
  return fakeInternet(t, (name) => {
    const answers = NAMES[name.toLowerCase()] ?? [];
    const at = times.get(name) ?? 0;
    times.set(name, at + 1);
    return answers[Math.min(at, answers.length - 1)] ?? ['127.0.0.1'];
  });
}

const DEADLINE_MS = 10_000;

/** Waits for the end of the call. It may fail, but it must not hang. */
async function attempt(call: () => Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('the call hangs')), DEADLINE_MS);
  const called = (async () => call())().catch(() => undefined);
  await Promise.race([called, late.promise]).finally(() => clearTimeout(timer));
}

describe('the address that somebody else chose', () => {
  for (const { name, call, inject, startsTrusted, onlyHost } of PATHS) {
    test(`${name}: a public address is reached, and no other`, async (t) => {
      const { reached } = internet(t);
      await attempt(() => call(`http://${onlyHost ?? 'public.example'}:${port}/`));
      assert.ok(reached.includes(PUBLIC), 'this test does not make the request');
      seen.length = 0;
      for (const host of HOSTS) {
        const url = `http://${host}:${port}/`;
        for (let time = 0; time < 2; time++) await attempt(() => call(url));
        assert.deepEqual(
          reached.filter((address) => address !== PUBLIC),
          [],
          url,
        );
      }
      const hosts = new Set(seen.map(({ host }) => host));
      if (onlyHost) assert.ok([...hosts].every((host) => host === `${onlyHost}:${port}`));
    });

    test(`${name}: an address with credentials is not requested`, async (t) => {
      internet(t);
      seen.length = 0;
      await attempt(() => call(`http://user:password@public.example:${port}/`));
      assert.ok(seen.every(({ host }) => host !== `public.example:${port}`));
    });

    if (startsTrusted !== true) {
      test(`${name}: a proxy of the environment is not used`, async (t) => {
        const { reached } = internet(t);
        const proxy = `http://127.0.0.1:${port}`;
        t.after(http.setGlobalProxyFromEnv({ http_proxy: proxy, HTTP_PROXY: proxy }));
        await attempt(() => call(`http://public.example:${port}/`));
        assert.deepEqual([...new Set(reached)], [PUBLIC]);
      });
    }
    if (inject) {
      test(`${name}: a value with a line break adds no header`, async (t) => {
        internet(t);
        seen.length = 0;
        for (const end of ['\r\n', '\n', '\r', '\u{10d}\u{10a}']) {
          const value = `a${end}x-injected: yes${end}${end}`;
          await attempt(() => inject(`http://public.example:${port}/`, value));
        }
        assert.ok(seen.every((headers) => !('x-injected' in headers)));
      });
    }
  }

  test('the error for a private address in a card says how to trust it', async (t) => {
    internet(t);
    for (const host of ['10.0.0.1', 'private.example']) {
      const { origin } = new URL(`http://${host}:${port}`);
      await assert.rejects(cardOfClient(origin), {
        reason: 'untrusted',
        message: `the agent's card leads to ${origin}, which is not a public address; if you trust it, add this origin to trustedOrigins`,
      });
    }
  });

  test('the fake internet notices a request without a guard', async (t) => {
    const { reached } = internet(t);
    await attempt(() => fetch(`http://rebinding.example:${port}/`));
    await attempt(() => fetch(`http://rebinding.example:${port}/`));
    await attempt(() => fetch(`http://10.0.0.1:${port}/`));
    assert.deepEqual(reached, [PUBLIC, '127.0.0.1', '10.0.0.1']);
  });
});
