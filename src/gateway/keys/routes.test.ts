import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as z from 'zod';
import { testGateway } from '../../../test/support/gateway-keys.ts';
import { A2AError } from '../../protocol/index.ts';
import { Caller, type ApiScope } from '../api/caller.ts';
import type { RawInput } from '../api/route.ts';
import { AuditRecord } from '../audit/audit.ts';
import { auditRoutes } from '../audit/routes.ts';
import { usageRoutes } from '../budgets/routes.ts';
import { keyRoutes } from './routes.ts';
import { Key, MadeKey } from './schema.ts';

function setup() {
  const gateway = testGateway();
  const { keys, now } = gateway;
  const spending = gateway.spending();
  const routes = [
    ...keyRoutes({ keys }),
    ...usageRoutes({ spending, needKey: (workspace, id) => void keys.get(workspace, id), now }),
    ...auditRoutes({ audit: gateway.auditLog }),
  ];

  /** As the server does it: the route by verb and path, the scope, and the schema of the answer. */
  async function ask(
    caller: Caller,
    verb: string,
    address: string,
    body?: unknown,
  ): Promise<{ status: number; headers: object; body: unknown }> {
    const url = new URL(address, 'http://gateway.example');
    for (const route of routes) {
      const pattern = new RegExp(`^${route.path.replace('{id}', '(?<id>[^/]+)')}$`);
      const match = pattern.exec(url.pathname);
      if (route.verb !== verb || !match) continue;
      if (route.scope !== 'open' && route.scope !== 'any') caller.need(route.scope);
      const input: Omit<RawInput, 'handler'> = {
        values: { ...match.groups },
        query: url.searchParams,
        body,
        caller,
        call: { user: caller },
        header: () => undefined,
      };
      // No route here has anything to do with tasks.
      const answer = await route.handle(input as RawInput);
      assert.ok(!('chunks' in answer) && !('stream' in answer));
      const { status = 200, headers = {} } = answer;
      const shape = route.answers[status]?.schema;
      const sent: unknown = JSON.parse(JSON.stringify(answer.body ?? null));
      assert.deepEqual(shape ? shape.parse(sent) : null, sent, 'the schema says it all');
      return { status, headers, body: sent };
    }
    return assert.fail(`no route for ${verb} ${address}`);
  }

  return { ...gateway, spending, ask };
}

function caller(scopes: readonly (ApiScope | '*')[], workspace = 'team'): Caller {
  return new Caller({ workspace, actor: 'key:1', keyId: '1', scopes: new Set(scopes) });
}

const admin = caller(['*']);

async function refusal(work: Promise<unknown>): Promise<[number, string]> {
  const error = await work.then(
    () => assert.fail('it was not refused'),
    (error: unknown) => error,
  );
  assert.ok(error instanceof A2AError, String(error));
  return [error.httpStatus, error.message];
}

describe('the routes of keys', () => {
  test('make a key, and show its secret in that answer alone', async () => {
    const { ask, keys } = setup();
    const fields = { name: 'ci', scopes: ['tasks:read'], budget: { tokens: 5, period: 'day' } };
    const made = await ask(admin, 'POST', '/a2a/keys', fields);
    assert.deepEqual([made.status, made.headers], [201, { 'cache-control': 'no-store' }]);
    const { key, secret } = MadeKey.parse(made.body);
    const shown = [
      await ask(admin, 'GET', '/a2a/keys'),
      await ask(admin, 'GET', `/a2a/keys/${key.id}`),
      await ask(admin, 'GET', `/a2a/keys/${key.id}/usage`),
      await ask(admin, 'GET', '/a2a/audit'),
    ];
    assert.ok(!JSON.stringify(shown).includes(secret.slice(20)));
    assert.deepEqual(shown[0]?.body, { items: [key], total: 1, limit: 50, offset: 0 });
    assert.deepEqual(shown[1]?.body, key);
    assert.equal(keys.verify(secret)?.workspace, 'team');
  });

  test('rotate and revoke it', async () => {
    const { ask, keys } = setup();
    const { key, secret } = keys.create({ workspace: 'team', name: 'a', scopes: ['*'] }, 'cli');
    keys.create({ workspace: 'team', name: 'b', scopes: ['*'] }, 'cli');
    const address = `/a2a/keys/${key.id}`;
    const overlap = { overlapSeconds: 60 };
    const answer = await ask(admin, 'POST', `${address}/rotate`, overlap);
    assert.deepEqual(answer.headers, { 'cache-control': 'no-store' });
    const rotated = MadeKey.parse(answer.body);
    assert.ok(keys.verify(secret) && keys.verify(rotated.secret));
    await ask(admin, 'POST', `${address}/rotate`);
    assert.equal(keys.verify(rotated.secret), undefined);
    assert.equal((await ask(admin, 'DELETE', address)).status, 204);
    assert.equal((await ask(admin, 'DELETE', address)).status, 204);
    assert.equal(Key.parse((await ask(admin, 'GET', address)).body).status, 'revoked');
  });

  test('do not take the last key that can write keys, unless forced', async () => {
    const { ask, keys } = setup();
    const { key } = keys.create({ workspace: 'team', name: 'a', scopes: ['keys:write'] }, 'cli');
    const address = `/a2a/keys/${key.id}`;
    for (const query of ['', '?force=false']) {
      const [status] = await refusal(ask(admin, 'DELETE', address + query));
      assert.equal(status, 409);
    }
    assert.equal((await refusal(ask(admin, 'DELETE', `${address}?force=1`)))[0], 400);
    assert.equal((await ask(admin, 'DELETE', `${address}?force=true`)).status, 204);
  });

  test('give no scope that the caller does not have, neither by a new key nor by a rotation', async () => {
    const { ask, keys } = setup();
    const weak = caller(['keys:write', 'tasks:read']);
    const make = (scopes: string[]) => ask(weak, 'POST', '/a2a/keys', { name: 'x', scopes });
    assert.equal((await make(['tasks:read', 'keys:write'])).status, 201);
    for (const scope of ['*', 'tasks:write']) {
      const [status, message] = await refusal(make(['tasks:read', scope]));
      assert.deepEqual(
        [status, message],
        [
          403,
          `The caller does not have the scope ${scope}, so it cannot give this scope to another key`,
        ],
      );
    }
    const { key, secret } = keys.create({ workspace: 'team', name: 'a', scopes: ['*'] }, 'cli');
    for (const [verb, end, body] of [
      ['POST', '/rotate', {}],
      ['PATCH', '', { name: 'mine' }],
      ['DELETE', ''],
      ['DELETE', '?force=true'],
    ] as const) {
      const [status] = await refusal(ask(weak, verb, `/a2a/keys/${key.id}${end}`, body));
      assert.equal(status, 403, `${verb} ${end}`);
    }
    assert.ok(keys.verify(secret));
    const all = caller(['*']);
    assert.equal((await ask(all, 'POST', `/a2a/keys/${key.id}/rotate`, {})).status, 200);
    assert.equal((await ask(all, 'DELETE', `/a2a/keys/${key.id}?force=true`)).status, 204);
  });

  test("do not know another workspace's keys, in the same words as keys that are not there", async () => {
    const { ask, keys } = setup();
    const { key } = keys.create({ workspace: 'other', name: 'a', scopes: ['*'] }, 'cli');
    for (const [verb, end] of [
      ['GET', ''],
      ['DELETE', '?force=true'],
      ['POST', '/rotate'],
      ['GET', '/usage'],
    ] as const) {
      const answers = [];
      for (const id of [key.id, 'none']) {
        answers.push(await refusal(ask(admin, verb, `/a2a/keys/${id}${end}`)));
      }
      assert.deepEqual(
        new Set(answers.map(String)),
        new Set(['404,The workspace has no such key']),
      );
    }
    const { body } = await ask(admin, 'GET', '/a2a/keys');
    assert.deepEqual(body, { items: [], total: 0, limit: 50, offset: 0 });
    assert.equal(keys.get('other', key.id).status, 'active');
  });

  test('say which field is wrong', async () => {
    const { ask } = setup();
    const fields = { name: 'x', scopes: ['tasks:read'] };
    for (const [body, says] of [
      [{ ...fields, workspaceId: 'other' }, /workspaceId/],
      [{ ...fields, scopes: ['all'] }, /^scopes\.0: /],
      [{ ...fields, budget: { period: 'week', tokens: 1 } }, /^budget\.period: /],
      [undefined, /^The request has no body: /],
    ] as const) {
      const [status, message] = await refusal(ask(admin, 'POST', '/a2a/keys', body));
      assert.equal(status, 400);
      assert.match(message, says);
    }
    for (const query of [
      'limit=101',
      'limit=0',
      'limit=-1',
      'limit=x',
      'limit=1e1',
      'offset=1.5',
    ]) {
      assert.equal((await refusal(ask(admin, 'GET', `/a2a/keys?${query}`)))[0], 400);
    }
  });
});

describe('the routes of usage and audit', () => {
  test('say what a key has used and how it stands with its budget', async () => {
    const { ask, keys, spending } = setup();
    const { key } = keys.create(
      {
        workspace: 'team',
        name: 'a',
        scopes: ['*'],
        budget: { amount: 5, currency: 'USD', period: 'month' },
      },
      'cli',
    );
    spending.record({
      workspace: 'team',
      keyId: key.id,
      model: 'm',
      inputTokens: 3,
      outputTokens: 4,
      cost: { amount: 1.25, currency: 'USD' },
    });
    const item = {
      day: '2026-11-15',
      keyId: key.id,
      keyName: 'a',
      model: 'm',
      calls: 1,
      failures: 0,
      inputTokens: 3,
      outputTokens: 4,
      cost: { amount: 1.25, currency: 'USD' },
    };
    const month = { from: '2026-11-01', to: '2026-11-15', items: [item] };
    assert.deepEqual((await ask(admin, 'GET', `/a2a/keys/${key.id}/usage`)).body, {
      ...month,
      budget: key.budget,
      spent: { tokens: 7, amount: 1.25 },
      reserved: { tokens: 0, amount: 0 },
      startsOn: '2026-11-01',
      resetsAt: '2026-12-01T00:00:00.000Z',
    });
    assert.deepEqual((await ask(caller(['audit:read']), 'GET', '/a2a/usage')).body, month);
    const later = { from: '2026-11-16', to: '2026-12-01' };
    const none = await ask(admin, 'GET', `/a2a/usage?from=${later.from}&to=${later.to}`);
    assert.deepEqual(none.body, { ...later, items: [] });
    assert.equal((await refusal(ask(admin, 'GET', '/a2a/usage?from=yesterday')))[0], 400);
  });

  test('page through the log to its end', async () => {
    const { ask, audit } = setup();
    for (const subject of ['a', 'b', 'c']) {
      audit.record({ workspace: 'team', actor: 'cli', action: 'x', subject });
    }
    const Page = z.object({ items: z.array(AuditRecord), next: z.int().optional() });
    const seen: string[] = [];
    let query = '?limit=2';
    for (let pages = 0; pages < 5 && query !== ''; pages++) {
      const page = Page.parse((await ask(admin, 'GET', `/a2a/audit${query}`)).body);
      seen.push(...page.items.map(({ subject }) => subject));
      query = page.next === undefined ? '' : `?limit=2&before=${page.next}`;
    }
    assert.deepEqual(seen, ['c', 'b', 'a']);
  });
});
