/** What a peer learns of a failure of ours: that it failed, and under which id the cause is in our log. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { Task } from '../../src/protocol/index.ts';
import { type A2AAgent, createAgent, memoryStore } from '../../src/tasks/index.ts';
import { finished, raw, rest1, rpc1, sample, start, userMessage, WIRES } from './support.ts';

const SECRET = 'hunter2';

for (const wire of WIRES) {
  test(`the cause of a failed task is in our log alone, under the id that the peer gets (${wire.name})`, async (t) => {
    const { url, log } = await start(t);
    const seen: string[] = [];
    const message = userMessage(`fail ${SECRET}`);
    // The text that the user sent comes back as history; only what the agent said of it counts.
    const answer = await wire.ask(url, 'sendMessage', {
      message,
      configuration: { historyLength: 0 },
    });
    seen.push(answer.text);
    const { id } = (await rpc1.call(url, 'listTasks', {})).tasks[0]!;
    seen.push((await wire.ask(url, 'getTask', { id, historyLength: 0 })).text);
    seen.push((await wire.ask(url, 'listTasks', { includeArtifacts: true })).text);
    const stream = await wire.open(url, 'subscribe', { id }, { query: 'after=1' });
    seen.push(JSON.stringify(await stream.rest()));
    const events = await raw(url, { method: 'GET', path: `/tasks/${id}/events?after=1` });
    seen.push(events.text);

    const failure = log.find(({ level }) => level === 'error');
    const { correlationId } = failure!.fields as { correlationId: string };
    assert.match(inspect(failure), new RegExp(SECRET));
    for (const text of seen) {
      assert.ok(!text.includes(SECRET));
      assert.ok(!text.includes('at '), 'no stack trace');
      assert.ok(text.includes(correlationId));
    }
  });
}

test('a webhook is not told the cause either', async (t) => {
  const bodies: string[] = [];
  const hook = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => bodies.push(chunk));
    request.on('end', () => {
      response.end();
      hook.emit('seen');
    });
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  t.after(() => hook.close());
  const agent = createAgent({ name: 'A', description: 'A' }, async function* () {
    yield 'x';
    throw new Error(SECRET);
  });
  const { url } = await start(t, agent, { push: { allowNetworks: ['127.0.0.0/8'] } });
  const target = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
  const configuration = { pushNotificationConfig: { id: 'h', url: target } };
  await rpc1.call(url, 'sendMessage', { message: userMessage('x'), configuration });
  while (!bodies.join('').includes('TASK_STATE_FAILED')) await once(hook, 'seen');
  assert.ok(!bodies.join('').includes(SECRET));
});

test('an agent, a store or a card that throws is an internal error, with its cause in our log alone', async (t) => {
  const boom = (): never => {
    throw new Error(SECRET);
  };
  const store = memoryStore();
  const agent: A2AAgent = {
    ...sample(),
    receive: ({ message }, task) => (task || message.contextId === 'boom' ? boom() : undefined),
  };
  const { url, log } = await start(t, agent, { store, extendedCard: boom });
  const { id } = await finished(url);
  t.mock.method(store, 'list', boom);
  for (const wire of WIRES) {
    const before = log.length;
    const answers = [
      await wire.ask(url, 'sendMessage', { message: userMessage('x', { contextId: 'boom' }) }),
      await wire.ask(url, 'streamMessage', { message: userMessage('x', { contextId: 'boom' }) }),
      await wire.ask(url, 'sendMessage', { message: userMessage('x', { taskId: id }) }),
      await wire.ask(url, 'listTasks', {}),
      await wire.ask(url, 'getExtendedCard', {}),
    ];
    for (const { error, text } of answers) {
      assert.equal(error?.code, -32603);
      assert.ok(!text.includes(SECRET));
    }
    const logged = log.slice(before);
    assert.equal(logged.length, answers.length);
    for (const [at, { fields }] of logged.entries()) {
      const { correlationId } = fields as { correlationId: string };
      assert.ok(answers[at]!.text.includes(correlationId));
    }
  }
});

test('a task that outgrows its limit fails, and its readers hear of it', async (t) => {
  const { url } = await start(t, undefined, { limits: { maxTaskBytes: 20_000 } });
  const stream = await rest1.open(url, 'streamMessage', { message: userMessage('count 10000') });
  const last = (await stream.rest()).at(-1)!.event;
  assert.equal(last.kind === 'status-update' && last.status.state, 'failed');
  assert.match(JSON.stringify(last), /exceeded/);
  const small = (await rpc1.call(url, 'sendMessage', { message: userMessage('hello') })) as Task;
  assert.equal(small.status.state, 'completed');
});
