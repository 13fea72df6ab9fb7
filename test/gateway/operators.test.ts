// What operators read over HTTP: usage of all workspaces, budgets and the filtered audit log. A tenant never learns of
// another one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { pageFiles } from '../../src/console/files.ts';
import { METHODS } from '../../src/protocol/index.ts';
import { startGateway, type RunningGateway } from '../support/gateway.ts';

const pricing = { inputPricePerToken: 0.5, outputPricePerToken: 0.25, currency: 'EUR' };
const Rows = z.object({ items: z.array(z.looseObject({})), next: z.int().optional() });

async function say(gateway: RunningGateway, key: string, model: string): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  assert.equal((await gateway.ask(key, 'POST', '/v1/chat/completions', body)).status, 200);
}

async function read(gateway: RunningGateway, key: string, path: string) {
  const response = await gateway.ask(key, 'GET', path);
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return Rows.parse(JSON.parse(text));
}

test('an operator reads the usage of all workspaces, of one, and by workspace', async () => {
  await using gateway = await startGateway({
    config: { models: { priced: { provider: 'offline', pricing } } },
  });
  const [operator, north, south] = [gateway.key(), gateway.key('north'), gateway.key('south')];
  for (const key of [operator, north, north, south]) await say(gateway, key, 'priced');
  const byWorkspace = await read(gateway, operator, '/a2a/usage?by=workspace');
  assert.deepEqual(
    byWorkspace.items.map(({ workspaceId, calls }) => [workspaceId, calls]),
    [
      ['default', 1],
      ['north', 2],
      ['south', 1],
    ],
  );
  const calls = async (path: string) => (await read(gateway, operator, path)).items[0]?.['calls'];
  assert.equal(await calls('/a2a/usage?by=model&workspaceId=*'), 4);
  assert.equal(await calls('/a2a/usage?by=model&workspaceId=north'), 2);
  assert.equal(await calls('/a2a/usage?by=model'), 1);
  const refused = await gateway.ask(operator, 'GET', '/a2a/usage?by=task&workspaceId=*');
  assert.equal(refused.status, 400);
});

test('a key that is not an operator’s gets the usage of its own workspace only', async () => {
  await using gateway = await startGateway();
  const others = [
    gateway.key('north'),
    gateway.key('default', 'audit:read'),
    gateway.key('south', 'audit:read', 'metrics:read'),
  ];
  await say(gateway, gateway.key('west'), 'offline');
  for (const key of others) {
    const caller = await (await gateway.ask(key, 'GET', '/a2a/caller')).json();
    assert.equal(z.looseObject({ allWorkspaces: z.boolean() }).parse(caller).allWorkspaces, false);
    for (const path of ['/a2a/usage?workspaceId=', '/a2a/budgets?workspaceId=']) {
      const answers = await Promise.all(
        ['west', 'nowhere', '*'].map((name) => gateway.ask(key, 'GET', path + name)),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [404, 404, 404],
      );
      const [there, nowhere] = await Promise.all(answers.map((answer) => answer.text()));
      assert.equal(there?.replaceAll('west', 'nowhere'), nowhere);
    }
    assert.equal((await gateway.ask(key, 'GET', '/a2a/usage?by=workspace')).status, 403);
    assert.equal((await read(gateway, key, '/a2a/usage')).items.length, 0);
  }
});

test('the budgets of a workspace and its keys come with what is spent and the days of the period', async () => {
  await using gateway = await startGateway({
    config: { budgets: { workspaces: { '*': { tokens: 1_000_000, period: 'month' } } } },
  });
  const operator = gateway.key('north');
  const made = await gateway.ask(operator, 'POST', '/a2a/keys', {
    name: 'ci',
    scopes: ['tasks:read', 'tasks:write'],
    budget: { tokens: 500_000, period: 'total' },
  });
  const { key, secret } = z
    .object({ key: z.object({ id: z.string() }), secret: z.string() })
    .parse(await made.json());
  await say(gateway, secret, 'offline');
  const { items, next } = await read(gateway, operator, '/a2a/budgets');
  const used = await read(gateway, operator, '/a2a/usage?by=');
  const tokens = Number(used.items[0]?.['inputTokens']) + Number(used.items[0]?.['outputTokens']);
  assert.ok(tokens > 0);
  const month = new Date().toISOString().slice(0, 7);
  const none = { tokens: 0, amount: 0 };
  const [ofWorkspace, ofKey] = items;
  const { resetsAt, ...shown } = ofWorkspace ?? {};
  assert.deepEqual(shown, {
    budget: { tokens: 1_000_000, period: 'month' },
    spent: { tokens, amount: 0 },
    reserved: none,
    startsOn: `${month}-01`,
  });
  assert.ok(String(resetsAt) > new Date().toISOString());
  assert.deepEqual(ofKey, {
    keyId: key.id,
    keyName: 'ci',
    budget: { tokens: 500_000, period: 'total' },
    spent: { tokens, amount: 0 },
    reserved: none,
  });
  assert.equal(next, undefined);
  assert.equal((await gateway.ask(secret, 'GET', '/a2a/budgets')).status, 403);
});

test('the audit log is filtered by the server, and a page ends where the matching entries end', async () => {
  await using gateway = await startGateway();
  const key = gateway.key('north');
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const made = await gateway.ask(key, 'POST', '/a2a/keys', { name, scopes: ['tasks:read'] });
    const { id } = z.object({ key: z.object({ id: z.string() }) }).parse(await made.json()).key;
    ids.push(id);
  }
  await gateway.ask(key, 'DELETE', `/a2a/keys/${ids[0]}`);
  const actions = async (query: string) =>
    (await read(gateway, key, `/a2a/audit?${query}`)).items.map(({ action }) => action);
  assert.deepEqual(await actions(`subject=${ids[0]}`), ['key.revoke', 'key.create']);
  assert.deepEqual(await actions('action=key.revoke'), ['key.revoke']);
  assert.deepEqual(await actions('actor=cli'), []);
  const today = new Date().toISOString().slice(0, 10);
  assert.equal((await actions(`from=${today}&to=${today}&action=key.create`)).length, 4);
  const first = await read(gateway, key, '/a2a/audit?action=key.create&limit=2');
  const second = await read(
    gateway,
    key,
    `/a2a/audit?action=key.create&limit=2&before=${first.next}`,
  );
  assert.deepEqual([first.items.length, second.items.length, second.next], [2, 2, undefined]);
  assert.equal((await gateway.ask(key, 'GET', '/a2a/audit?from=yesterday')).status, 400);
});

/** What anybody may read: the cards, the signing keys, health, and the files of the pages, which contain no data. */
const PUBLIC = new Set([
  'GET /healthz',
  'GET /readyz',
  'GET /.well-known/agent.json',
  'GET /.well-known/agent-card.json',
  'GET /.well-known/jwks.json',
]);

test('the files of the pages need no key, and every route behind them does', async (t) => {
  await using gateway = await startGateway();
  const { routes } = gateway.gateway;
  assert.ok(routes.length > 30);
  for (const { verb, path } of routes) {
    const body = verb === 'GET' || verb === 'DELETE' ? undefined : {};
    const response = await gateway.ask(undefined, verb, path.replaceAll(/\{\w+\}/g, 'x'), body);
    await response.body?.cancel();
    const expected = PUBLIC.has(`${verb} ${path}`) ? 200 : 401;
    assert.equal(response.status, expected, `${verb} ${path}`);
  }
  for (const { names } of Object.values(METHODS)) {
    for (const method of Object.values(names)) {
      const call = { jsonrpc: '2.0', id: 1, method, params: {} };
      const response = await gateway.ask(undefined, 'POST', '/', call);
      await response.body?.cancel();
      assert.equal(response.status, 401, method);
    }
  }
  assert.notEqual((await gateway.ask(undefined, 'GET', '/console')).status, 401);
  const files = [...(pageFiles()?.files.keys() ?? [])];
  if (files.length === 0) t.diagnostic('the page has not been built');
  for (const name of files) {
    const response = await gateway.ask(undefined, 'GET', `/console/${name}`);
    await response.body?.cancel();
    assert.equal(response.status, 200, name);
  }
});
