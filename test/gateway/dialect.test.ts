// What a client of the dialect sees of a task: answers, streams, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { dialectRoutes } from '../../src/gateway/dialect/routes.ts';
import {
  dialectOver,
  foldedFrom,
  framesIn,
  obedient,
  saying,
  start,
  STORES,
  taskOf,
  timeless,
  USAGE,
} from './dialect-support.ts';

for (const store of STORES) {
  test(`a message is answered with the finished task, in all of the dialect's fields (${store})`, async (t) => {
    const dialect = start(t, obedient(), store);
    const before = Date.now();
    const body = saying('hello there', { sessionId: 's1', metadata: { model: 'm' } });
    const task = taskOf(await dialect.send(body));
    const { id, createdAt, updatedAt, history, message, ...rest } = task;
    assert.deepEqual(rest, {
      status: 'completed',
      sessionId: 's1',
      artifacts: [
        {
          artifactId: 'answer',
          content: 'hello there ',
          parts: [{ type: 'text', text: 'hello there ' }],
        },
      ],
      metadata: { model: 'm', usage: USAGE },
    });
    assert.deepEqual({ role: message?.role, content: message?.content }, body.message);
    assert.deepEqual(
      history.map(({ role, content }) => [role, content]),
      [
        ['user', 'hello there'],
        ['agent', 'hello there '],
      ],
    );
    assert.ok(Date.parse(createdAt) >= before && Date.parse(updatedAt) >= Date.parse(createdAt));
    assert.deepEqual(taskOf(await dialect.get(id)), task);
  });

  test(`a stream begins with submitted and working, and ends with completed (${store})`, async (t) => {
    const dialect = start(t, obedient(), store);
    const { frames } = await dialect.follow(saying('a b'));
    const got = await frames;
    assert.deepEqual(
      got.map(({ id, data }) => [
        id,
        data.type,
        data.type === 'artifact' ? data.append : data.status,
      ]),
      [
        [1, 'status', 'submitted'],
        [2, 'status', 'working'],
        [3, 'artifact', undefined],
        [4, 'artifact', true],
        [5, 'completed', 'completed'],
      ],
    );
    const task = taskOf(await dialect.get(got[0]!.data.taskId));
    assert.deepEqual(foldedFrom(got), task);
  });

  test(`a task that asks is continued by its id, and a stream of it goes on (${store})`, async (t) => {
    const dialect = start(t, obedient(), store);
    const asked = taskOf(await dialect.send(saying('ask')));
    assert.equal(asked.status, 'input-required');
    assert.equal(asked.history.at(-1)?.content, 'Which city?');
    const { frames } = await dialect.follow(
      saying('Paris', { taskId: asked.id, sessionId: asked.sessionId }),
    );
    const got = await frames;
    assert.deepEqual(
      got.map(({ data }) => data.type),
      ['status', 'status', 'artifact', 'completed'],
    );
    assert.deepEqual(got[0]?.data.type === 'status' && got[0].data.message?.content, 'Paris');
    const whole = await (await dialect.follow({ taskId: asked.id })).frames;
    assert.deepEqual(timeless(whole.slice(-got.length)), timeless(got));
    const task = taskOf(await dialect.get(asked.id));
    assert.deepEqual(foldedFrom(whole), task);
    assert.equal(task.status, 'completed');
    assert.equal(task.message?.content, 'ask');
  });
}

test('the stream of a question ends with input-required, and says it', async (t) => {
  const { frames } = await start(t).follow(saying('ask'));
  const last = (await frames).at(-1)?.data;
  assert.equal(last?.type, 'input-required');
  assert.equal(last.message?.content, 'Which city?');
});

test('a failure says why, and never what is ours', async (t) => {
  const dialect = start(t);
  const failed = taskOf(await dialect.send(saying('fail')));
  assert.equal(failed.status, 'failed');
  assert.equal(failed.error, 'It cannot be done');
  assert.equal(taskOf(await dialect.send(saying('reject'))).status, 'failed');
  const { frames, raw } = await dialect.follow(saying('throw'));
  const last = (await frames).at(-1)?.data;
  assert.equal(last?.type, 'failed');
  assert.match(last.error ?? '', /^The agent failed\. Correlation id: /);
  assert.doesNotMatch(raw(), /secret/);
});

test('a stream is resumed by the same message or by the task, behind the last event or from the start', async (t) => {
  const dialect = start(t);
  const body = { message: { role: 'user', content: 'a b c', messageId: 'm1' } };
  const whole = await (await dialect.follow(body)).frames;
  const { taskId } = whole[0]!.data;
  for (const again of [body, { taskId }]) {
    for (let after = 0; after <= whole.length; after++) {
      const rest = await (await dialect.follow(again, after)).frames;
      assert.deepEqual(timeless(rest), timeless(whole.slice(after)), `behind ${after}`);
    }
    const all = await (await dialect.follow(again)).frames;
    assert.deepEqual(timeless(all), timeless(whole));
  }
  assert.equal(taskOf(await dialect.send(body)).id, taskId);
});

test('a place that the log does not have is refused', async (t) => {
  const dialect = start(t);
  const { id: taskId } = taskOf(await dialect.send(saying('a')));
  for (const after of ['x', '-1', '1.5', 99]) {
    const { status } = await dialect.refusedStream({ taskId }, after);
    assert.equal(status, 400, String(after));
  }
});

test('parts of every type arrive as they were sent, and come back so', async (t) => {
  const dialect = start(t);
  const content = [
    { type: 'text', text: 'read ' },
    { type: 'data', data: { n: [1, null] } },
    { type: 'file', file: { uri: 'https://example.org/a.txt', mimeType: 'text/plain' } },
    // A field of ours under the client's hand changes nothing.
    { type: 'text', text: 'this', kind: 'file' },
  ];
  const task = taskOf(await dialect.send(saying(content)));
  assert.deepEqual(task.message?.content, [...content.slice(0, 3), { type: 'text', text: 'this' }]);
});

test('what is wrong with a body is said by the name of its field', async (t) => {
  const dialect = start(t);
  const { id: taskId, sessionId } = taskOf(await dialect.send(saying('ask')));
  const soon = new Date(Date.now() + 60_000).toISOString();
  const wrong: [unknown, RegExp][] = [
    [undefined, /^The request has no body: /],
    [{}, /^message: /],
    [{ message: { content: 'x' } }, /^message\.role: /],
    [{ message: { role: 'agent', content: 'x' } }, /^message\.role: .*user/],
    [saying(''), /^message\.content: /],
    [saying(' \n'), /^message\.content: /],
    [saying([]), /^message\.content: /],
    [saying([{ type: 'text', text: '' }]), /^message\.content: /],
    [saying([{ type: 'song' }]), /^message\.content: /],
    [saying([{ type: 'file', file: {} }]), /^message\.content\.0\.file: /],
    [saying([{ type: 'data' }]), /^message\.content/],
    [saying('x', { sessionId: '' }), /^sessionId: /],
    [saying('x', { sessionId: 'x'.repeat(257) }), /^sessionId: /],
    [saying('x', { metadata: [] }), /^metadata: /],
    [saying('x', { expiresAt: 'tomorrow' }), /^expiresAt: /],
    [saying('x', { taskId, sessionId: 'another' }), /^sessionId: /],
    [saying('x', { taskId, sessionId, expiresAt: soon }), /^expiresAt: /],
  ];
  for (const [body, says] of wrong) {
    for (const { status, error } of [await dialect.send(body), await dialect.refusedStream(body)]) {
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(error ?? '', says);
    }
  }
  assert.equal((await dialect.cancel(7)).status, 400);
  assert.equal((await dialect.cancel(undefined)).status, 400);
});

test('a task that is not there is 404, and so is the one of another workspace', async (t) => {
  const dialect = start(t);
  const { id } = taskOf(await dialect.send(saying('ask')));
  const attempts = async (from: typeof dialect, taskId: string) => [
    await from.get(taskId),
    await from.cancel(taskId),
    await from.send(saying('x', { taskId })),
    await from.refusedStream(saying('x', { taskId })),
    await from.refusedStream({ taskId }),
  ];
  const unknown = await attempts(dialect, 'task-456');
  assert.deepEqual(
    unknown.map(({ status }) => status),
    [404, 404, 404, 404, 404],
  );
  assert.deepEqual(await attempts(dialectOver(dialect.handler, 'other'), id), unknown);
  assert.equal(taskOf(await dialect.get(id)).status, 'input-required');
});

test('when a task expires stands beside its other times', async (t) => {
  const dialect = start(t);
  const expiresAt = '2999-01-01T00:00:00.000Z';
  const { frames } = await dialect.follow(saying('x', { expiresAt, metadata: { model: 'm' } }));
  const [first] = await frames;
  assert.ok(first?.data.type === 'status');
  assert.equal(first.data.expiresAt, expiresAt);
  const task = taskOf(await dialect.get(first.data.taskId));
  assert.equal(task.expiresAt, expiresAt);
  assert.equal(task.metadata['expiresAt'], undefined);
});

test('an event is made into text once, however many follow', async (t) => {
  let made = 0;
  const counted = { toJSON: () => `${++made}` };
  let go = () => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  const dialect = start(t, {
    async *execute() {
      yield { kind: 'status-update', state: 'working' };
      await gate;
      const artifact = { artifactId: 'a', parts: [{ kind: 'data' as const, data: counted }] };
      yield { kind: 'artifact-update', artifact };
    },
  });
  const first = await dialect.follow(saying('go'));
  const { taskId } = (await first.until(({ id }) => id === 2)).data;
  const readers = [first];
  for (let n = 0; n < 9; n++) readers.push(await dialect.follow({ taskId }, 2));
  go();
  for (const { frames } of readers) await frames;
  const shown = readers.map(({ raw }) => framesIn(raw()).find(({ id }) => id === 3)?.data);
  assert.equal(new Set(shown.map((data) => JSON.stringify(data))).size, 1);
  assert.equal(made, 1);
});

test('every schema of the routes can be shown as JSON Schema', () => {
  for (const { body, answers } of dialectRoutes()) {
    if (body) z.toJSONSchema(body, { io: 'input' });
    for (const { schema } of Object.values(answers)) if (schema) z.toJSONSchema(schema);
  }
});
