// The registry of agents: over its routes, in the register, and what is shown of a card.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isObject } from '../../src/base/index.ts';
import { test } from 'node:test';
import { REMOTE_LIMITS } from '../../src/client/follow/limits.ts';
import { createAgents } from '../../src/gateway/agents/agents.ts';
import { openRegister } from '../../src/gateway/register/sqlite-register.ts';
import { auditInto } from '../support/audit-into.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { interopAgent } from '../interop/agent.ts';
import { createGates, quiet, until } from '../interop/support.ts';
import { startGateway } from '../support/gateway.ts';
import { behind, remote } from './agents-support.ts';

import { ask, gossip, LOOPBACK, raw } from './registry-support.ts';

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
  const audit = auditInto([]);
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
    audit: auditInto([]),
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

test('headers that cannot be decrypted are reported, and a change does not lose them unnoticed', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'parley-agents-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const register = path.join(folder, 'register.db');
  const url = await raw(t, (_, response) => response.writeHead(404).end());
  const headers = { authorization: 'Bearer x' };
  const logged: string[] = [];
  const logger = {
    debug() {},
    info() {},
    warn() {},
    error: (_: object, text: string) => void logged.push(text),
  };
  const started = (secretKey: string) =>
    startGateway({ register, secretKey, logger, allowNetworks: LOOPBACK });
  let key: string;
  {
    await using gateway = await started('the first');
    key = gateway.key();
    const made = await gateway.ask(key, 'POST', '/a2a/agents?verify=false', {
      name: 'echo',
      url,
      headers,
    });
    assert.equal(made.status, 201, await made.text());
  }
  await using gateway = await started('another');
  assert.match(logged.join(), /cannot decrypt the headers of an agent/);
  const changed = await gateway.ask(key, 'PUT', '/a2a/agents/echo?verify=false', { url });
  assert.equal(changed.status, 400);
  assert.match(
    await changed.text(),
    /the stored headers cannot be decrypted. Send the headers again/,
  );
  assert.equal(
    (await gateway.ask(key, 'PUT', '/a2a/agents/echo?verify=false', { url, headers: {} })).status,
    200,
  );
});
