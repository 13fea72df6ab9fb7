/** Rules 1 and 2: what a sent message comes back with, and what it may refer to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message, Task } from '../../src/protocol/index.ts';
import { artifactText, finished, rpc1, start, userMessage, WIRES, working } from './support.ts';

for (const wire of WIRES) {
  test(`rule 1: a blocking send waits for the end and returns all artifacts (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const task = (await wire.call(url, 'sendMessage', {
      message: userMessage('count 200'),
    })) as Task;
    assert.equal(task.kind, 'task');
    assert.equal(task.status.state, 'completed');
    const all = Array.from({ length: 200 }, (_, at) => `${at + 1} `).join('');
    assert.equal(artifactText(task), all);
  });

  for (const [text, state] of [
    ['ask', 'input-required'],
    ['auth', 'auth-required'],
  ] as const) {
    test(`rule 1: a blocking send returns at ${state}, with the artifacts so far (${wire.name})`, async (t) => {
      const { url } = await start(t);
      const task = (await wire.call(url, 'sendMessage', { message: userMessage(text) })) as Task;
      assert.equal(task.status.state, state);
      assert.equal(artifactText(task), text === 'ask' ? 'before ' : '');
      assert.ok(task.status.message, 'the question is in the status');
    });
  }

  test(`rule 1: a send that asks not to wait returns a task that goes on (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const message = userMessage('hold');
    const configuration = { blocking: false };
    const task = (await wire.call(url, 'sendMessage', { message, configuration })) as Task;
    assert.ok(['submitted', 'working'].includes(task.status.state), task.status.state);
    const after = await wire.call(url, 'cancelTask', { id: task.id });
    assert.equal(after.status.state, 'canceled');
  });

  test(`rule 1: an agent may answer with a message instead of a task (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const answer = (await wire.call(url, 'sendMessage', {
      message: userMessage('reply hi', { contextId: 'talk' }),
    })) as Message;
    assert.equal(answer.kind, 'message');
    assert.equal(answer.role, 'agent');
    assert.equal(answer.contextId, 'talk');
    assert.deepEqual(answer.parts, [{ kind: 'text', text: 'hi' }]);
    assert.deepEqual((await wire.call(url, 'listTasks', {})).tasks, []);
  });

  test(`rule 2: a message to a terminal task is refused with -32004 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const before = await finished(url);
    const message = userMessage('more', { taskId: before.id });
    for (const operation of ['sendMessage', 'streamMessage'] as const) {
      const { error } = await wire.ask(url, operation, { message });
      assert.equal(error?.code, -32004);
    }
    assert.deepEqual(await wire.call(url, 'getTask', { id: before.id }), before);
  });

  test(`rule 2: a client may not choose a new task's id: it is unknown, -32001 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const message = userMessage('hello', { taskId: 'my-own-id' });
    for (const operation of ['sendMessage', 'streamMessage'] as const) {
      const { error } = await wire.ask(url, operation, { message });
      assert.equal(error?.code, -32001);
    }
    assert.equal((await wire.call(url, 'listTasks', {})).totalSize, 0);
  });

  test(`rule 2: the context is inferred from the task, and a wrong one is refused (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const asked = (await wire.call(url, 'sendMessage', { message: userMessage('ask') })) as Task;
    const { id: taskId, contextId } = asked;
    const wrong = userMessage('Rome', { taskId, contextId: 'another' });
    assert.equal((await wire.ask(url, 'sendMessage', { message: wrong })).error?.code, -32602);
    assert.deepEqual(await wire.call(url, 'getTask', { id: taskId }), asked);

    const message = userMessage('Rome', { taskId });
    const done = (await wire.call(url, 'sendMessage', { message })) as Task;
    assert.equal(done.id, taskId);
    assert.equal(done.contextId, contextId);
    assert.equal(done.status.state, 'completed');
    assert.equal(artifactText(done), 'before after Rome');
    assert.deepEqual(
      done.history?.map(({ role, contextId: of, taskId: to }) => [role, of, to]),
      [
        ['user', contextId, taskId],
        ['agent', contextId, taskId],
        ['user', contextId, taskId],
      ],
    );
  });

  test(`a message to a task that is being worked on is refused with -32004 (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const task = await working(url);
    const message = userMessage('faster', { taskId: task.id });
    assert.equal((await wire.ask(url, 'sendMessage', { message })).error?.code, -32004);
    assert.deepEqual(await wire.call(url, 'getTask', { id: task.id }), task);
  });

  test(`a repeated message id finds its task, with other content it is refused (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const message = userMessage('hello there');
    const first = await wire.call(url, 'sendMessage', { message });
    const second = await wire.call(url, 'sendMessage', { message });
    assert.deepEqual(second, first);
    const other = { ...message, parts: [{ kind: 'text' as const, text: 'something else' }] };
    assert.equal((await wire.ask(url, 'sendMessage', { message: other })).error?.code, -32602);
    assert.equal((await wire.call(url, 'listTasks', {})).totalSize, 1);
  });
}

test('fifty messages with one id at the same moment make one task', async (t) => {
  const { url } = await start(t);
  const message = userMessage('count 20');
  const tasks = await Promise.all(
    Array.from({ length: 50 }, (_, at) => WIRES[at % 4]!.call(url, 'sendMessage', { message })),
  );
  assert.equal(new Set(tasks.map((task) => (task as Task).id)).size, 1);
  for (const task of tasks) assert.equal((task as Task).status.state, 'completed');
  assert.equal((await rpc1.call(url, 'listTasks', {})).totalSize, 1);
});

test('one id with different contents at the same moment: one content wins, the others are refused', async (t) => {
  const { url } = await start(t);
  const message = userMessage('zero');
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) => {
      const parts = [{ kind: 'text' as const, text: `content ${at % 2}` }];
      return rpc1.ask(url, 'sendMessage', { message: { ...message, parts } });
    }),
  );
  const refused = answers.filter(({ error }) => error);
  assert.equal(refused.length, 10);
  for (const { error } of refused) assert.equal(error?.code, -32602);
  assert.equal((await rpc1.call(url, 'listTasks', {})).totalSize, 1);
});

test('of two answers to one question exactly one is taken', async (t) => {
  const { url } = await start(t);
  const { id: taskId } = (await rpc1.call(url, 'sendMessage', {
    message: userMessage('ask'),
  })) as Task;
  const answers = await Promise.all(
    ['Rome', 'Oslo', 'Bonn', 'Lima'].map((city) =>
      rpc1.ask(url, 'sendMessage', { message: userMessage(city, { taskId }) }),
    ),
  );
  const won = answers.filter(({ error }) => !error);
  assert.equal(won.length, 1);
  for (const { error } of answers) if (error) assert.equal(error.code, -32004);
  const task = await rpc1.call(url, 'getTask', { id: taskId });
  assert.equal(task.status.state, 'completed');
  assert.equal(task.history?.filter(({ role }) => role === 'user').length, 2);
});

test('the same answer twice at the same moment is one answer, and both callers get the task', async (t) => {
  const { url } = await start(t);
  const { id: taskId } = (await rpc1.call(url, 'sendMessage', {
    message: userMessage('ask'),
  })) as Task;
  const message = userMessage('Rome', { taskId });
  const tasks = await Promise.all(
    [1, 2, 3].map(() => rpc1.call(url, 'sendMessage', { message }) as Promise<Task>),
  );
  for (const task of tasks) {
    assert.equal(task.status.state, 'completed');
    assert.equal(artifactText(task), 'before after Rome');
  }
});

test('ids are time-ordered UUIDs', async (t) => {
  const { url } = await start(t);
  const { id, contextId } = await finished(url);
  for (const text of [id, contextId]) assert.match(text, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
});
