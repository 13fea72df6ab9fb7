import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  breakOff,
  chunk,
  clientOf,
  collect,
  flood,
  frame,
  message,
  openStream,
  reply,
  replyError,
  sendJson,
  startPeer,
  status,
  task,
  type Asked,
} from './peer.ts';
import { all, done, interrupted } from './stream-support.ts';

test('a stream gives its events, the task they add up to, and the text', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task('submitted'), 1));
    response.write(frame(status('working'), 2));
    response.write(`: heartbeat\n\n${frame(chunk('hello '), 3)}`);
    response.end(frame(chunk('there'), 4) + frame(done, 5));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('hello');
  assert.equal(peer.asked.length, 0);
  assert.deepEqual(await all(stream), [
    '1 task submitted',
    '2 working',
    '3 hello ',
    '4 there',
    '5 completed',
  ]);
  assert.equal(stream.task?.status.state, 'completed');
  assert.equal(stream.lastSeq, 5);
  assert.equal(await agent.stream('hello').text(), 'hello there');
  assert.deepEqual(await collect(agent.stream('hello').textChunks()), ['hello ', 'there']);
  assert.equal(peer.asked.length, 3);
  assert.equal(peer.asked[0]?.headers.accept, 'text/event-stream');
});

test('nothing is sent before somebody reads', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.end(frame(message('hi')));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('hello');
  await new Promise(setImmediate);
  assert.equal(peer.asked.length, 0);
  assert.equal(await stream.text(), 'hi');
});

test('a stream that breaks in the middle of an event goes on behind the last whole one', async (t) => {
  const log = [task('submitted'), status('working'), chunk('a'), chunk('b'), chunk('c'), done];
  const bytes = log.map((event, at) => frame(event, at + 1));
  const peer = await startPeer(t, ({ headers }, response) => {
    const last = Number(headers['last-event-id'] ?? 0);
    openStream(response);
    // Two whole events and half of the third, each time.
    const rest = bytes.slice(last);
    if (rest.length <= 2) response.end(rest.join(''));
    else breakOff(response, rest.slice(0, 2).join('') + rest[2]!.slice(0, -10));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('hello')), [
    '1 task submitted',
    '2 working',
    '3 a',
    '4 b',
    '5 c',
    '6 completed',
  ]);
  assert.deepEqual(
    peer.asked.map(({ body, headers }) => [body.method, headers['last-event-id']]),
    [
      ['message/stream', undefined],
      ['tasks/resubscribe', '2'],
      ['tasks/resubscribe', '4'],
    ],
  );
  assert.deepEqual(peer.asked[1]?.body.params, { id: 't1' });
});

test('events that come again after a resumption are dropped', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task(), 1) + frame(chunk('a'), 2));
    else response.end(frame(chunk('a'), 2) + frame(chunk('b'), 3) + frame(done, 4));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('hello');
  assert.equal(await stream.text(), 'ab');
  assert.equal(stream.lastSeq, 4);
});

test('ids that are no sequence numbers cost no event, and are not sent back', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    const events = n === 0 ? [task(), chunk('a'), chunk('b')] : [task('working', 'ab'), done];
    const bytes = events.map((event) => frame(event, 1700000000000)).join('');
    if (n === 0) breakOff(response, bytes);
    else response.end(bytes);
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('x')), [
    '1700000000000 task working',
    '1700000000000 a',
    '1700000000000 b',
    '1700000000000 task working',
    '1700000000000 completed',
  ]);
  assert.equal(peer.asked[1]?.headers['last-event-id'], undefined);
});

test('without ids the task as it now is comes instead of what was missed', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, frame(task()) + frame(chunk('a ')));
    else response.end(frame(task('working', 'a ', 'b ')) + frame(chunk('c')) + frame(done));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('hello');
  assert.deepEqual(await all(stream), ['task working', 'a ', 'task working', 'c', 'completed']);
  assert.equal(peer.asked[1]?.headers['last-event-id'], undefined);
  assert.equal(stream.task?.artifacts?.[0]?.parts.length, 3);
});

test('text that was already given out is not given again with the task', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n % 2 === 0) breakOff(response, frame(task()) + frame(chunk('a ')));
    else response.end(frame(task('working', 'a ', 'b ')) + frame(chunk('c')) + frame(done));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await collect(agent.stream('x').textChunks()), ['a ', 'b ', 'c']);
  assert.equal(await agent.stream('x').text(), 'a b c');
});

test('a task that finished meanwhile is the last item', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    if (n === 0) {
      openStream(response);
      breakOff(response, frame(task(), 1));
    } else if (asked.body.method === 'tasks/resubscribe') replyError(asked, response, -32004);
    else reply(asked, response, task('completed', 'all'));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('hello');
  assert.deepEqual(await all(stream), ['1 task working', 'task completed']);
  assert.deepEqual(
    peer.asked.map(({ body }) => body.method),
    ['message/stream', 'tasks/resubscribe', 'tasks/get'],
  );
});

test('a stream that ends before the task does is taken up again', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    response.end(n === 0 ? frame(task(), 1) + frame(chunk('a'), 2) : frame(done, 3));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('x')), ['1 task working', '2 a', '3 completed']);
});

test('a task that waits for input is a good end', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.end(frame(task()) + frame(status('input-required')));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('x')), ['task working', 'input-required']);
  assert.equal(peer.asked.length, 1);
});

test('a stream that nobody can resume says so, with the place', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    if (n > 0) {
      replyError(asked, response, -32001);
      return;
    }
    openStream(response);
    breakOff(response, frame(task(), 1) + frame(chunk('a'), 2));
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(all(agent.stream('x')), interrupted('t1', 2));
});

test('attempts are counted, and progress begins the count anew', async (t) => {
  let left = 10;
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) response.write(frame(task(), 1));
    else if (left-- > 0) response.write(frame(chunk('x'), n + 1));
    breakOff(response, ': bye\n\n');
  });
  const agent = await clientOf(t, peer.url, { retry: { attempts: 2, delayMs: 1 } });
  await assert.rejects(all(agent.stream('x')), interrupted('t1', 11));
  // One that sent, ten that brought something, two in vain.
  assert.equal(peer.asked.length, 13);
});

test('an agent that only repeats the task is not asked for ever', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.end(frame(task()));
  });
  const agent = await clientOf(t, peer.url, { retry: { attempts: 2, delayMs: 1 } });
  await assert.rejects(all(agent.stream('x')), interrupted('t1'));
  assert.equal(peer.asked.length, 3);
});

test('an agent that is overloaded is asked again', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    if (n === 1) {
      response.writeHead(503).end();
      return;
    }
    openStream(response);
    if (n === 0) breakOff(response, frame(task(), 1));
    else response.end(frame(done, 2));
  });
  const agent = await clientOf(t, peer.url);
  assert.deepEqual(await all(agent.stream('x')), ['1 task working', '2 completed']);
});

test('a stream that breaks before its first event is not sent again', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    breakOff(response, ': hello\n\n');
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(all(agent.stream('x')), interrupted(undefined));
  assert.equal(peer.asked.length, 1);
});

test('with retrySend it is, and the message keeps its id', async (t) => {
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n < 2) breakOff(response, ': hello\n\n');
    else response.end(frame(message('hi')));
  });
  const agent = await clientOf(t, peer.url);
  assert.equal(await agent.stream('x', { retrySend: true }).text(), 'hi');
  const ids = peer.asked.map(({ body }) => body.params.message['messageId']);
  assert.equal(new Set(ids).size, 1);
  assert.equal(ids.length, 3);
});

test('a refusal is the agent’s own error, in whatever shape it comes', async (t) => {
  const refusals: ((asked: Asked, response: Parameters<typeof openStream>[0]) => void)[] = [
    (asked, response) => replyError(asked, response, -32004),
    (_, response) => sendJson(response, { error: { code: -32004, message: 'no' } }, 400),
    (_, response) => {
      openStream(response);
      response.end(`data: {"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}\n\n`);
    },
    (_, response) => {
      openStream(response);
      const data = '{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}';
      response.end(`event: error\ndata: ${data}\n\n`);
    },
  ];
  const peer = await startPeer(t, (asked, response, n) => refusals[n]!(asked, response));
  const agent = await clientOf(t, peer.url);
  for (const _ of refusals) {
    await assert.rejects(all(agent.stream('x')), {
      name: 'A2AError',
      kind: 'unsupportedOperation',
    });
  }
  assert.equal(peer.asked.length, refusals.length);
});

test('an error in the middle of a stream is thrown behind what came before', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.write(frame(task(), 1));
    response.end('data: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"sorry"}}\n\n');
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('x');
  await assert.rejects(all(stream), { kind: 'internal', message: 'sorry' });
  assert.equal(stream.task?.id, 't1');
  assert.equal(peer.asked.length, 1);
});

test('an agent that answers a stream with one JSON result is understood', async (t) => {
  const peer = await startPeer(t, (asked, response) => reply(asked, response, message('hi')));
  const agent = await clientOf(t, peer.url);
  assert.equal(await agent.stream('x').text(), 'hi');
});

test('an agent that cannot stream is asked without', async (t) => {
  const peer = await startPeer(t, (asked, response) =>
    reply(asked, response, task('completed', 'hi')),
  );
  const agent = await clientOf(t, peer.url);
  agent.card.capabilities.streaming = false;
  assert.equal(await agent.stream('x').text(), 'hi');
  assert.equal(peer.asked[0]?.body.method, 'message/send');
});

test('with polls, the task of an agent that cannot stream is fetched until it has ended', async (t) => {
  const peer = await startPeer(t, (asked, response, n) =>
    reply(asked, response, n < 3 ? task() : task('completed', 'hi')),
  );
  const agent = await clientOf(t, peer.url);
  agent.card.capabilities.streaming = false;
  assert.equal(await agent.stream('x', { polls: true }).text(), 'hi');
  assert.deepEqual(
    peer.asked.map(({ body }) => body.method),
    ['message/send', 'tasks/get', 'tasks/get', 'tasks/get'],
  );
});

test('with polls, the task of an agent that refuses a subscription is fetched until it has ended', async (t) => {
  let fetched = 0;
  const peer = await startPeer(t, (asked, response, n) => {
    if (n === 0) {
      openStream(response);
      breakOff(response, frame(task()));
    } else if (asked.body.method === 'tasks/resubscribe') replyError(asked, response, -32603);
    else reply(asked, response, ++fetched < 2 ? task() : task('completed', 'hi'));
  });
  const agent = await clientOf(t, peer.url);
  assert.equal(await agent.stream('x', { polls: true }).text(), 'hi');
});

test('with polls, an answer that may not have arrived is an error, so that it can be sent again', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    if (n === 0) response.destroy();
    else reply(asked, response, task('completed', 'old'));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('Oslo', { taskId: 't1', polls: true, retrySend: () => false });
  await assert.rejects(all(stream), { name: 'ConnectionError' });
  assert.deepEqual(
    peer.asked.map(({ body }) => body.method),
    ['message/stream'],
  );
});

test('a page instead of a stream is a bad answer', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hi</h1>');
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(all(agent.stream('x')), { kind: 'invalidAgentResponse' });
});

test('an event that is no JSON, or no event, is a bad answer', async (t) => {
  const bad = ['{"jsonrpc"', '[]', '{"jsonrpc":"2.0","id":1,"result":{"kind":"what"}}'].flatMap(
    (data) => [`data: ${data}\n\n`, `${frame(task())}data: ${data}\n\n`],
  );
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    response.write(bad[n]);
  });
  const agent = await clientOf(t, peer.url);
  for (const _ of bad) {
    await assert.rejects(all(agent.stream('x')), { kind: 'invalidAgentResponse' });
  }
  await Promise.all(peer.asked.map(({ gone }) => gone));
});

test('an event that is too large ends the stream, finished or not', async (t) => {
  const peer = await startPeer(t, (asked, response, n) => {
    openStream(response);
    response.write(frame(task(), 1));
    if (n === 0) response.write(frame(chunk('x'.repeat(200_000)), 2));
    else return flood(asked, response, 'x'.repeat(10_000));
    return undefined;
  });
  const agent = await clientOf(t, peer.url, { maxEventBytes: 100_000 });
  await assert.rejects(all(agent.stream('x')), /larger than 100000 bytes/);
  await assert.rejects(all(agent.stream('x')), /larger than 100000 bytes/);
  await Promise.all(peer.asked.map(({ gone }) => gone));
});

test('a REST stream of 1.0 is resumed like any other', async (t) => {
  const working = { ...task(), kind: undefined, status: { state: 'TASK_STATE_WORKING' } };
  const completed = { ...status('x'), status: { state: 'TASK_STATE_COMPLETED' } };
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    if (n === 0) breakOff(response, `id: 1\ndata: ${JSON.stringify({ task: working })}\n\n`);
    else response.end(`id: 2\ndata: ${JSON.stringify({ statusUpdate: completed })}\n\n`);
  });
  const agent = await clientOf(t, peer.url, { version: '1.0', binding: 'HTTP+JSON' });
  assert.deepEqual(await all(agent.stream('x')), ['1 task working', '2 completed']);
  assert.deepEqual(
    peer.asked.map(({ verb, path, headers }) => [verb, path, headers['last-event-id']]),
    [
      ['POST', '/message:stream', undefined],
      ['POST', '/tasks/t1:subscribe', '1'],
    ],
  );
});

test('an error event of a REST stream is the agent’s error', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    response.end('event: error\ndata: {"error":{"code":500,"message":"sorry"}}\n\n');
  });
  const agent = await clientOf(t, peer.url, { version: '1.0', binding: 'HTTP+JSON' });
  await assert.rejects(all(agent.stream('x')), { kind: 'internal', message: 'sorry' });
});

test('an event of another task is an error, and not the end or the continuation of the stream', async (t) => {
  const other = { taskId: 't2' };
  const events = [
    { ...status('completed', true), ...other },
    { ...chunk('b'), ...other },
    { ...task('completed'), id: 't2' },
    { ...message('hi'), ...other },
  ];
  const peer = await startPeer(t, (_, response, n) => {
    openStream(response);
    response.end(frame(task()) + frame(chunk('a')) + frame(events[n]) + frame(done));
  });
  const agent = await clientOf(t, peer.url);
  for (const event of events) {
    const stream = agent.stream('x', { polls: true });
    await assert.rejects(all(stream), {
      kind: 'invalidAgentResponse',
      message: 'The agent sent an event of another task',
    });
    assert.deepEqual([stream.task?.id, stream.task?.status.state], ['t1', 'working'], event.kind);
  }
  assert.equal(peer.asked.length, events.length);
});

test('a failure with another task id, as the server of the JavaScript SDK 0.3 sends it, is the failure of the task', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    openStream(response);
    const failure = { ...status('failed', true), taskId: 'random', contextId: undefined };
    response.end(frame(task('submitted')) + frame(chunk('a')) + frame(failure));
  });
  const agent = await clientOf(t, peer.url);
  const stream = agent.stream('x');
  await assert.rejects(stream.text(), { name: 'TaskFailedError', state: 'failed' });
  assert.equal(stream.task?.id, 't1');
  assert.deepEqual(await all(agent.stream('x')), ['task submitted', 'a', 'failed']);
});
