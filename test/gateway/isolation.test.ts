// Two workspaces: whatever one tries on what is the other's, it is 404, in the words for what does not exist. The
// attempts are made from the tables (the gateway's routes, the protocol's methods), so that none can be forgotten.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import type { GatewayRoute, Resource } from '../../src/gateway/api/route.ts';
import {
  A2AError,
  type AgentService,
  type Operation,
  OPERATIONS,
  type ParamsOf,
  VERSIONS,
} from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { type RunningGateway, startGateway } from '../support/gateway.ts';
import { remote } from './agents-support.ts';

type Owned = Readonly<Record<Resource, string>> & { readonly config: string };

const card = (name: string) => ({
  name,
  slug: name,
  description: 'x',
  card: { schemaVersion: '1.0', name: 'offline', provider: 'offline', capabilities: [] },
});
const GENERATE = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
const webhook = { url: 'https://hooks.example/x' };

/** One of everything, in the workspace of the key. */
async function furnish(gateway: RunningGateway, key: string, mark: string): Promise<Owned> {
  const made = async (verb: string, path: string, body: unknown) => {
    const response = await gateway.ask(key, verb, path, body);
    const text = await response.text();
    assert.ok(response.ok, `${verb} ${path}: ${text}`);
    return JSON.parse(text) as Record<string, Record<string, string>> & { id: string };
  };
  const sent = await made('POST', '/a2a/tasks/send', { message: { role: 'user', content: 'hi' } });
  const task = sent['task']?.['id'] ?? '';
  const agent = `agent-${mark}`;
  const address = { name: agent, url: 'https://agent.example' };
  await made('POST', '/a2a/agents?verify=false', address);
  const { id } = await made('POST', '/a2a/model-cards', card(`model-${mark}`));
  // Its second version, so that there is one to restore.
  await made('PUT', `/a2a/model-cards/${id}`, card(`model-${mark}`));
  const { key: other } = await made('POST', '/a2a/keys', { name: mark, scopes: ['tasks:read'] });
  const client = await connect(gateway.url, { headers: { 'x-api-key': key } });
  const { pushNotificationConfig } = await client.setPushConfig(task, webhook);
  const config = pushNotificationConfig.id ?? '';
  return { task, card: id, agent, key: other?.['id'] ?? '', model: `model-${mark}`, config };
}

/** Bodies that are right, so that nothing but the owner is wrong. By verb and path. */
const BODIES: Readonly<Record<string, (owned: Owned) => unknown>> = {
  'POST /a2a/tasks/send': ({ task }) => ({
    taskId: task,
    message: { role: 'user', content: 'more' },
  }),
  'POST /a2a/tasks/sendSubscribe': ({ task }) => ({ taskId: task }),
  'POST /a2a/tasks/cancel': ({ task }) => ({ taskId: task }),
  'POST /v1/chat/completions': ({ model }) => ({
    model,
    messages: [{ role: 'user', content: 'hi' }],
  }),
  'POST /v1/embeddings': ({ model }) => ({ model, input: 'hi' }),
  'POST /v1/responses': ({ model }) => ({ model, input: 'hi' }),
  'POST /v1/messages': ({ model }) => ({
    model,
    max_tokens: 10,
    messages: [{ role: 'user', content: 'hi' }],
  }),
  'POST /v1/messages/count_tokens': ({ model }) => ({
    model,
    messages: [{ role: 'user', content: 'hi' }],
  }),
  'POST /v1beta/models/{model}:generateContent': () => GENERATE,
  'POST /v1beta/models/{model}:streamGenerateContent': () => GENERATE,
  'POST /v1beta/models/{model}:countTokens': () => GENERATE,
  'PUT /a2a/model-cards/{id}': ({ model }) => card(model),
  'POST /a2a/model-cards/{id}/versions/{version}/restore': () => undefined,
  'PUT /a2a/agents/{name}': () => ({ url: 'https://elsewhere.example' }),
  'PATCH /a2a/keys/{id}': () => ({ name: 'mine' }),
  'POST /a2a/keys/{id}/rotate': () => ({}),
};

/** What lists or makes things in the caller's own workspace: the tests behind look into these. */
const COLLECTIONS = new Set([
  'GET /a2a/agents',
  'POST /a2a/agents',
  'GET /a2a/model-cards',
  'POST /a2a/model-cards',
  'GET /a2a/keys',
  'POST /a2a/keys',
]);

function pathFor({ path, resource }: GatewayRoute, owned: Owned): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'version') return '1';
    assert.ok(resource, `${path} does not say what {${name}} stands for`);
    return encodeURIComponent(owned[resource]);
  });
}

const names = ['north', 'south'] as const;
const NOTHING: Owned = {
  task: '01890000-0000-7000-8000-000000000000',
  card: '01890000-0000-7000-8000-000000000001',
  key: '01890000-0000-7000-8000-000000000002',
  agent: 'agent-none',
  model: 'model-none',
  config: 'none',
};

async function furnished(gateway: RunningGateway) {
  const [north, south] = [gateway.key('north'), gateway.key('south')];
  return {
    north: { key: north, owned: await furnish(gateway, north, 'north') },
    south: { key: south, owned: await furnish(gateway, south, 'south') },
  };
}

test('every route that names something says whose it is: someone else’s is 404, as if it were not there', async (t) => {
  await using gateway = await startGateway();
  const sides = await furnished(gateway);
  const naming = gateway.gateway.routes.filter(
    ({ verb, path, resource }) =>
      path.includes('{') || (resource !== undefined && !COLLECTIONS.has(`${verb} ${path}`)),
  );
  assert.ok(naming.length > 15);
  for (const route of naming) {
    const { verb, path } = route;
    await t.test(`${verb} ${path}`, async () => {
      const body = BODIES[`${verb} ${path}`];
      assert.ok(
        path.includes('{') || body,
        `${verb} ${path} names a ${route.resource}: say in BODIES how, or that it is a collection`,
      );
      for (const me of names) {
        const other = me === 'north' ? 'south' : 'north';
        const { owned } = sides[other];
        const attempt = (target: Owned) =>
          gateway.ask(sides[me].key, verb, pathFor(route, target), body?.(target));
        const [foreign, missing] = [await attempt(owned), await attempt(NOTHING)];
        const text = await foreign.text();
        // A model that a request names and that is not there is a wrong request, except at Anthropic and Google.
        const isWrong =
          route.resource === 'model' && body && !/^\/(?:v1\/messages|v1beta)/.test(path);
        const status = isWrong ? 400 : 404;
        assert.equal(foreign.status, status, text);
        assert.equal(missing.status, status);
        const plain = (said: string, target: Owned) =>
          Object.values(target)
            .reduce((left, id) => left.replaceAll(id, 'ID'), said)
            // Errors of Anthropic's API have an id of their own.
            .replace(/req_[\w-]+/, 'REQUEST');
        assert.equal(plain(text, owned), plain(await missing.text(), NOTHING));
      }
    });
  }
  await t.test('and none of it has changed anything', async () => {
    for (const me of names) {
      const { key, owned } = sides[me];
      const get = async (path: string) => {
        const response = await gateway.ask(key, 'GET', path);
        assert.equal(response.status, 200, path);
        return (await response.json()) as Record<string, unknown>;
      };
      assert.equal((await get(`/a2a/model-cards/${owned.card}`))['version'], 2);
      assert.equal((await get(`/a2a/keys/${owned.key}`))['revokedAt'], undefined);
      assert.equal((await get(`/a2a/agents/${owned.agent}`))['url'], 'https://agent.example');
      await get(`/a2a/tasks/${owned.task}`);
    }
  });
});

test('no list of one workspace shows what is in another', async () => {
  await using gateway = await startGateway();
  const { north, south } = await furnished(gateway);
  const lists = gateway.gateway.routes.filter(
    ({ verb, path, scope }) => verb === 'GET' && !path.includes('{') && scope !== 'open',
  );
  assert.ok(lists.length > 4);
  for (const { path, scope } of lists) {
    if (scope === 'metrics:read') continue;
    const response = await gateway.ask(north.key, 'GET', path);
    assert.equal(response.status, 200, path);
    const text = await response.text();
    for (const id of Object.values(south.owned)) {
      assert.ok(!text.includes(id), `${path} shows ${id}`);
    }
  }
  const named = await gateway.ask(north.key, 'GET', '/a2a/model-cards?workspace_id=south');
  assert.equal(named.status, 404);
});

test('a name that another workspace uses is free', async () => {
  await using gateway = await startGateway();
  const { north, south } = await furnished(gateway);
  const make = (path: string, body: unknown) => gateway.ask(north.key, 'POST', path, body);
  const { model, agent } = south.owned;
  assert.equal((await make('/a2a/model-cards', card(model))).status, 201);
  const address = { name: agent, url: 'https://agent.example' };
  assert.equal((await make('/a2a/agents?verify=false', address)).status, 201);
});

/** What to ask of somebody's task. Undefined: the operation names none. */
const PARAMS: { readonly [O in Operation]: (owned: Owned) => ParamsOf<O> | undefined } = {
  sendMessage: ({ task }) => ({ message: message(task) }),
  streamMessage: ({ task }) => ({ message: message(task) }),
  getTask: ({ task }) => ({ id: task }),
  listTasks: () => undefined,
  cancelTask: ({ task }) => ({ id: task }),
  subscribe: ({ task }) => ({ id: task }),
  setPushConfig: ({ task }) => ({ taskId: task, pushNotificationConfig: webhook }),
  getPushConfig: ({ task, config }) => ({ id: task, pushNotificationConfigId: config }),
  listPushConfigs: ({ task }) => ({ id: task }),
  deletePushConfig: ({ task, config }) => ({ id: task, pushNotificationConfigId: config }),
  getExtendedCard: () => undefined,
};

function message(taskId: string) {
  const messageId = crypto.randomUUID();
  const parts = [{ kind: 'text' as const, text: 'more' }];
  return { kind: 'message' as const, role: 'user' as const, messageId, taskId, parts };
}

function call(
  service: AgentService,
  operation: Operation,
  owned: Owned,
): Promise<unknown> | undefined {
  const params = PARAMS[operation](owned);
  // The parameters are the operation's own: the checker does not see it through the table.
  return params && (service[operation] as (given: typeof params) => Promise<unknown>)(params);
}

for (const version of VERSIONS) {
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    test(`every operation of A2A ${version} over ${binding} finds no task of the other workspace`, async () => {
      await using gateway = await startGateway();
      const sides = await furnished(gateway);
      for (const me of names) {
        const { owned } = sides[me === 'north' ? 'south' : 'north'];
        const headers = { authorization: `Bearer ${sides[me].key}` };
        const { service, ...client } = await connect(gateway.url, { version, binding, headers });
        for (const operation of OPERATIONS) {
          const attempt = call(service, operation, owned);
          if (!attempt) continue;
          await assert.rejects(attempt, (error: unknown) => {
            assert.ok(error instanceof A2AError);
            assert.equal(error.kind, 'taskNotFound', operation);
            return true;
          });
        }
        const { tasks } = await client.list();
        assert.deepEqual(
          tasks.map(({ id }) => id),
          [sides[me].owned.task],
        );
        const log = `${version === '0.3' ? '/v1' : ''}/tasks/${owned.task}/events`;
        assert.equal((await gateway.ask(sides[me].key, 'GET', log)).status, 404);
      }
    });
  }
}

test('the events of a task need the scope of the endpoint, and are found only in their workspace', async (t) => {
  const greeter = createAgent({ name: 'Greeter', description: 'Greets' }, async function* () {
    yield 'hello';
  });
  const { url } = await remote(t, greeter);
  await using gateway = await startGateway({ allowNetworks: ['127.0.0.0/8'] });
  const admin = gateway.key('north');
  const made = await gateway.ask(admin, 'POST', '/a2a/agents', { name: 'greeter', url });
  assert.equal(made.status, 201, await made.text());
  for (const { door, scope, others } of [
    { door: '', scope: 'tasks:read', others: ['tasks:write', 'agents:use', 'cards:read'] },
    { door: '/agents/greeter', scope: 'agents:use', others: ['tasks:read', 'tasks:write'] },
  ] as const) {
    const client = await connect(gateway.url + door, { headers: { 'x-api-key': admin } });
    const task = await client.send('hi');
    assert.ok(task.kind === 'task');
    for (const prefix of ['', '/v1']) {
      const path: string = `${door}${prefix}/tasks/${task.id}/events`;
      const statusFor = async (key: string | undefined): Promise<number> =>
        (await gateway.ask(key, 'GET', path)).status;
      assert.equal(await statusFor(gateway.key('north', scope)), 200, path);
      for (const other of others) {
        assert.equal(await statusFor(gateway.key('north', other)), 403, `${other} ${path}`);
      }
      assert.equal(await statusFor(gateway.key('south')), 404, path);
      assert.equal(await statusFor(undefined), 401, path);
    }
  }
});

test('the door of an agent of the other workspace is not there, and its card is not either', async () => {
  await using gateway = await startGateway();
  const { north, south } = await furnished(gateway);
  for (const path of ['', '/.well-known/agent-card.json', '/tasks', '/v1/tasks']) {
    const at = (name: string) => gateway.ask(north.key, 'GET', `/agents/${name}${path}`);
    const foreign = await at(south.owned.agent);
    assert.equal(foreign.status, 404, path);
    assert.equal(await foreign.text(), await (await at('agent-none')).text());
  }
});

test('a task of an agent’s door is not behind the gateway’s own, nor the other way round', async () => {
  await using gateway = await startGateway();
  const { north } = await furnished(gateway);
  const door = `/agents/${north.owned.agent}`;
  assert.equal((await gateway.ask(north.key, 'GET', `/tasks/${north.owned.task}`)).status, 200);
  assert.equal(
    (await gateway.ask(north.key, 'GET', `${door}/tasks/${north.owned.task}`)).status,
    404,
  );
});
