// What is shown of the card of an agent: nothing of the internal network, and not more than a bounded size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposedProfile } from '../../src/gateway/agents/exposed.ts';
import { failureLine } from '../../src/gateway/agents/failure.ts';
import { A2AError, v1 } from '../../src/protocol/index.ts';
import { behind } from './agents-support.ts';

import { ask, gossip, INTERNAL, raw } from './registry-support.ts';

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

test('a relative address in a card belongs to the address to which the card has moved, also if it is cached', async (t) => {
  const asked: string[] = [];
  const url: string = await raw(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.method === 'POST') {
      const error = { code: -32602, message: 'no' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error }));
    } else if (request.url !== '/moved/card.json') {
      response.writeHead(307, { location: '/moved/card.json' }).end();
    } else if (request.headers['if-none-match'] === '"1"') {
      response.writeHead(304, { etag: '"1"' }).end();
    } else {
      const body = JSON.stringify({ ...gossip(''), url: 'rpc', additionalInterfaces: [] });
      const type = { 'content-type': 'application/json', 'content-length': body.length };
      response.writeHead(200, { ...type, etag: '"1"' }).end(body);
    }
  });
  const gateway = behind(t, { config: { gossip: { url } } });
  for (let fetched = 0; fetched < 2; fetched++) {
    await gateway.agents.find('default', 'gossip')!.fetchCard();
    await gateway.client('gossip').send('hello');
    assert.equal(asked.at(-1), 'POST /moved/rpc');
  }
});
