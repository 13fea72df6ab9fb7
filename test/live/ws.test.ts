// `/ws` as its frames: what a client that is written from the documentation sees.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { AcpSocket } from '../../src/live/ws/route.ts';
import { writes } from '../coder/talk.ts';
import { RawClient } from './raw-client.ts';
import { serveSession } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];

test('a client gets a snapshot, then each event once, numbered without a gap', async (t) => {
  const { live, ws, place } = await serveSession(t, { script: [says('Hello.')] });
  const client = new RawClient(t, `${ws}?name=phone`);
  const { params } = await client.snapshot();
  assert.equal(client.frames[0]?.method, 'session/snapshot');
  const { task, seq, taskId, contextId, pending, approval, clients, self } = params;
  assert.deepEqual([taskId, contextId, seq], [live.taskId, live.contextId, 1]);
  assert.deepEqual([task.kind, task.id, task.status.state], ['task', taskId, 'submitted']);
  assert.deepEqual([pending, approval], [[], 'ask']);
  assert.deepEqual(clients, [
    { id: 'a2a-1', name: 'phone', kind: 'a2a', roles: ['view', 'prompt', 'approve'] },
  ]);
  assert.deepEqual([self, params.workspace], [clients[0], place.workspace]);

  const { result } = await client.say('hi');
  assert.deepEqual([result.kind, result.id], ['task', taskId]);
  const end = await client.state('completed');
  const events = client.frames.filter(({ method }) => method === 'tasks/event');
  assert.deepEqual(
    events.map(({ params: { seq: at } }) => at),
    Array.from({ length: end.params.seq - 1 }, (_, at) => at + 2),
  );
  const [first] = events;
  assert.ok(first);
  assert.deepEqual(Object.keys(first.params), ['taskId', 'seq', 'event']);
  const { event } = first.params;
  assert.equal(event.kind, 'status-update');
  assert.equal(event.status.message.role, 'user');
  assert.deepEqual(event.metadata[EXTENSION_URI].source, { client: 'a2a-1', name: 'phone' });
  assert.equal(event.metadata[EXTENSION_URI].kind, 'TEXT_CONTENT');
});

test('who asks at once gets the snapshot first all the same', async (t) => {
  const { ws } = await serveSession(t);
  for (const protocols of [[], ['a2a']]) {
    const client = new RawClient(t, ws, protocols);
    await client.opened;
    assert.ok((await client.ask('session/clients')).result);
    assert.equal(client.frames[0]?.method, 'session/snapshot');
  }
});

test('message/stream is the same: one response, and events for everybody', async (t) => {
  const { ws } = await serveSession(t, { script: [says('Hello.')] });
  const [one, other] = [new RawClient(t, ws), new RawClient(t, ws)];
  await Promise.all([one.snapshot(), other.snapshot()]);
  const { result } = await one.say('hi', 'message/stream');
  assert.equal(result.kind, 'task');
  const [mine, theirs] = await Promise.all([one.state('completed'), other.state('completed')]);
  assert.deepEqual(mine, theirs);
});

test('a confirmation is a method, or the part of a message; the late one is told who was first', async (t) => {
  const script = [writes('a.txt', 'A'), writes('b.txt', 'B'), says('Done.')];
  const { ws, place, live } = await serveSession(t, { script });
  const ann = new RawClient(t, `${ws}?name=Ann`);
  const bob = new RawClient(t, `${ws}?name=Bob`);
  await Promise.all([ann.snapshot(), bob.snapshot()]);
  await ann.say('write');
  const { tool_call_id, correlationId } = await bob.pending();
  const late = new RawClient(t, ws);
  const { params } = await late.snapshot();
  assert.equal(params.pending[0].tool_call_id, tool_call_id);
  assert.equal(params.pending[0].correlationId, correlationId);
  const wrong = await bob.ask('session/confirm', {
    tool_call_id,
    selected_option_id: 'proceed_once',
    correlationId: 'another',
  });
  assert.equal(wrong.error.code, -32602);
  const yes = { tool_call_id, selected_option_id: 'proceed_once', correlationId };
  assert.deepEqual((await bob.ask('session/confirm', yes)).result, { resolved: true });
  const { error } = await ann.ask('session/confirm', {
    tool_call_id,
    selected_option_id: 'cancel',
  });
  assert.deepEqual([error.code, error.message], [-32004, 'already resolved by Bob: proceed_once']);
  assert.deepEqual(error.data, {
    reason: 'ALREADY_RESOLVED',
    resolvedBy: 'Bob',
    selectedOptionId: 'proceed_once',
  });
  const second = await ann.frame(
    ({ params: told }) =>
      told?.event?.status?.message?.parts?.[0]?.data?.confirmation_request !== undefined &&
      told.event.status.message.parts[0].data.tool_call_id !== tool_call_id,
  );
  const data = {
    tool_call_id: second.params.event.status.message.parts[0].data.tool_call_id,
    selected_option_id: 'proceed_once',
  };
  const parts = [{ kind: 'data', data }];
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts, taskId: live.taskId };
  assert.equal((await ann.ask('message/stream', { message })).result.id, live.taskId);
  await bob.state('completed');
  for (const name of ['a.txt', 'b.txt']) assert.ok(existsSync(join(place.workspace, name)));
});

test('?after=SEQ goes on behind an event instead of a snapshot', async (t) => {
  const { ws } = await serveSession(t, { script: [says('Hello.')] });
  const client = new RawClient(t, ws);
  await client.snapshot();
  await client.say('hi');
  const end = await client.state('completed');
  const again = new RawClient(t, `${ws}?after=1`);
  assert.deepEqual(await again.state('completed'), end);
  const events = client.frames.filter(({ method }) => method === 'tasks/event');
  assert.deepEqual(again.frames, events);
});

test('a prompt waits while a turn runs, and its response says so', async (t) => {
  const { ws } = await serveSession(t, {
    script: [writes('a.txt', 'A'), says('One.'), says('Two.')],
  });
  const client = new RawClient(t, `${ws}?name=Ann&presence=1`);
  await client.snapshot();
  await client.say('first');
  const { tool_call_id } = await client.pending();
  const { result } = await client.say('second');
  assert.equal(result.metadata['parley.queued'], true);
  const shown = await client.frame(
    ({ method, params }) => method === 'session/presence' && params.queued.length > 0,
  );
  assert.deepEqual(shown.params.queued, [{ text: 'second', from: 'Ann' }]);
  await client.ask('session/confirm', { tool_call_id, selected_option_id: 'proceed_once' });
  await client.state('completed', 2);
});

test('a turn is canceled by its task; there is then a snapshot of the next', async (t) => {
  const { ws, live } = await serveSession(t, { script: [writes('a.txt', 'A')] });
  const client = new RawClient(t, ws);
  await client.snapshot();
  const { taskId: id } = live;
  const idle = await client.ask('tasks/cancel', { id });
  assert.equal(idle.error.code, -32002);
  await client.say('write');
  await client.pending();
  const canceled = await client.ask('tasks/cancel', { id });
  assert.equal(canceled.result.status.state, 'canceled');
  const { params } = await client.frame(
    (frame) => frame.method === 'session/snapshot' && frame.params.taskId !== id,
  );
  assert.equal(params.contextId, live.contextId);
  const old = {
    kind: 'message',
    messageId: 'x',
    role: 'user',
    parts: [{ kind: 'text', text: 'x' }],
  };
  const refused = await client.ask('message/send', { message: { ...old, taskId: id } });
  assert.deepEqual([refused.error.code, refused.error.data.taskId], [-32004, live.taskId]);
  assert.equal((await client.ask('tasks/get', { id })).result.status.state, 'canceled');
});

test('commands are listed and run, and everybody is listed', async (t) => {
  const { ws, live } = await serveSession(t);
  const client = new RawClient(t, `${ws}?name=Ann`);
  await client.snapshot();
  const { result } = await client.ask('commands/get');
  assert.ok(result.commands.some(({ name }: { name: string }) => name === 'help'));
  const run = await client.ask('command/execute', { command_path: ['help'], args: '' });
  assert.equal(run.result.status, 'STARTED');
  assert.notEqual(run.result.execution_id, live.taskId);
  await client.state('completed');
  const clients = await client.ask('session/clients');
  assert.deepEqual([clients.result.clients.length, clients.result.self.name], [1, 'Ann']);
});

test('what is no request gets the error that it is, and the connection stays', async (t) => {
  const { ws } = await serveSession(t);
  const client = new RawClient(t, ws);
  await client.snapshot();
  const cases: [string, number, number | null][] = [
    ['{', -32700, null],
    ['[]', -32600, null],
    ['"hi"', -32600, null],
    ['{"id":7,"method":"tasks/get"}', -32600, 7],
    ['{"jsonrpc":"2.0","id":8}', -32600, 8],
    ['{"jsonrpc":"2.0","id":{},"method":"tasks/get"}', -32600, null],
    ['{"jsonrpc":"2.0","id":9,"method":"nothing"}', -32601, 9],
    ['{"jsonrpc":"2.0","id":10,"method":"tasks/get"}', -32602, 10],
    ['{"jsonrpc":"2.0","id":11,"method":"session/confirm","params":{}}', -32602, 11],
    [
      `{"jsonrpc":"2.0","id":12,"method":"x","params":${'['.repeat(200)}${']'.repeat(200)}}`,
      -32600,
      null,
    ],
  ];
  for (const [frame, code, id] of cases) {
    const at = client.frames.length;
    client.socket.send(frame);
    const answer = await client.frame(({ error }) => error !== undefined, at);
    assert.deepEqual([answer.error.code, answer.id], [code, id], frame.slice(0, 80));
  }
  assert.ok((await client.ask('session/clients')).result);
});

test('a client that says nothing is one of A2A, after a moment', async (t) => {
  const { ws } = await serveSession(t, { access: { acp: () => ({ message() {} }) } });
  const silent = new RawClient(t, ws);
  const named = new RawClient(t, ws, 'a2a');
  await Promise.all([silent.snapshot(), named.snapshot()]);
  assert.deepEqual([silent.socket.protocol, named.socket.protocol], ['', 'a2a']);
});

test('ACP is chosen by subprotocol, by its first frame and by its path, and joins as such', async (t) => {
  const heard: string[] = [];
  const acp: AcpSocket = (socket, enter) => ({
    message(text: string) {
      heard.push(`${enter('zed').self.kind} ${text}`);
      socket.send('{"jsonrpc":"2.0","method":"ok"}');
    },
  });
  const { ws } = await serveSession(t, { access: { acp } });
  const first = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}';
  const connections: [string, string[]][] = [
    [ws, ['acp']],
    [ws, []],
    [ws.replace('/ws', '/acp'), []],
  ];
  for (const [url, protocols] of connections) {
    const client = new RawClient(t, url, protocols);
    await client.opened;
    client.socket.send(first);
    await client.frame(({ method }) => method === 'ok');
  }
  assert.deepEqual(
    heard,
    Array.from({ length: 3 }, () => `acp ${first}`),
  );
  const other = new RawClient(t, ws);
  await other.opened;
  assert.ok((await other.ask('session/clients')).result, 'another first frame is A2A');
});

test('an ordinary A2A client over HTTP is in the same session', async (t) => {
  const { ws, url, live } = await serveSession(t, { script: [says('Hello.'), says('Again.')] });
  const client = new RawClient(t, ws);
  await client.snapshot();
  const headers = { 'content-type': 'application/json', 'x-a2a-extensions': EXTENSION_URI };
  const rpc = (method: string, params: object) =>
    fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const watching = await rpc('tasks/resubscribe', { id: live.taskId });
  const reader = watching.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  const until = async (text: string) => {
    while (!seen.includes(text)) seen += (await reader.read()).value ?? assert.fail('it ended');
  };
  await until('submitted');
  const parts = [{ kind: 'text', text: 'from http' }];
  const message = { kind: 'message', messageId: 'h1', role: 'user', parts, taskId: live.taskId };
  await rpc('message/send', { message });
  await client.state('completed');
  await client.say('from ws');
  await client.state('completed', 2);
  await until('Again.');
  assert.ok(seen.includes('from http') && seen.includes('from ws'));
  await reader.cancel();
});

test('one that knows nothing of the extension has turns in the session too', async (t) => {
  const { url, live } = await serveSession(t, { script: [says('Hello.'), says('Again.')] });
  const send = async (text: string) => {
    const parts = [{ kind: 'text', text }];
    const message = { kind: 'message', messageId: text, role: 'user', parts, taskId: live.taskId };
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
    });
    return response.text();
  };
  assert.match(await send('one'), /Hello\./);
  assert.match(await send('two'), /Again\./);
});

test('a server that closes says that it goes away', async (t) => {
  const { ws, live } = await serveSession(t);
  const client = new RawClient(t, ws);
  await client.snapshot();
  await live.close();
  assert.equal((await client.closed).code, 1001);
});
