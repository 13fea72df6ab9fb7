import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../client/index.ts';
import type { AgentExecutor, AgentProfile } from '../tasks/index.ts';
import type { Authenticate } from './admission.ts';
import type { MountedAgent } from './mounts.ts';
import { serve } from '../server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Says by which door it was reached. */
const doors: AgentExecutor & { profile: AgentProfile } = {
  profile: { name: 'Outer', description: 'Has others behind it.' },
  async *execute({ tenant }) {
    yield { kind: 'status-update', state: 'completed', message: `door ${tenant}` };
  },
};

/** The token is the user's name; the mount is the tenant. */
const authenticate: Authenticate = ({ header, mount = '' }) => {
  const id = header('authorization')?.replace('Bearer ', '');
  return id === undefined ? undefined : { id, tenant: mount };
};

const weather: MountedAgent = { profile: { name: 'Weather', description: 'Knows the weather.' } };

async function start() {
  const find = (name: string, user: { id: string } | undefined) =>
    name === 'weather' && user?.id === 'ann' ? weather : undefined;
  const server = serve(doors, {
    logger: silent,
    authenticate,
    mounts: { path: '/agents', find },
  });
  const listening = await server.listen(0);
  return { ...listening, [Symbol.asyncDispose]: () => listening.close() };
}

const ann = { authorization: 'Bearer ann' };

for (const version of ['0.3', '1.0'] as const) {
  test(`a mounted agent is found by its card and talks ${version} in both bindings`, async () => {
    await using server = await start();
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const agent = await connect(`${server.url}/agents/weather`, {
        version,
        binding,
        headers: ann,
      });
      assert.equal(agent.card.name, 'Weather');
      assert.equal(agent.endpoint.url.startsWith(`${server.url}/agents/weather`), true);
      assert.equal(await agent.send('hi').text(), 'door /agents/weather');
    }
  });
}

test('a task of one door does not exist behind another', async () => {
  await using server = await start();
  const outer = await connect(server.url, { headers: ann });
  const inner = await connect(`${server.url}/agents/weather`, { headers: ann });
  const task = await inner.send('hi');
  assert.equal(task.kind, 'task');
  const id = task.kind === 'task' ? task.id : '';
  assert.equal((await inner.get(id)).id, id);
  await assert.rejects(outer.get(id), { kind: 'taskNotFound' });
});

test('whoever is not known, or not to see it, learns nothing of a mounted agent, its card included', async () => {
  await using server = await start();
  const card = `${server.url}/agents/weather/.well-known/agent-card.json`;
  assert.equal((await fetch(card)).status, 401);
  const bob = { authorization: 'Bearer bob' };
  const hidden = await fetch(card, { headers: bob });
  const missing = await fetch(`${server.url}/agents/none/.well-known/agent-card.json`, {
    headers: bob,
  });
  assert.equal(hidden.status, 404);
  assert.equal(missing.status, 404);
  assert.equal(await hidden.text(), await missing.text());
  const rpc = (method: string) =>
    fetch(`${server.url}/agents/weather`, {
      method: 'POST',
      headers: { ...bob, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    });
  const said = await (await rpc('message/send')).text();
  assert.match(said, /^\{"jsonrpc":"2.0","id":1,"error":\{"code":-31404,/);
  assert.equal(await (await rpc('message/stream')).text(), `data: ${said}\n\n`);
});

test('a request of a foreign web page is refused at a mounted agent too', async () => {
  await using server = await start();
  const headers = { ...ann, origin: 'https://evil.example' };
  for (const path of ['', '/.well-known/agent-card.json', '/v1/tasks/t1']) {
    const method = path === '' ? 'POST' : 'GET';
    const answer = await fetch(`${server.url}/agents/weather${path}`, { method, headers });
    assert.equal(answer.status, 403, path);
  }
});

test('a card is made anew when what it is made of has changed', async () => {
  let profile: AgentProfile = { name: 'One', description: 'x' };
  const server = serve(
    {
      get profile() {
        return profile;
      },
      async *execute() {},
    },
    { logger: silent },
  );
  const card = async () => {
    const response = await server.fetch(new Request('http://localhost/.well-known/agent.json'));
    return (await response.json()) as { name: string };
  };
  assert.equal((await card()).name, 'One');
  profile = { name: 'Two', description: 'x' };
  assert.equal((await card()).name, 'Two');
});

test('authenticate gets the connection of a request to a mounted agent, and can close it', async () => {
  let dropped = 0;
  const server = serve(doors, {
    logger: silent,
    authenticate: ({ connection }) => {
      if (connection) dropped++;
      connection?.drop();
      return { id: 'ann' };
    },
    mounts: { path: '/agents', find: () => weather },
  });
  const listening = await server.listen(0);
  await assert.rejects(fetch(`${listening.url}/agents/weather/v1/tasks/t1`));
  assert.equal(dropped > 0, true);
  await listening.close();
});
