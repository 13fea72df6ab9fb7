// What is refused, in the gateway's own words wherever the protocol has none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TaskAnswer } from '../../src/gateway/dialect/schema.ts';
import { createAgent } from '../../src/tasks/index.ts';
import { startGateway } from '../support/gateway.ts';
import { remote } from './agents-support.ts';

const saying = (content: string) => ({ message: { role: 'user', content } });

test('every failure that is not the protocol’s is {"error": "…"}', async () => {
  await using served = await startGateway();
  const key = served.key();
  for (const [status, who, verb, path] of [
    [401, undefined, 'GET', '/nothing'],
    [404, key, 'GET', '/nothing'],
    [404, key, 'GET', '/v1/nothing'],
    [404, key, 'GET', '/agents'],
    [405, undefined, 'POST', '/.well-known/agent.json'],
    [405, undefined, 'DELETE', '/'],
  ] as const) {
    const answer = await served.ask(who, verb, path);
    const body = (await answer.json()) as { error: unknown };
    assert.deepEqual([answer.status, typeof body.error], [status, 'string'], `${verb} ${path}`);
  }
  const task = await served.ask(key, 'GET', '/tasks/none');
  assert.match(await task.text(), /"TASK_NOT_FOUND"/);
});

test('a key that may only write is told what the state of a task does not allow', async () => {
  await using served = await startGateway();
  const key = served.key('default', 'tasks:write');
  const sent = await served.ask(key, 'POST', '/a2a/tasks/send', saying('hello'));
  const { id: taskId } = TaskAnswer.parse(await sent.json()).task;
  const cancel = await served.ask(key, 'POST', '/a2a/tasks/cancel', { taskId });
  assert.equal(cancel.status, 409);
  assert.match(await cancel.text(), /already completed/);
  const more = await served.ask(key, 'POST', '/a2a/tasks/send', { taskId, ...saying('more') });
  assert.equal(more.status, 409);
  assert.match(await more.text(), /without taskId and with the same sessionId/);
});

test('a key without agents:use can neither begin nor continue the task of an agent', async (t) => {
  const asking = createAgent({ name: 'Asking', description: '' }, async function* (context) {
    await context.ask('Which city?');
    yield 'sunny';
  });
  const { url } = await remote(t, asking);
  await using served = await startGateway({ config: { agents: { asking: { url } } } });
  const body = { ...saying('weather'), metadata: { agent: 'asking' } };
  const some = served.key('default', 'tasks:read', 'tasks:write');
  const begun = await served.ask(some, 'POST', '/a2a/tasks/send', body);
  assert.equal(begun.status, 403);
  const asked = await served.ask(served.key(), 'POST', '/a2a/tasks/send', body);
  const { id: taskId, status } = TaskAnswer.parse(await asked.json()).task;
  assert.equal(status, 'input-required');
  const answer = { taskId, ...saying('Paris') };
  const continued = await served.ask(some, 'POST', '/a2a/tasks/send', answer);
  assert.equal(continued.status, 403);
  assert.match(await continued.text(), /agents:use/);
});

test('a new configuration says what of it counts only after a new start, as long as it differs', async () => {
  await using served = await startGateway();
  const { gateway } = served;
  const other = { cors: ['https://app.example'] };
  assert.deepEqual(gateway.reload(other), ['cors']);
  assert.deepEqual(gateway.reload(other), ['cors']);
  assert.deepEqual(gateway.reload({}), []);
});
