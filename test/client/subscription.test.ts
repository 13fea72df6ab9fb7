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
