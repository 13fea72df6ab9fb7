// GET /a2a/inbox: one request tells whether a task has changed, at the gateway or at any agent of the workspace.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import type { Task } from '../../src/protocol/index.ts';
import { createAgent, type Listening, serve } from '../../src/server.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const clerk = createAgent({ name: 'clerk', description: '' }, async function* (context) {
  const { text } = await context.ask('Which city?');
  yield `Sunny in ${text}`;
});
let agent: Listening;
let gateway: RunningGateway;

before(async () => {
  agent = await serve(clerk, { logger: quiet }).listen(0);
  const { url } = agent;
  const names = ['archive', 'clerk', ...Array.from({ length: 40 }, (_, at) => `more-${at}`)];
  gateway = await startGateway({
    config: { agents: Object.fromEntries(names.map((name) => [name, { url }])) },
    allowNetworks: ['127.0.0.0/8'],
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await agent.close();
});

async function inbox(key: string, query = '') {
  const response = await gateway.ask(key, 'GET', `/a2a/inbox${query}`);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { items } = JSON.parse(text) as {
    items: { agent: string; total: number; latest?: { id: string; state: string } }[];
  };
  return items.map((item) => [item.agent, item.total, item.latest?.id, item.latest?.state]);
}

async function states(key: string, query: string) {
  const response = await gateway.ask(key, 'GET', `/a2a/inbox${query}&states=true`);
  const { items } = (await response.json()) as { items: { states: object }[] };
  return items.map((item) => item.states);
}

async function statusOf(key: string, query: string) {
  const response = await gateway.ask(key, 'GET', `/a2a/inbox${query}`);
  return [response.status, await response.text()] as const;
}

async function behind(key: string, name: string) {
  const headers = { authorization: `Bearer ${key}` };
  return connect(`${gateway.url}/agents/${name}/`, { headers });
}

test('each change at the gateway or at an agent is seen, and no change leaves the response as it is', async () => {
  const key = gateway.key('north');
  const query = '?agents=,clerk,archive';
  const nothing = (name: string) => [name, 0, undefined, undefined];
  assert.deepEqual(await inbox(key, query), [nothing(''), nothing('clerk'), nothing('archive')]);
  const client = await behind(key, 'clerk');
  const { id, contextId } = (await client.send('Weather?')) as Task;
  const waits = ['clerk', 1, id, 'input-required'];
  assert.deepEqual(await inbox(key, query), [nothing(''), waits, nothing('archive')]);
  assert.deepEqual(await inbox(key, query), [nothing(''), waits, nothing('archive')]);
  const message = { role: 'user', content: 'list' };
  const sent = await gateway.ask(key, 'POST', '/a2a/tasks/send', { message });
  const own = ((await sent.json()) as { task: { id: string } }).task.id;
  assert.deepEqual((await inbox(key, query))[0], ['', 1, own, 'completed']);
  await client.send('Rome', { taskId: id });
  assert.deepEqual(await inbox(key, '?agents=clerk'), [['clerk', 1, id, 'completed']]);
  assert.deepEqual(await inbox(key, `?agents=,clerk&contextId=${contextId}`), [
    nothing(''),
    ['clerk', 1, id, 'completed'],
  ]);
  assert.deepEqual(await states(key, query), [{ completed: 1 }, { completed: 1 }, {}]);
  await client.send('Weather?');
  assert.deepEqual((await states(key, query))[1], { completed: 1, 'input-required': 1 });
  const later = new Date(Date.now() + 60_000).toISOString();
  assert.deepEqual(await inbox(key, `?agents=clerk&since=${later}`), [nothing('clerk')]);
});

test('a workspace sees only its own tasks, and an agent of another workspace does not exist', async () => {
  const [east, west] = [gateway.key('east'), gateway.key('west')];
  await (await behind(east, 'clerk')).send('Weather?');
  const made = await gateway.ask(east, 'POST', '/a2a/agents?verify=false', {
    name: 'private',
    url: agent.url,
  });
  assert.equal(made.status, 201);
  assert.equal((await inbox(east, '?agents=clerk'))[0]?.[1], 1);
  assert.equal((await inbox(west, '?agents=clerk'))[0]?.[1], 0);
  assert.equal((await inbox(east, '?agents=private')).length, 1);
  const [status, words] = await statusOf(west, '?agents=private');
  assert.equal(status, 404);
  const [, missing] = await statusOf(west, '?agents=missing');
  assert.equal(words.replaceAll('private', 'missing'), missing);
});

test('a key sees what its scopes allow, and asks for a limited number of agents', async () => {
  const tasks = gateway.key('south', 'tasks:read');
  assert.deepEqual(
    (await inbox(tasks)).map(([name]) => name),
    [''],
  );
  assert.equal((await statusOf(tasks, '?agents=,clerk'))[0], 403);
  const agents = gateway.key('south', 'agents:use');
  assert.equal((await statusOf(agents, '?agents='))[0], 403);
  const shown = await inbox(agents);
  assert.deepEqual([shown.length, shown[0]?.[0]], [32, 'archive']);
  assert.deepEqual(await inbox(gateway.key('south', 'audit:read')), []);
  const many = Array.from({ length: 33 }, (_, at) => `more-${at}`).join();
  assert.equal((await statusOf(agents, `?agents=${many}`))[0], 400);
  assert.equal((await statusOf(agents, '?since=yesterday'))[0], 400);
  assert.equal((await gateway.ask(undefined, 'GET', '/a2a/inbox')).status, 401);
});
