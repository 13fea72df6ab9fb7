// The registry of agents: over its routes, in the register, and what is shown of a card.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { isObject } from '../../src/base/index.ts';
import { test, type TestContext } from 'node:test';
import { REMOTE_LIMITS } from '../../src/client/follow/limits.ts';
import { createAgents } from '../../src/gateway/agents/agents.ts';
import { openRegister } from '../../src/gateway/register/register.ts';
import { agentRoutes } from '../../src/gateway/agents/routes.ts';
import { exposedProfile } from '../../src/gateway/agents/exposed.ts';
import { failureLine } from '../../src/gateway/agents/failure.ts';
import type { RouteAnswer } from '../../src/gateway/api/route.ts';
import { A2AError, v1 } from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { interopAgent } from '../interop/agent.ts';
import { createGates, quiet, until } from '../interop/support.ts';
import { behind, callerOf, remote, type Behind } from './agents-support.ts';

const LOOPBACK = ['127.0.0.0/8'];

/** Asks a route as a caller would, and says what came of it. */
async function ask(
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

async function raw(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an agent is registered, shown, changed, used and removed, and the audit log has it', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  const created = await ask(gateway, 'POST', '/a2a/agents', { name: 'mine', url, tags: ['x'] });
  assert.equal(created.status, 201);
  assert.ok(isObject(created.body) && isObject(created.body['health']));
  assert.equal(created.body['health']['state'], 'healthy');
  assert.equal((await ask(gateway, 'POST', '/a2a/agents', { name: 'mine', url })).status, 409);
  const answer = await gateway.client('mine').send('count 2');
  assert.ok(answer.kind === 'task' && answer.status.state === 'completed');
  const changed = await ask(gateway, 'PUT', '/a2a/agents/mine', { url, description: 'Better' });
  assert.ok(isObject(changed.body) && changed.body['description'] === 'Better');
  assert.equal((await ask(gateway, 'DELETE', '/a2a/agents/mine')).status, 204);
  assert.equal((await ask(gateway, 'GET', '/a2a/agents/mine')).status, 404);
  assert.equal((await ask(gateway, 'DELETE', '/a2a/agents/mine')).status, 404);
  assert.deepEqual(
    gateway.audited.map(({ action, subject, actor }) => [action, subject, actor]),
    [
      ['agent.create', 'mine', 'key:default'],
      ['agent.update', 'mine', 'key:default'],
      ['agent.delete', 'mine', 'key:default'],
    ],
  );
});

test("another workspace's agent is nobody's agent", async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  await ask(gateway, 'POST', '/a2a/agents', { name: 'mine', url }, 'a');
  const missing = await ask(gateway, 'GET', '/a2a/agents/nobody', undefined, 'b');
  for (const [verb, body] of [['GET'], ['PUT', { url }], ['DELETE']] as const) {
    const refused = await ask(gateway, verb, '/a2a/agents/mine', body, 'b');
    assert.equal(refused.status, 404);
    assert.equal(refused.text, missing.text.replace('nobody', 'mine'));
  }
  const listed = await ask(gateway, 'GET', '/a2a/agents', undefined, 'b');
  assert.deepEqual(listed.body, { agents: [] });
  await assert.rejects(gateway.client('mine', 'b').send('hi'), /There is no agent mine/);
});

test("the configuration's agents are for its workspaces, and not to be changed", async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const config = { open: { url }, some: { url, workspaces: ['a'] } };
  const gateway = behind(t, { config, allowNetworks: LOOPBACK });
  for (const [verb, body] of [['PUT', { url }], ['DELETE']] as const) {
    assert.equal((await ask(gateway, verb, '/a2a/agents/open', body)).status, 409);
  }
  assert.equal((await ask(gateway, 'POST', '/a2a/agents', { name: 'open', url })).status, 409);
  assert.equal((await ask(gateway, 'GET', '/a2a/agents/some')).status, 404);
  assert.equal((await ask(gateway, 'GET', '/a2a/agents/some', undefined, 'a')).status, 200);
  const own = await ask(gateway, 'POST', '/a2a/agents', { name: 'some', url });
  assert.equal(own.status, 201, 'a name that is taken elsewhere is free here');
  assert.doesNotMatch((await ask(gateway, 'GET', '/a2a/agents/open')).text, /127\.0\.0\.1/);
});

test('skills of the agents for everybody are for the public card, all others for their workspace', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const config = { open: { url, tags: ['t'] }, some: { url, workspaces: ['a'] } };
  const { agents } = behind(t, { config });
  agents.start();
  await until(
    'their cards',
    () => agents.census().healthy,
    (count) => count === 2,
  );
  assert.deepEqual(
    agents.skills().map(({ id, tags }) => [id, tags]),
    [['open/obey', ['test', 't', 'open']]],
  );
  assert.deepEqual(
    agents.skillsOf('a').map(({ id }) => id),
    ['open/obey', 'some/obey'],
  );
});

test('headers of callers need a secret key, are sealed, sent, and never shown', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()), {
    authenticate: (request) =>
      request.header('authorization') === 'Bearer s3cret' ? { id: 'gateway' } : undefined,
  });
  const body = { name: 'mine', url, headers: { Authorization: 'Bearer s3cret' } };
  const plain = behind(t, { allowNetworks: LOOPBACK });
  const refused = await ask(plain, 'POST', '/a2a/agents', body);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /PARLEY_SECRET_KEY/);

  const gateway = behind(t, { allowNetworks: LOOPBACK, secretKey: 'operator' });
  const created = await ask(gateway, 'POST', '/a2a/agents', body);
  assert.ok(isObject(created.body));
  assert.deepEqual(created.body['headerNames'], ['Authorization']);
  const shown = await ask(gateway, 'GET', '/a2a/agents/mine');
  const stored = gateway.register.db.prepare('SELECT * FROM agents').all();
  const kept = JSON.stringify(stored, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
  );
  for (const text of [created.text, shown.text, kept, JSON.stringify(gateway.audited)]) {
    assert.doesNotMatch(text, /s3cret/);
  }
  const answer = await gateway.client('mine').send('count 1');
  assert.ok(answer.kind === 'task' && answer.status.state === 'completed');

  const moved = { url: 'https://elsewhere.example' };
  const stolen = await ask(gateway, 'PUT', '/a2a/agents/mine?verify=false', moved);
  assert.equal(stolen.status, 400);
  assert.match(stolen.text, /required if the address or allowOrigins change/);
  const same = await ask(gateway, 'PUT', '/a2a/agents/mine', { url, description: 'same' });
  assert.ok(isObject(same.body));
  assert.deepEqual(same.body['headerNames'], ['Authorization']);
});

test('addresses of callers stay out of private networks, also behind a name and behind a card', async (t) => {
  const { url, port } = await remote(t, interopAgent(createGates()));
  const gateway = behind(t);
  const literal = await ask(gateway, 'POST', '/a2a/agents', { name: 'one', url });
  assert.equal(literal.status, 400);
  assert.match(literal.text, /--allow-network/);
  const local = `http://localhost:${port}`;
  assert.equal(
    (await ask(gateway, 'POST', '/a2a/agents', { name: 'two', url: local })).status,
    400,
  );
  const decimal = `http://2130706433:${port}`;
  const hidden = await ask(gateway, 'POST', '/a2a/agents?verify=false', {
    name: 'dec',
    url: decimal,
  });
  assert.equal(hidden.status, 400);
  const mapped = `http://[::ffff:127.0.0.1]:${port}`;
  const six = await ask(gateway, 'POST', '/a2a/agents?verify=false', { name: 'six', url: mapped });
  assert.equal(six.status, 400);
});

test('an agent without a card is refused unless it is not looked for; its health says what is wrong', async (t) => {
  const url = await raw(t, (_, response) => response.writeHead(404).end());
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  const refused = await ask(gateway, 'POST', '/a2a/agents', { name: 'odd', url });
  assert.equal(refused.status, 502);
  assert.match(
    refused.text,
    /^The agent odd has no readable card\. To register it anyway, use \?verify=false/,
  );
  const taken = await ask(gateway, 'POST', '/a2a/agents?verify=false', { name: 'odd', url });
  assert.equal(taken.status, 201);
  gateway.agents.start();
  await until(
    'its health',
    () => gateway.agents.census().unhealthy,
    (count) => count === 1,
  );
  const { health } = gateway.agents.find('default', 'odd')!;
  assert.equal(health.error, 'The agent odd has no readable card.');
});

test('an agent that is removed while a change of it is looked at stays removed', async (t) => {
  let meanwhile = async () => {};
  const url: string = await raw(t, (request, response) => {
    void meanwhile().then(() => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(gossip(`http://${request.headers.host}`)));
    });
  });
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  await ask(gateway, 'POST', '/a2a/agents', { name: 'mine', url });
  meanwhile = async () => void (await ask(gateway, 'DELETE', '/a2a/agents/mine'));
  assert.equal((await ask(gateway, 'PUT', '/a2a/agents/mine', { url })).status, 404);
  assert.deepEqual(
    gateway.audited.map(({ action }) => action),
    ['agent.create', 'agent.delete'],
  );
});

test('agents that hang do not keep the others from being looked at', async (t) => {
  const HANGING = 60;
  let hung = 0;
  let looked = 0;
  const hanging = await raw(t, () => void hung++);
  const good: string = await raw(t, (request, response) => {
    looked++;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(gossip(`http://${request.headers.host}`)));
  });
  const names = Array.from({ length: HANGING }, (_, n) => `hanging-${n}`);
  const config = {
    ...Object.fromEntries(names.map((name) => [name, { url: hanging, timeoutMs: 200 }])),
    good: { url: good },
  };
  const register = openRegister(undefined, quiet);
  const audit = { record() {} };
  const agents = createAgents({ register, config, audit, healthSeconds: 0.01, logger: quiet });
  t.after(() => agents.close().then(() => register.close()));
  agents.start();
  await until(
    'looks',
    () => looked,
    (count) => count >= 10,
  );
  assert.ok(hung < 5 * HANGING, `those that hang were looked at ${hung} times meanwhile`);
});

test('a register that is away for a moment does not end the looks at agents', async (t) => {
  const { url } = await remote(t, interopAgent(createGates()));
  const register = openRegister(undefined, quiet);
  let away = true;
  const agents = createAgents({
    register: {
      ...register,
      changed() {
        if (!away) return register.changed();
        away = false;
        throw new A2AError('unavailable');
      },
    },
    config: { theirs: { url } },
    audit: { record() {} },
    healthSeconds: 0.01,
    logger: quiet,
  });
  t.after(() => agents.close().then(() => register.close()));
  agents.start();
  await until(
    'its health',
    () => agents.find('default', 'theirs')!.health.state,
    (state) => state === 'healthy',
  );
});

test("limits of callers are tighter than the gateway's own, never wider", async (t) => {
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  const register = (name: string, maxBytes: number) =>
    ask(gateway, 'POST', '/a2a/agents?verify=false', {
      name,
      url: 'https://agent.example',
      limits: { maxBytes },
    });
  const { status, body } = await register('tight', 1000);
  assert.equal(status, 201);
  // Who replaces an agent replaces all of it, and has to see it before.
  assert.partialDeepStrictEqual(body, { limits: { maxBytes: 1000 } });
  assert.equal(gateway.agents.find('default', 'tight')?.limits.maxBytes, 1000);
  assert.equal((await register('wide', REMOTE_LIMITS.maxBytes + 1)).status, 400);
});

test('a card is asked for by its tag, and what is the same is not sent again', async (t) => {
  const asked: (string | undefined)[] = [];
  const { url, server } = await remote(t, interopAgent(createGates()));
  server.prependListener('request', ({ headers }) => asked.push(headers['if-none-match']));
  const { agents } = behind(t, { config: { theirs: { url } } });
  const agent = agents.find('default', 'theirs')!;
  await agent.fetchCard();
  await agent.fetchCard();
  assert.equal(asked[0], undefined);
  assert.match(asked[1] ?? '', /^"/);
  assert.equal(agent.profile.name, 'Interop');
});

test('names are checked, and nothing else is taken for a field', async (t) => {
  const gateway = behind(t, { allowNetworks: LOOPBACK });
  const url = 'https://agent.example';
  for (const name of ['', 'A', '-a', 'a/b', '..', 'x'.repeat(65)]) {
    const { status } = await ask(gateway, 'POST', '/a2a/agents?verify=false', { name, url });
    assert.equal(status, 400, name);
  }
  const odd = { name: 'a', url, workspaces: ['b'] };
  assert.equal((await ask(gateway, 'POST', '/a2a/agents?verify=false', odd)).status, 400);
  for (const bad of ['ftp://x.example', 'https://user:pw@x.example', 'nothing']) {
    const { status } = await ask(gateway, 'POST', '/a2a/agents?verify=false', {
      name: 'a',
      url: bad,
    });
    assert.equal(status, 400, bad);
  }
});

test('headers that would break the connection, or begin another one, are refused', async (t) => {
  const gateway = behind(t, { allowNetworks: LOOPBACK, secretKey: 'a key of the operator' });
  const url = 'https://agent.example';
  for (const headers of [
    { 'Content-Length': '5' },
    { 'Transfer-Encoding': 'chunked' },
    { Connection: 'upgrade' },
    { 'x-good': 'a\r\nx-bad: b' },
    { 'x bad': 'a' },
  ]) {
    const input = { name: 'a', url, headers };
    const { status } = await ask(gateway, 'POST', '/a2a/agents?verify=false', input);
    assert.equal(status, 400, JSON.stringify(headers));
  }
});

const INTERNAL = 'http://10.9.8.7:4000';

/** A card whose every field that is not to be shown names the internal network. */
function gossip(origin: string) {
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

test('nothing of the internal network is in what is shown of a card', () => {
  const card = v1.decodeCard(gossip(INTERNAL));
  const profile = exposedProfile(card, { hidden: [INTERNAL] });
  assert.doesNotMatch(JSON.stringify(profile), /10\.9\.8\.7|4000/);
  assert.equal(profile.skills?.[0]?.description, 'Reads (address)');
  assert.deepEqual(profile.extensions, [
    { uri: 'https://ext.example/1', description: 'Fine', required: false },
  ]);
});

test('an agent that is called as its machine is keeps its name, and a host is hidden in any spelling', () => {
  const hidden = ['http://travel:4000', 'http://Box.Internal'];
  const refused = new A2AError('invalidParams', 'travel: ask TRAVEL:4000 or BOX.internal');
  assert.equal(
    failureLine(refused, 'travel', hidden),
    'The agent travel refused the request: travel: ask (address) or (address)',
  );
  const card = v1.decodeCard({
    ...gossip(INTERNAL),
    name: 'travel',
    description: 'At BOX.internal',
  });
  const { name, description } = exposedProfile(card, { hidden });
  assert.deepEqual([name, description], ['travel', 'At (address)']);
});

test("a machine that only the agent's card names is hidden too", async (t) => {
  const url: string = await raw(t, (request, response) => {
    const card = gossip(`http://${request.headers.host}`);
    card.additionalInterfaces = [{ url: 'http://db.corp:9/rest', transport: 'HTTP+JSON' }];
    card.description = 'Beside db.corp';
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(card));
  });
  const { agents } = behind(t, { config: { gossip: { url } } });
  const agent = agents.find('default', 'gossip')!;
  await agent.fetchCard();
  assert.equal(agent.profile.description, 'Beside (address)');
  assert.doesNotMatch(agent.explain(new A2AError('invalidParams', 'no db.corp:9')), /corp/);
});

test('nor any other address of such a network; public ones stay', () => {
  const internal = [
    'http://10.1.2.3:99/admin',
    'http://localhost:9',
    'https://wiki.internal/page',
    'ws://[fd00::1]/',
    'http://2130706433/',
    'HTTP://Build.LOCAL.',
    'http://db/',
  ];
  const shown = 'https://docs.example.com/guide';
  const [skill] = gossip(INTERNAL).skills;
  const described = { ...skill, description: `${internal.join(' ')} ${shown}` };
  const card = v1.decodeCard({ ...gossip(INTERNAL), skills: [described] });
  const profile = exposedProfile(card, { hidden: [INTERNAL] });
  const expected = `${internal.map(() => '(address)').join(' ')} ${shown}`;
  assert.equal(profile.skills?.[0]?.description, expected);
});

test('a card of any size is shown in a bounded one', () => {
  const skill = {
    id: 'i'.repeat(1000),
    name: 'n'.repeat(9999),
    description: 'd'.repeat(99_999),
    tags: Array<string>(1000).fill('t'.repeat(999)),
  };
  const card = v1.decodeCard({
    ...gossip(INTERNAL),
    skills: Array.from({ length: 500 }, () => skill),
  });
  const profile = exposedProfile(card, { hidden: [INTERNAL] });
  assert.equal(profile.skills?.length, 100);
  assert.ok(JSON.stringify(profile).length < 1_000_000);
});

test('nor in lists, skills, health and errors, whatever goes wrong', async (t) => {
  let mode: 'card' | 'redirect' | 'rude' = 'card';
  const url: string = await raw(t, (request, response) => {
    const origin = `http://${request.headers.host}`;
    if (mode === 'redirect') {
      response.writeHead(302, { location: `${origin}/elsewhere` }).end();
    } else if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(gossip(origin)));
    } else {
      response.writeHead(200, { 'content-type': 'application/json' });
      const error = { code: -32602, message: `Ask ${origin}/help or ${request.headers.host}` };
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error }));
    }
  });
  const internal = new RegExp(`127\\.0\\.0\\.1|${new URL(url).port}`);
  const gateway = behind(t, { config: { gossip: { url } } });
  const agent = gateway.agents.find('default', 'gossip')!;
  await agent.fetchCard();
  const refused = await gateway.client('gossip').send('hello');
  const shown = [
    (await ask(gateway, 'GET', '/a2a/agents')).text,
    JSON.stringify(gateway.agents.skills()),
    JSON.stringify(agent.profile),
    JSON.stringify(refused),
  ];
  assert.match(shown[3]!, /The agent gossip refused the request: Ask \(address\) or \(address\)/);
  mode = 'redirect';
  await assert.rejects(agent.fetchCard());
  shown.push(
    JSON.stringify(agent.health),
    JSON.stringify(await gateway.client('gossip').send('again')),
  );
  assert.match(shown[4]!, /redirects/);
  for (const text of shown) assert.doesNotMatch(text, internal);
});

test("a card that leads elsewhere is not followed with the gateway's credentials", async (t) => {
  const elsewhere = await remote(
    t,
    createAgent({ name: 'E', description: '' }, async function* () {}),
  );
  const url = await raw(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(gossip(elsewhere.url)));
  });
  const { client } = behind(t, { config: { theirs: { url } } });
  const answer = await client('theirs').send('hello');
  assert.ok(answer.kind === 'task' && answer.status.state === 'failed');
  assert.match(JSON.stringify(answer.status), /refers to another origin/);
});
