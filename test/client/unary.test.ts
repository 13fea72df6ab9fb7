import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { answerText, ConnectionError, connect, TaskFailedError } from '../../src/client/index.ts';
import { A2AError, v1 } from '../../src/protocol/index.ts';
import {
  cardOf,
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
} from './peer.ts';

test('the ten-line example works: connect, send, text', async (t) => {
  const peer = await startPeer(t, (asked, response) => {
    if (asked.verb === 'GET') sendJson(response, v1.encodeCard(cardOf('/rpc', '1.0')));
    else reply(asked, response, { message: { ...message('hi'), role: 'ROLE_AGENT' } });
  });
  const agent = await connect(peer.url);
  assert.equal(await agent.send('hello there').text(), 'hi');
  assert.deepEqual(agent.endpoint, {
    url: `${peer.url}/rpc`,
    version: '1.0',
    binding: 'JSONRPC',
    tenant: undefined,
  });
});

test('each version has its own names and headers', async (t) => {
  const peer = await startPeer(t, (asked, response) => {
    if (asked.body.method === 'message/send') reply(asked, response, task('completed'));
    else reply(asked, response, { task: { ...task(), status: { state: 'TASK_STATE_COMPLETED' } } });
  });
  const extensions = ['https://x.test/a'];
  for (const version of ['0.3', '1.0'] as const) {
    const agent = await clientOf(t, peer.url, { version, extensions });
    const result = await agent.send('hello', { extensions: ['https://x.test/b'] });
    assert.equal(result.kind === 'task' && result.status.state, 'completed');
  }
  const [old, current] = peer.asked;
  assert.equal(old?.body.method, 'message/send');
  assert.equal(old?.headers['a2a-version'], '0.3');
  assert.equal(old?.headers['x-a2a-extensions'], 'https://x.test/a, https://x.test/b');
  assert.equal(old?.headers['content-type'], 'application/json');
  assert.equal(current?.body.method, 'SendMessage');
  assert.equal(current?.headers['a2a-version'], '1.0');
  assert.equal(current?.headers['a2a-extensions'], 'https://x.test/a, https://x.test/b');
});

test('a text, parts and a whole message become a message', async (t) => {
  const peer = await startPeer(t, (asked, response) => reply(asked, response, message('ok')));
  const agent = await clientOf(t, peer.url);
  const part = { kind: 'text', text: 'hello' } as const;
  await agent.send('hello', { taskId: 't', contextId: 'c', metadata: { a: 1 } });
  await agent.send([part], { configuration: { blocking: false, historyLength: 2 } });
  await agent.send({ messageId: 'mine', parts: [part], metadata: { b: 2 } });
  const sent = peer.asked.map(({ body }) => body.params);
  assert.deepEqual(sent[0]?.message['parts'], [part]);
  assert.equal(sent[0]?.message['role'], 'user');
  assert.equal(sent[0]?.message['taskId'], 't');
  assert.equal(sent[0]?.message['contextId'], 'c');
  assert.deepEqual(sent[0]?.message['metadata'], { a: 1 });
  assert.match(String(sent[0]?.message['messageId']), /^[0-9a-f-]{36}$/);
  assert.deepEqual(sent[0]?.configuration, { blocking: true });
  assert.deepEqual(sent[1]?.message['parts'], [part]);
  assert.deepEqual(sent[1]?.configuration, { blocking: false, historyLength: 2 });
  assert.equal(sent[2]?.message['messageId'], 'mine');
  assert.deepEqual(sent[2]?.message['metadata'], { b: 2 });
});

test('REST 1.0 puts ids into the path, the rest into the query or the body', async (t) => {
  const done = { id: 't/1', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
  const push = { taskId: 't/1', id: 'p1', url: 'https://hook.test' };
  const peer = await startPeer(t, ({ verb, path }, response) => {
    if (verb === 'DELETE') response.writeHead(204).end();
    else if (path.includes('pushNotificationConfigs')) {
      const one = verb === 'POST' || path.includes('/p1');
      sendJson(response, one ? push : { configs: [push] }, verb === 'POST' ? 201 : 200);
    } else if (path.includes('message:send')) sendJson(response, { task: done });
    else if (/tasks\?/.test(path)) sendJson(response, { tasks: [done], nextPageToken: '' });
    else sendJson(response, done);
  });
  const agent = await clientOf(t, `${peer.url}/base/`, { version: '1.0', binding: 'HTTP+JSON' });
  await agent.send('hello');
  await agent.get('t/1', { historyLength: 3 });
  await agent.list({ contextId: 'c d', status: 'input-required', includeArtifacts: true });
  await agent.cancel('t/1');
  const set = await agent.setPushConfig('t/1', { id: 'p1', url: 'https://hook.test' });
  assert.equal(set.pushNotificationConfig.id, 'p1');
  await agent.getPushConfig('t/1', 'p1');
  const first = await agent.getPushConfig('t/1');
  assert.equal(first.pushNotificationConfig.url, 'https://hook.test');
  await agent.deletePushConfig('t/1', 'p1');
  const pushes = '/base/tasks/t%2F1/pushNotificationConfigs';
  assert.deepEqual(
    peer.asked.map(({ verb, path }) => `${verb} ${path}`),
    [
      'POST /base/message:send',
      'GET /base/tasks/t%2F1?historyLength=3',
      'GET /base/tasks?contextId=c+d&status=TASK_STATE_INPUT_REQUIRED&includeArtifacts=true',
      'POST /base/tasks/t%2F1:cancel',
      `POST ${pushes}`,
      `GET ${pushes}/p1`,
      `GET ${pushes}`,
      `DELETE ${pushes}/p1`,
    ],
  );
  assert.equal(peer.asked[0]?.headers['content-type'], 'application/a2a+json');
  assert.equal(peer.asked[1]?.headers['content-type'], undefined);
});

test('an id that a URL would take for a path is refused before anything is sent', async (t) => {
  const peer = await startPeer(t, (_, response) => sendJson(response, {}));
  const agent = await clientOf(t, peer.url, { version: '1.0', binding: 'HTTP+JSON' });
  await assert.rejects(agent.get('..'), { kind: 'invalidParams' });
  assert.equal(peer.asked.length, 0);
});

test('a tenant is a field in JSON-RPC and a path in REST', async (t) => {
  const done = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
  const peer = await startPeer(t, (asked, response) =>
    asked.verb === 'GET' ? sendJson(response, done) : reply(asked, response, done),
  );
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    const card = cardOf(peer.url, '1.0', binding);
    card.supportedInterfaces[0]!.tenant = 'a b';
    const agent = await connect(peer.url, { card });
    await agent.get('t');
  }
  assert.equal(peer.asked[0]?.body.params.tenant, 'a b');
  assert.equal(peer.asked[1]?.path, '/a%20b/tasks/t');
});

test("the caller's tenant takes precedence over the tenant of the card, over JSON-RPC and REST", async (t) => {
  const done = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } };
  const peer = await startPeer(t, (asked, response) =>
    asked.path === '/' ? reply(asked, response, done) : sendJson(response, done),
  );
  for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
    const card = cardOf(peer.url, '1.0', binding);
    card.supportedInterfaces[0]!.tenant = 'own';
    const { service } = await connect(peer.url, { card });
    for (const tenant of ['their s', '', undefined]) await service.getTask({ id: 't', tenant });
    await service.cancelTask({ id: 't', tenant: 'other' });
    if (binding === 'JSONRPC') continue;
    await assert.rejects(service.getTask({ id: 't', tenant: '..' }), { kind: 'invalidParams' });
  }
  assert.deepEqual(
    peer.asked.map(({ path, body }) => (path === '/' ? body.params.tenant : path)),
    [
      'their s',
      '',
      'own',
      'other',
      '/their%20s/tasks/t',
      '/tasks/t',
      '/own/tasks/t',
      '/other/tasks/t:cancel',
    ],
  );
});

test('a tenant is refused over REST of 0.3, which has no tenants, and nothing is sent', async (t) => {
  const peer = await startPeer(t, (_, response) => sendJson(response, task('completed')));
  const { service } = await clientOf(t, peer.url, { version: '0.3', binding: 'HTTP+JSON' });
  const refused = { kind: 'invalidParams', message: /tenant: A2A 0\.3 has no tenants/ };
  await assert.rejects(service.getTask({ id: 't1', tenant: 'acme' }), refused);
  await assert.rejects(service.subscribe({ id: 't1', tenant: 'acme' }), refused);
  assert.deepEqual(peer.asked, []);
  assert.equal((await service.getTask({ id: 't1', tenant: '' })).id, 't1');
});

test('what an agent refuses is an A2AError with its kind and code', async (t) => {
  const peer = await startPeer(t, (asked, response) => replyError(asked, response, -32001));
  const agent = await clientOf(t, peer.url);
  await assert.rejects(agent.get('t'), (error: unknown) => {
    assert.ok(error instanceof A2AError);
    assert.deepEqual([error.kind, error.code], ['taskNotFound', -32001]);
    return true;
  });
});

test('a REST error is known by its reason', async (t) => {
  const detail = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'TASK_NOT_CANCELABLE',
    domain: 'a2a-protocol.org',
  };
  const peer = await startPeer(t, (_, response) => {
    const error = { code: 400, status: 'FAILED_PRECONDITION', message: 'no', details: [detail] };
    sendJson(response, { error }, 400);
  });
  const agent = await clientOf(t, peer.url, { version: '1.0', binding: 'HTTP+JSON' });
  await assert.rejects(agent.cancel('t'), { kind: 'taskNotCancelable', message: 'no' });
});

test('the wait that an agent asks for is in the error', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    response.writeHead(429, { 'retry-after': '7' }).end('slow down');
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(agent.get('t'), (error: unknown) => {
    assert.ok(error instanceof A2AError);
    assert.equal(error.kind, 'rateLimited');
    assert.equal(error.detail.retryAfterSeconds, 7);
    return true;
  });
});

test('headers may be made for each request', async (t) => {
  const peer = await startPeer(t, (asked, response) => reply(asked, response, task()));
  let count = 0;
  const headers = async () => ({ Authorization: `Bearer ${++count}`, 'X-A': 'all' });
  const agent = await clientOf(t, peer.url, { headers });
  await agent.get('t');
  await agent.get('t', { headers: { 'X-A': 'this' } });
  assert.deepEqual(
    peer.asked.map(({ headers }) => [headers.authorization, headers['x-a']]),
    [
      ['Bearer 1', 'all'],
      ['Bearer 2', 'this'],
    ],
  );
});

test('all tasks are read page by page', async (t) => {
  const peer = await startPeer(t, (asked, response, n) =>
    reply(asked, response, {
      tasks: [{ ...task(), id: `t${n}` }],
      nextPageToken: n < 2 ? `page ${n + 1}` : '',
    }),
  );
  const agent = await clientOf(t, peer.url);
  const ids = (await collect(agent.listAll())).map(({ id }) => id);
  assert.deepEqual(ids, ['t0', 't1', 't2']);
  assert.equal(peer.asked[2]?.body.params.pageToken, 'page 2');
});

test('a failure that only text() is asked for is no unhandled rejection', async (t) => {
  const peer = await startPeer(t, (asked, response) => replyError(asked, response, -32603));
  const agent = await clientOf(t, peer.url);
  let unhandled = 0;
  const count = () => unhandled++;
  process.on('unhandledRejection', count);
  t.after(() => process.off('unhandledRejection', count));
  await assert.rejects(agent.send('hello').text(), { kind: 'internal' });
  await setImmediate();
  assert.equal(unhandled, 0);
});

test('nobody there, too slow and aborted are told apart', async (t) => {
  const peer = await startPeer(t, () => undefined);
  const closed = await startPeer(t, (_, response) => response.socket?.destroy());

  const lost = await clientOf(t, closed.url);
  await assert.rejects(lost.get('t'), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.reason, 'unreachable');
    assert.ok(error.cause instanceof Error);
    return true;
  });

  const slow = await clientOf(t, peer.url, { timeoutMs: 20 });
  await assert.rejects(slow.get('t'), { name: 'ConnectionError', reason: 'timeout' });

  const agent = await clientOf(t, peer.url);
  const controller = new AbortController();
  const answer = agent.get('t', { signal: controller.signal });
  controller.abort();
  await assert.rejects(answer, { name: 'AbortError' });
});

test('closing the client ends what is under way and refuses the rest', async (t) => {
  const peer = await startPeer(t, () => undefined);
  const agent = await clientOf(t, peer.url);
  const answer = agent.get('t');
  agent.close();
  await assert.rejects(answer, { reason: 'closed' });
  await assert.rejects(agent.get('t'), { reason: 'closed' });
});

test('credentials do not follow a redirect to another origin', async (t) => {
  const thief = await startPeer(t, (asked, response) => reply(asked, response, task()));
  const peer = await startPeer(t, (_, response) => {
    response.writeHead(307, { location: thief.url }).end();
  });
  const agent = await clientOf(t, peer.url, { headers: { Authorization: 'Bearer x' } });
  await assert.rejects(agent.get('t'), (error: unknown) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.reason, 'redirect');
    assert.ok(error.message.includes(thief.url));
    return true;
  });
  assert.equal(thief.asked.length, 0);
});

test('a redirect inside the origin is followed, but not for ever', async (t) => {
  const peer = await startPeer(t, (asked, response) => {
    if (asked.path === '/there') reply(asked, response, task());
    else response.writeHead(307, { location: asked.path === '/loop' ? '/loop' : '/there' }).end();
  });
  const agent = await clientOf(t, peer.url);
  assert.equal((await agent.get('t1')).id, 't1');
  const looping = await clientOf(t, `${peer.url}/loop`);
  await assert.rejects(looping.get('t1'), { reason: 'redirect' });
});

test('a bad answer is told apart from a bad connection', async (t) => {
  const pages: Record<string, [status: number, type: string, body: string]> = {
    '/html': [200, 'text/html', '<h1>Welcome</h1>'],
    '/garbage': [200, 'application/json', '{"jsonrpc": "2.0", "resul'],
    '/array': [200, 'application/json', '[]'],
    '/other': [200, 'application/json', '{"jsonrpc":"2.0","id":1,"result":{"kind":"task"}}'],
    '/deep': [200, 'application/json', '['.repeat(1000) + ']'.repeat(1000)],
    '/large': [200, 'application/json', `"${'x'.repeat(5000)}"`],
  };
  const peer = await startPeer(t, ({ path }, response) => {
    const [status, type, body] = pages[path]!;
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  for (const path of Object.keys(pages)) {
    const agent = await clientOf(t, peer.url + path, { maxResponseBytes: 4000 });
    await assert.rejects(agent.get('t'), { name: 'A2AError', kind: 'invalidAgentResponse' }, path);
  }
});

test('a proxy’s error page is known by its status, and its text is not shown', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>secret hosts</h1>');
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(agent.get('t'), {
    kind: 'unavailable',
    message: 'The agent answered HTTP 502 Bad Gateway',
  });
});

test('an endless answer is cut off', async (t) => {
  const peer = await startPeer(t, (asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    return flood(asked, response, '['.repeat(1000));
  });
  const agent = await clientOf(t, peer.url, { maxResponseBytes: 100_000 });
  await assert.rejects(agent.get('t'), /larger than/);
  await peer.asked[0]!.gone;
});

test('an answer that breaks off is a broken connection', async (t) => {
  const peer = await startPeer(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"jsonrpc":', () => response.socket?.destroy());
  });
  const agent = await clientOf(t, peer.url);
  await assert.rejects(agent.get('t'), { name: 'ConnectionError', reason: 'broken' });
});

for (const state of ['failed', 'rejected', 'canceled'] as const) {
  test(`the text of a task that is ${state} is an error with the task`, async (t) => {
    const said = { ...message('no money\nleft'), taskId: 't1', contextId: 'c1' };
    const ended = { ...task(state, 'half an'), status: { state, message: said } };
    const peer = await startPeer(t, (asked, response) => {
      if (asked.body.method === 'message/send') return reply(asked, response, ended);
      openStream(response);
      const end = { ...status(state, true), status: ended.status };
      return response.end(frame(task()) + frame(chunk('half an')) + frame(end));
    });
    const agent = await clientOf(t, peer.url);
    const failure = (error: unknown): boolean => {
      assert.ok(error instanceof TaskFailedError);
      assert.equal(error.state, state);
      assert.equal(answerText(error.task), 'half an');
      const end = state === 'failed' ? 'failed' : `was ${state}`;
      assert.equal(error.message, `the task ${end}: no money left`);
      return true;
    };
    await assert.rejects(agent.send('x').text(), failure);
    await assert.rejects(agent.stream('x').text(), failure);
    const chunks: string[] = [];
    const read = async (): Promise<void> => {
      for await (const text of agent.stream('x').textChunks()) chunks.push(text);
    };
    await assert.rejects(read(), failure);
    assert.deepEqual(chunks, ['half an']);
    // The result itself is the task, as the protocol has it.
    const result = await agent.send('x');
    assert.equal(result.kind === 'task' && result.status.state, state);
  });
}
