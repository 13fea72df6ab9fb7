// A store that cannot be reached: 503 with Retry-After wherever it is asked, and all is well when it is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryStore, type TaskStore } from '../../src/tasks/index.ts';
import { startGateway } from '../support/gateway.ts';

/** A store that can be taken away; each of its methods throws then. */
function movable(store: TaskStore) {
  let away = false;
  const proxy = new Proxy(store, {
    get(target, name) {
      if (name === 'durable') return true;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (away && name !== 'close') throw new Error('disk I/O error: /secret/place');
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { store: proxy, take: () => (away = true), bring: () => (away = false) };
}

test('while the store is away every operation on tasks is 503, and afterwards it is as before', async () => {
  const { store, take, bring } = movable(memoryStore());
  await using gateway = await startGateway({ store });
  const key = gateway.key();
  const message = { role: 'user', content: 'hi' };
  const send = () => gateway.ask(key, 'POST', '/a2a/tasks/send', { message });
  const first = (await (await send()).json()) as { task: { id: string } };
  const { id } = first.task;
  take();
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id } };
  const attempts = {
    send: await send(),
    stream: await gateway.ask(key, 'POST', '/a2a/tasks/sendSubscribe', { message }),
    follow: await gateway.ask(key, 'POST', '/a2a/tasks/sendSubscribe', { taskId: id }),
    get: await gateway.ask(key, 'GET', `/a2a/tasks/${id}`),
    cancel: await gateway.ask(key, 'POST', '/a2a/tasks/cancel', { taskId: id }),
    list: await gateway.ask(key, 'GET', '/tasks'),
    rpc: await gateway.ask(key, 'POST', '/', rpc),
    ready: await gateway.ask(undefined, 'GET', '/readyz'),
  };
  for (const [name, response] of Object.entries(attempts)) {
    const text = await response.text();
    assert.equal(response.status, 503, `${name}: ${text}`);
    assert.doesNotMatch(text, /secret|I\/O/);
    if (name !== 'ready') assert.equal(response.headers.get('retry-after'), '1', name);
  }
  assert.equal((await gateway.ask(undefined, 'GET', '/healthz')).status, 200);
  bring();
  assert.equal((await gateway.ask(key, 'GET', `/a2a/tasks/${id}`)).status, 200);
  assert.equal((await send()).status, 200);
});
