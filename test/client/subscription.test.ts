import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  breakOff,
  chunk,
  clientOf,
  frame,
  openStream,
  reply,
  replyError,
  startPeer,
  status,
  task,
} from './peer.ts';
import { all, done } from './stream-support.ts';

test('a subscription goes on behind the number that it is given', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(chunk('b'), 7) + frame(chunk('c'), 8));
    else response.end(frame(chunk('c'), 8) + frame(done, 9));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.resubscribe('t1', { after: 7 });
  assert.deepEqual(await all(stream), ['8 c', '9 completed']);
  assert.deepEqual(
    peer.asked.map(({ headers }) => headers['last-event-id']),
    ['7', '8'],
  );
});

test('a subscription after event 0 asks for all events, and an event without a number does not move the cursor', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task(), 1) + frame(chunk('a'), 2) + frame(chunk('b')));
    else response.end(frame(chunk('c'), 3) + frame(done, 4));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.resubscribe('t1', { after: 0 });
  assert.deepEqual(await all(stream), ['1 task working', '2 a', 'b', '3 c', '4 completed']);
  assert.equal(stream.lastSeq, 4);
  assert.deepEqual(
    peer.asked.map(({ headers }) => headers['last-event-id']),
    ['0', '2'],
  );
});

test('a subscription spans the turns of a task', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1) + frame(done, 2));
    response.end(frame(status('working'), 3) + frame(done, 4));
  });
  const agent = await clientOf(t, peer.url);
  assert.equal((await all(agent.resubscribe('t1'))).length, 4);
});

test('a subscription that breaks between two turns is taken up again', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task(), 1) + frame(done, 2));
    else response.end(frame(status('working'), 3) + frame(done, 4));
  });
  const agent = await clientOf(t, peer.url);
  assert.equal((await all(agent.resubscribe('t1'))).length, 4);
});

test('a subscription that breaks behind the end is at its end', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    if (n === 0) {
      openStream(response);
      breakOff(response, frame(task()) + frame(done));
    } else if (asked.body.method === 'tasks/get') reply(asked, response, task('completed'));
    else replyError(asked, response, -32004);
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.resubscribe('t1')), ['task working', 'completed']);
});

test('an answer to a question is not taken for done because the task still says that it waits', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task('input-required'), 4));
    else response.end(frame(status('working'), 5) + frame(done, 6));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('this', { taskId: 't1' })), [
    '4 task input-required',
    '5 working',
    '6 completed',
  ]);
});

test('a subscription to a finished task gives the task', async (t) => {
  const peer = await startPeer(t, (asked, response) => {
    if (asked.body.method === 'tasks/get') reply(asked, response, task('completed', 'hi'));
    else replyError(asked, response, -32004);
  });
  const agent = await clientOf(t, peer.url);
  assert.equal(await agent.resubscribe('t1').text(), 'hi');
});

test('a subscription to a task that nobody knows is the agent’s error', async (t) => {
  const peer = await startPeer(t, (asked, response) => replyError(asked, response, -32001));
  const agent = await clientOf(t, peer.url);
  await assert.rejects(all(agent.resubscribe('t9')), { kind: 'taskNotFound' });
});

test('an event or a task that is not the one of the subscription is an error', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    const { method } = asked.body;
    if (method === 'tasks/get') return reply(asked, response, { ...task('completed'), id: 't2' });
    if (n > 1) return replyError(asked, response, -32004);
    openStream(response);
    return response.end(frame({ ...task(), id: 't2' }) + frame(done));
  });
  const agent = await clientOf(t, peer.url);
  const refused = { kind: 'invalidAgentResponse', message: /an event of another task/ };
  await assert.rejects(all(agent.resubscribe('t1')), refused);
  await assert.rejects(all(agent.resubscribe('t1', { polls: true })), refused);
  assert.equal(peer.asked.length, 2);
  await assert.rejects(all(agent.resubscribe('t1')), refused);
});

test('a server that numbers the events of each connection loses no event after a reconnection', async (t) => {
  const connections = [
    [task('submitted'), status('working'), chunk('a '), chunk('b ')],
    [task('working', 'a ', 'b '), chunk('c ')],
    [task('working', 'a ', 'b ', 'c '), chunk('d'), done],
  ];
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    const bytes = connections[n]!.map((event, at) => frame(event, at + 1)).join('');
    if (n < 2) breakOff(response, bytes);
    else response.end(bytes);
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('x');
  assert.equal(await stream.text(), 'a b c d');
  assert.equal(stream.task?.status.state, 'completed');
  assert.deepEqual(
    peer.asked.map(({ headers }) => headers['last-event-id']),
    [undefined, '4', undefined],
  );
});

test('a snapshot after event 0 of a server with sequence numbers does not end their use', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task(), 1) + frame(chunk('a'), 2));
    else response.end(frame(chunk('a'), 2) + frame(done, 3));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.resubscribe('t1', { after: 0 });
  assert.deepEqual(await all(stream), ['1 task working', '2 a', '3 completed']);
});
