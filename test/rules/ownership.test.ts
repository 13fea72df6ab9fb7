/** Rule 6: whose tasks; who is let in; tenants. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation, ParamsOf, Task, User } from '../../src/protocol/index.ts';
import { bearerTokens } from '../../src/server.ts';
import {
  finished,
  raw,
  rest1,
  rpc1,
  sample,
  start,
  userMessage,
  type Wire,
  WIRES,
  working,
} from './support.ts';

const tokens = bearerTokens(
  new Map([
    ['ann', 'token-a'],
    ['bob', 'token-b'],
  ]),
);
const ann = { headers: { authorization: 'Bearer token-a' } };
const bob = { headers: { authorization: 'Bearer token-b' } };
const config = { id: 'c1', url: 'https://example.org/hook' };

/** Every operation that names a task. */
function everything(id: string): readonly (readonly [Operation, object])[] {
  return [
    ['getTask', { id }],
    ['cancelTask', { id }],
    ['subscribe', { id }],
    ['sendMessage', { message: userMessage('more', { taskId: id }) }],
    ['streamMessage', { message: userMessage('more', { taskId: id }) }],
    ['setPushConfig', { taskId: id, pushNotificationConfig: config }],
    ['getPushConfig', { id, pushNotificationConfigId: 'c1' }],
    ['listPushConfigs', { id }],
    ['deletePushConfig', { id, pushNotificationConfigId: 'c1' }],
  ];
}

function ask(wire: Wire, url: string, operation: Operation, params: object, init: object = {}) {
  return wire.ask(url, operation, params as ParamsOf<Operation>, init);
}

for (const wire of WIRES) {
  test(`rule 6: someone else's task is not found, by any operation, and stays as it is (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), { authenticate: tokens });
    const { id } = await working(url, ann);
    await rpc1.call(url, 'setPushConfig', { taskId: id, pushNotificationConfig: config }, ann);
    const before = await rpc1.call(url, 'getTask', { id }, ann);
    for (const [operation, params] of everything(id)) {
      const foreign = await ask(wire, url, operation, params, bob);
      assert.equal(foreign.error?.code, -32001, operation);
      // Nothing tells it from a task that does not exist, but its own id.
      const absent = await ask(
        wire,
        url,
        operation,
        JSON.parse(JSON.stringify(params).replaceAll(id, 'nobody')),
        bob,
      );
      assert.equal(foreign.text.replaceAll(id, 'nobody'), absent.text, operation);
      assert.equal(foreign.status, absent.status);
    }
    const prefix = wire.version === '0.3' ? '/v1' : '';
    const path = `${prefix}/tasks/${id}/events`;
    assert.equal((await raw(url, { method: 'GET', path, ...bob })).status, 404);
    assert.equal((await raw(url, { method: 'GET', path, ...ann })).status, 200);
    assert.deepEqual(await rpc1.call(url, 'getTask', { id }, ann), before);
    assert.equal((await rpc1.call(url, 'listPushConfigs', { id }, ann)).length, 1);
  });

  test(`rule 6: who is not known gets 401 before anything is looked up (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), { authenticate: tokens });
    const { id } = await finished(url, ann);
    for (const init of [{}, { headers: { authorization: 'Bearer wrong' } }]) {
      for (const which of [id, 'nobody']) {
        for (const [operation, params] of [...everything(which), ['listTasks', {}] as const]) {
          const { status, error, headers } = await ask(wire, url, operation, params, init);
          assert.equal(status, 401);
          assert.equal(error?.code, -31401);
          assert.equal(headers.get('www-authenticate'), 'Bearer');
          assert.equal(headers.get('x-content-type-options'), 'nosniff');
        }
      }
    }
  });

  test(`a message id is its user's own: two users may use the same (${wire.name})`, async (t) => {
    const { url } = await start(t, sample(), { authenticate: tokens });
    const message = userMessage('hello');
    const one = (await wire.call(url, 'sendMessage', { message }, ann)) as Task;
    const other = (await wire.call(url, 'sendMessage', { message }, bob)) as Task;
    assert.notEqual(one.id, other.id);
  });
}

test('rule 6: a path that does not exist is 401 too, and the body of a stranger is not read', async (t) => {
  const { url } = await start(t, sample(), { authenticate: tokens });
  for (const path of ['/', '/nowhere', '/tasks', '/message:send', '/v1/tasks/x:cancel']) {
    const { status, text } = await raw(url, { path, body: 'not json' });
    assert.equal(status, path === '/tasks' ? 405 : 401, path);
    assert.ok(!text.includes('32700'));
  }
});

test('rule 6: an authenticate that is a promise is waited for, and one that throws is an error', async (t) => {
  const { url, log } = await start(t, sample(), {
    authenticate: async ({ header }) => {
      await Promise.resolve();
      const token = header('authorization');
      if (token === 'boom') throw new Error('the secret of the directory');
      return token ? { id: token } : undefined;
    },
  });
  const ok = await rpc1.ask(url, 'listTasks', {}, { headers: { authorization: 'x' } });
  assert.equal(ok.status, 200);
  assert.equal(ok.error, undefined);
  assert.equal((await rpc1.ask(url, 'listTasks', {})).status, 401);
  const boom = await rpc1.ask(url, 'listTasks', {}, { headers: { authorization: 'boom' } });
  assert.equal(boom.error?.code, -32603);
  assert.ok(!boom.text.includes('secret'));
  assert.equal(log.filter(({ level }) => level === 'error').length, 1);
});

test('tenants keep tasks apart, whether the path or the parameters name them', async (t) => {
  const { url } = await start(t);
  const tenant = 'acme';
  const { id } = (await rpc1.call(url, 'sendMessage', {
    message: userMessage('x'),
    tenant,
  })) as Task;
  assert.equal((await raw(url, { method: 'GET', path: `/acme/tasks/${id}` })).status, 200);
  assert.equal((await raw(url, { method: 'GET', path: `/a%63me/tasks/${id}` })).status, 200);
  assert.equal((await raw(url, { method: 'GET', path: `/tasks/${id}?tenant=acme` })).status, 200);
  for (const path of [`/tasks/${id}`, `/other/tasks/${id}`, `/v1/tasks/${id}`]) {
    assert.equal((await raw(url, { method: 'GET', path })).status, 404, path);
  }
  assert.equal((await rpc1.ask(url, 'getTask', { id })).error?.code, -32001);
  assert.equal((await rpc1.call(url, 'listTasks', { tenant })).totalSize, 1);
  assert.equal((await rpc1.call(url, 'listTasks', {})).totalSize, 0);
});

test('reserved names are no tenants, however they are written', async (t) => {
  const { url } = await start(t);
  for (const name of ['v1', 'a2a', 'agents', 'tasks', '.well-known', '%76%31', 'a2%61']) {
    const path = `/${name}/extendedAgentCard`;
    const { status, text } = await raw(url, { method: 'GET', path });
    assert.equal(status, 404, path);
    assert.equal(JSON.parse(text).error.code, 404);
  }
  const { status } = await raw(url, { method: 'GET', path: '/acme/extendedAgentCard' });
  assert.equal(status, 400);
});

test("a user's own tenant wins, and no other may be named", async (t) => {
  const user: User = { id: 'ann', tenant: 'acme' };
  const { url } = await start(t, sample(), { authenticate: () => user });
  const { id } = await finished(url);
  assert.equal((await raw(url, { method: 'GET', path: `/acme/tasks/${id}` })).status, 200);
  assert.equal((await raw(url, { method: 'GET', path: `/tasks/${id}` })).status, 200);
  const other = await raw(url, { method: 'GET', path: `/globex/tasks/${id}` });
  assert.equal(other.status, 403);
  for (const wire of [rpc1, rest1]) {
    const { error } = await wire.ask(url, 'listTasks', { tenant: 'globex' });
    assert.equal(error?.code, -31403);
  }
});

test('off loopback nothing listens without authentication', async () => {
  const { serve } = await import('../../src/server.ts');
  const server = serve(sample());
  await assert.rejects(server.listen(0, '0.0.0.0'), /without authentication/);
  await server.close();
});
