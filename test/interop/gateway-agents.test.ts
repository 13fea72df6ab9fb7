/** The official SDKs' clients at the address of an agent behind the gateway, with and without a slash at its end. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { serve, type Listening } from '../../src/server.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';
import { interopAgent } from './agent.ts';
import { sdk03 } from './sdk-03-client.ts';
import { sdk1, sdk1Speaking03 } from './sdk-1-client.ts';
import { startSdk1 } from './sdk-1-server.ts';
import { artifactText, taskOf, type Peer } from './seen.ts';
import { collect, createGates, host, quiet, within } from './support.ts';

const PEERS: readonly Peer[] = [
  sdk1('JSONRPC'),
  sdk1('HTTP+JSON'),
  sdk03('JSONRPC'),
  sdk03('HTTP+JSON'),
  sdk1Speaking03('JSONRPC'),
];

let agent: Listening;
let gateway: RunningGateway;
before(async () => {
  agent = await serve(interopAgent(createGates()), { logger: quiet }).listen(0);
  const { url } = agent;
  gateway = await startGateway({
    config: { agents: { theirs: { url }, other: { url, workspaces: ['two'] } } },
  });
});
after(async () => {
  await gateway[Symbol.asyncDispose]();
  await agent.close(0);
});

for (const peer of PEERS) {
  for (const slash of ['', '/']) {
    const where = slash === '' ? 'without a slash at its end' : 'with a slash at its end';
    test(`${peer.name} works at the address of an agent behind the gateway ${where}`, async () => {
      const url = `${gateway.url}/agents/theirs${slash}`;
      const client = await within('connecting', peer.connect(url, { token: gateway.key() }));
      if (!peer.reluctant) {
        const at = `${gateway.url}/agents/theirs`;
        assert.equal(client.endpoint, `${at} ${peer.binding} ${peer.version}`);
      }
      const task = taskOf(await client.send({ text: 'count 3' }));
      assert.deepEqual([task.state, artifactText(task)], ['completed', '1 2 3 ']);
      const events = await within('a stream', collect(client.stream({ text: 'count 2' })));
      assert.ok(events.length > 2);
      assert.equal((await client.get(task.id)).state, 'completed');
    });
  }
}

test('a server of the official SDK that offers only gRPC works behind the gateway', async (t) => {
  const theirs = await startSdk1(t, createGates(), { token: 'secret' });
  const response = await fetch(`${theirs.url}/.well-known/agent-card.json`);
  const card = (await response.json()) as { supportedInterfaces: { protocolBinding: string }[] };
  const isGrpc = (offer: { protocolBinding: string }) => offer.protocolBinding === 'GRPC';
  const only = { ...card, supportedInterfaces: card.supportedInterfaces.filter(isGrpc) };
  assert.ok(only.supportedInterfaces.length > 0);
  const { url } = await host(t, (_request, answer) => {
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify(only));
  });
  const settings = {
    url,
    allowOrigins: [`http://${theirs.grpc}`],
    headers: { authorization: 'Bearer secret' },
  };
  await using front = await startGateway({ config: { agents: { theirs: settings } } });
  const client = await PEERS[0]!.connect(`${front.url}/agents/theirs/`, { token: front.key() });
  const task = taskOf(await client.send({ text: 'count 3' }));
  assert.deepEqual([task.state, artifactText(task)], ['completed', '1 2 3 ']);
  const events = await within('a stream', collect(client.stream({ text: 'count 2' })));
  assert.ok(events.length > 2);
});

test('without a slash, an SDK that drops the name of the agent is refused if there are several agents', async () => {
  const options = { token: gateway.key('two') };
  const [peer] = PEERS;
  await assert.rejects(peer!.connect(`${gateway.url}/agents/theirs`, options), /404/);
  const client = await peer!.connect(`${gateway.url}/agents/theirs/`, options);
  assert.equal(taskOf(await client.send({ text: 'count 1' })).state, 'completed');
  const path = '/agents/.well-known/agent-card.json';
  const refused = await gateway.ask(gateway.key('two'), 'GET', path);
  assert.match(await refused.text(), /Use \/agents\/NAME\/ with a slash at the end/);
});

test('the card of an unnamed agent needs a key, and only the card is served without the name', async () => {
  const path = '/agents/.well-known/agent-card.json';
  assert.equal((await gateway.ask(undefined, 'GET', path)).status, 401);
  const none = gateway.key('default', 'tasks:read');
  assert.equal((await gateway.ask(none, 'GET', path)).status, 403);
  const key = gateway.key();
  const card = await gateway.ask(key, 'GET', path);
  assert.equal(card.headers.get('cache-control'), 'private, max-age=60');
  for (const other of ['/agents/.well-known/message:send', '/agents/']) {
    assert.equal((await gateway.ask(key, 'POST', other, {})).status, 404, other);
  }
});

// Python's SDK removes slashes from the end of the address, Go's joins both paths. So both request the agent's own card.
for (const [version, headers] of [
  ['0.3', {}],
  ['1.0', { 'A2A-Version': '1.0' }],
] as const) {
  test(`a client of ${version} that appends the card's path to the address gets the card of that agent`, async () => {
    const path = '/agents/theirs/.well-known/agent-card.json';
    const response = await gateway.ask(gateway.key('two'), 'GET', path, undefined, headers);
    const card = (await response.json()) as { supportedInterfaces: { url: string }[] };
    assert.equal(card.supportedInterfaces[0]?.url, `${gateway.url}/agents/theirs`);
    for (const at of ['/agents/theirs', '/agents/theirs/']) {
      const body = { jsonrpc: '2.0', id: '1', method: 'tasks/get', params: { id: 'none' } };
      const answer = await gateway.ask(gateway.key('two'), 'POST', at, body);
      assert.match(await answer.text(), /-32001/, at);
    }
  });
}
