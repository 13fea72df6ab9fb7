// HTTP on the live port: whatever the wire, a message is a turn of the one session that everybody sees.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import type { LiveToken } from '../../src/live/index.ts';
import { newTask, post, say as flatSay } from '../coder/flat-support.ts';
import { makePlace, rpc, stream, userMessage } from '../coder/support.ts';
import { sdk03 } from '../interop/sdk-03-client.ts';
import { sdk1 } from '../interop/sdk-1-client.ts';
import { ASKS, json, queue, says, shared, v1 } from './http-support.ts';
import { RawClient } from './raw-client.ts';
import { openSession, serveSession } from './support.ts';

/** Each sends `text` by its wire, and returns what it got. */
const WIRES: Readonly<Record<string, (url: string, text: string) => Promise<string>>> = {
  'message/send of 0.3': async (url, text) =>
    JSON.stringify(await rpc(url, 'message/send', { message: userMessage(text) })),
  'message/stream of 0.3': async (url, text) =>
    JSON.stringify(await stream(url, userMessage(text))),
  'SendMessage of 1.0': async (url, text) =>
    (await json(url, { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: v1(text) })).text,
  'SendStreamingMessage of 1.0': async (url, text) =>
    (await json(url, { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: v1(text) }))
      .text,
  'POST /message:send': async (url, text) => (await json(`${url}/message:send`, v1(text))).text,
  'POST /message:stream': async (url, text) => (await json(`${url}/message:stream`, v1(text))).text,
  'POST /v1/message:send': async (url, text) => {
    const message = { messageId: `${Math.random()}`, role: 'ROLE_USER', content: [{ text }] };
    return (await json(`${url}/v1/message:send`, { message })).text;
  },
  'POST /message/stream': async (url, userMessage) =>
    JSON.stringify(await flatSay(url, { userMessage })),
};

for (const [wire, send] of Object.entries(WIRES)) {
  test(`${wire} is a turn of the session that everybody sees, in no task of its own`, async (t) => {
    const { url, live, ann, server } = await shared(t, { script: [says('Well.')] });
    const got = await send(url, 'hello');
    assert.match(got, /Well\./);
    assert.ok(got.includes(live.taskId), got);
    await ann.state('completed');
    assert.deepEqual(ann.said, ['http: hello', 'agent: Well.']);
    assert.equal((await server.handler.listTasks({})).tasks.length, 1);
  });

  test(`${wire} waits in the queue while a turn runs, and is shown there`, async (t) => {
    const { url, ann } = await shared(t, { script: [...ASKS, says('Well.')] });
    await ann.session.prompt('write');
    const { tool_call_id } = await ann.pending();
    const got = send(url, 'hello');
    assert.deepEqual(await queue(ann, 1), [{ text: 'hello', from: 'http' }]);
    await ann.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
    const told = await got;
    assert.match(told, /Well\./);
    assert.doesNotMatch(told, /Written\./);
    await ann.state('completed', 2);
    assert.deepEqual(ann.said.slice(-3), ['agent: Written.', 'http: hello', 'agent: Well.']);
  });
}

test('a prompt that waits is not lost with its connection', async (t) => {
  const { url, ann } = await shared(t, { script: [...ASKS, says('Well.')] });
  await ann.session.prompt('write');
  const { tool_call_id } = await ann.pending();
  const leaving = new AbortController();
  for (const method of ['message/send', 'message/stream']) {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { message: userMessage(method) },
    });
    const headers = { 'content-type': 'application/json' };
    fetch(url, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => undefined);
    await queue(ann, method === 'message/send' ? 1 : 2);
  }
  leaving.abort();
  await ann.session.confirm({ tool_call_id, selected_option_id: 'cancel' });
  await ann.until((item) =>
    item.kind === 'event' && JSON.stringify(item.event).includes('"message/stream"')
      ? true
      : undefined,
  );
  assert.ok(ann.said.includes('http: message/send'));
});

test('a client that disconnects while its prompt waits leaves the list of clients', async (t) => {
  const { url, ann } = await shared(t, { script: ASKS });
  await ann.session.prompt('write');
  await ann.pending();
  const leaving = new AbortController();
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: userMessage('then this') },
    }),
    signal: leaving.signal,
  }).catch(() => undefined);
  await queue(ann, 1);
  const from = ann.items.length;
  leaving.abort();
  await ann.until(
    (item) => (item.kind === 'presence' && item.clients.length === 1 ? true : undefined),
    from,
  );
});

test('a client whose queued prompt is dropped gets an error, on each wire', async (t) => {
  const { url, ann } = await shared(t, { script: ASKS });
  await ann.session.prompt('write');
  await ann.pending();
  const sent = Object.values(WIRES).map((send) =>
    send(url, 'hello').catch((error: Error) => error.message),
  );
  await queue(ann, sent.length);
  await ann.session.cancel();
  for (const told of await Promise.all(sent)) assert.match(told, /dropped from the queue/);
  assert.deepEqual(ann.said, ['Ann: write']);
});

test('the response to a message that does not block says that it is queued', async (t) => {
  const { url, ann, live } = await shared(t, { script: ASKS });
  await ann.session.prompt('write');
  await ann.pending();
  const message = userMessage('hello');
  const configuration = { blocking: false };
  const { result } = await rpc(url, 'message/send', { message, configuration });
  assert.deepEqual([result?.id, result?.metadata?.['parley.queued']], [live.taskId, true]);
  // The same again is the same, and something else under its id is refused.
  const again = await rpc(url, 'message/send', { message, configuration });
  assert.equal(again.result?.metadata?.['parley.queued'], true);
  assert.equal((await queue(ann, 1)).length, 1);
  const other = { ...message, parts: [{ kind: 'text', text: 'other' }] };
  assert.equal((await rpc(url, 'message/send', { message: other })).error?.code, -32602);
});

test('a message that comes again finds its turn, also while another one runs', async (t) => {
  const script = [says('Well.'), ...ASKS];
  const { url, ann } = await shared(t, { script });
  const message = userMessage('hello');
  const first = await rpc(url, 'message/send', { message });
  await ann.session.prompt('write');
  await ann.pending();
  const again = await rpc(url, 'message/send', { message });
  assert.deepEqual(again.result, first.result);
  assert.equal(again.result?.status.state, 'completed');
  assert.equal(again.result?.history?.length, 2);
  assert.match(JSON.stringify(await stream(url, message)), /Well\./);
  assert.deepEqual(ann.said, ['http: hello', 'agent: Well.', 'Ann: write']);
});

test('a task, context or tenant of another session is refused, and the error has the ids of this one', async (t) => {
  const { url, ann, live, server } = await shared(t, { script: [says('Never.')] });
  const old = await server.handler.reserveTask({});
  const places = [{ taskId: old.id }, { taskId: 'unknown' }, { contextId: 'elsewhere' }];
  for (const place of places) {
    const { error } = await rpc(url, 'message/send', { message: userMessage('hello', place) });
    assert.equal(error?.code, -32004);
    assert.ok(error.message.includes(live.taskId) && error.message.includes(live.contextId));
    assert.match(JSON.stringify(error.data), new RegExp(live.taskId));
    await assert.rejects(stream(url, userMessage('hello', place)), /live session/);
    const flat = await post(`${url}/message/stream`, { ...place, userMessage: 'hello' });
    assert.ok(flat.status >= 400, JSON.stringify(flat));
  }
  const tenant = await json(`${url}/somebody/message:send`, v1('hello'));
  assert.match(tenant.text, /live session/);
  const elsewhere = await post(`${url}/tasks`, { contextId: 'elsewhere' });
  assert.equal(elsewhere.status, 409);
  // What is left over from others can still be read.
  assert.equal((await rpc(url, 'tasks/get', { id: old.id })).result?.id, old.id);
  assert.deepEqual(ann.said, []);
});

test('a task that another program left unfinished in the store is read, and not resumed', async (t) => {
  const place = makePlace(t);
  const left = await openSession(t, { place, script: [[{ text: 'Begun.' }, { delayMs: 60_000 }]] });
  const configuration = { blocking: false };
  const begun = await left.server.handler.sendMessage({
    message: userMessage('go'),
    configuration,
  });
  assert.ok(begun.kind === 'task');
  for await (const { event } of await left.server.handler.subscribe({ id: begun.id })) {
    if (JSON.stringify(event).includes('Begun')) break;
  }
  await left.close();
  const { url } = await serveSession(t, { place, onlyLive: true, script: [says('Never.')] });
  const { result } = await rpc(url, 'tasks/get', { id: begun.id });
  assert.equal(result?.status.state, 'failed');
  const { error } = await rpc(url, 'message/send', {
    message: userMessage('go on', { taskId: begun.id }),
  });
  assert.equal(error?.code, -32004);
});

test("our client's stream of a queued prompt follows the prompt into the next task of the session", async (t) => {
  const { url, ann, live } = await shared(t, { script: [ASKS[0]!, says('Well.')] });
  const before = live.taskId;
  await ann.session.prompt('write');
  await ann.pending();
  const agent = await connect(url);
  t.after(() => agent.close());
  const stream = agent.stream('hello');
  const text = stream.text();
  await queue(ann, 1);
  await ann.session.cancel({ keepQueue: true });
  assert.equal(await text, 'Well.');
  assert.notEqual(live.taskId, before);
  assert.deepEqual([stream.task?.id, stream.task?.status.state], [live.taskId, 'completed']);
});

test('our client follows a command by its execution id, also if its task is not the current one any more', async (t) => {
  const { url, ann } = await shared(t, { script: [ASKS[0]!] });
  const command = { command_path: ['memory', 'list'], args: '' };
  const { execution_id } = JSON.parse((await json(`${url}/commands:execute`, command)).text);
  const agent = await connect(url);
  t.after(() => agent.close());
  const first = agent.resubscribe(execution_id);
  assert.match(await first.text(), /There are no memory files/);
  await ann.session.prompt('write');
  await ann.pending();
  await ann.session.cancel();
  await ann.state('canceled');
  const again = agent.resubscribe(execution_id);
  assert.match(await again.text(), /There are no memory files/);
  assert.equal(again.task?.id, first.task?.id);
  const rest = agent.resubscribe(execution_id, { after: (first.lastSeq ?? 0) - 1 });
  const last: unknown[] = [];
  for await (const { seq } of rest) last.push(seq);
  assert.deepEqual(last, [first.lastSeq]);
});

test('a message whose id is that of a task does not stand for the task', async (t) => {
  const { url, live } = await shared(t, { script: [says('One.'), says('Two.')] });
  await rpc(url, 'message/send', { message: userMessage('first') });
  const message = userMessage('second', { messageId: live.taskId });
  await rpc(url, 'message/send', { message });
  const { result } = await rpc(url, 'tasks/get', { id: live.taskId });
  assert.match(JSON.stringify(result), /first.*One\..*second.*Two\./);
  assert.equal((await rpc(url, 'tasks/get', { id: 'm-unknown' })).error?.code, -32001);
});

test('POST /tasks is the task of the session, with its settings', async (t) => {
  const { url, live, place } = await shared(t, { script: [says('Well.')], allowAutoExecute: true });
  assert.equal(await newTask(url), live.taskId);
  const workspacePath = place.workspace;
  assert.equal(await newTask(url, { agentSettings: { workspacePath } }), live.taskId);
  assert.equal(await newTask(url, { agentSettings: {} }), live.taskId);
  for (const agentSettings of [{ autoExecute: true }, { workspacePath: '/' }]) {
    assert.equal((await post(`${url}/tasks`, { agentSettings })).status, 400);
  }
  const told = await flatSay(url, { taskId: live.taskId, userMessage: 'hello' });
  assert.deepEqual([told.at(-1)?.state, told.at(-1)?.taskId], ['completed', live.taskId]);
});

test('an HTTP client is on the list of clients, under the name of its token', async (t) => {
  const tokens: LiveToken[] = [{ name: 'bot', roles: ['prompt'], token: 'secret' }];
  const { url, live, ann } = await shared(t, { script: ASKS, access: { tokens } });
  const headers = { authorization: 'Bearer secret' };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/resubscribe',
      params: { id: live.taskId },
    }),
  });
  const names = await ann.until((item) =>
    item.kind === 'presence' && item.clients.length === 2 ? item.clients : undefined,
  );
  assert.deepEqual(
    names.map(({ name, kind, roles }) => [name, kind, roles.join()]),
    [
      ['Ann', 'terminal', 'view,prompt,approve'],
      ['bot', 'a2a', 'view,prompt'],
    ],
  );
  await response.body?.cancel();
  const from = ann.items.length;
  await ann.until(
    (item) => (item.kind === 'presence' && item.clients.length === 1 ? true : undefined),
    from,
  );
});

test('a webhook is on the list of clients until it is deleted', async (t) => {
  const { url, live, ann } = await shared(t, { script: [says('Well.'), says('Well.')] });
  const pushNotificationConfig = { id: 'w', url: 'https://example.com/hook' };
  const shown = async (count: number) => {
    const from = ann.items.length;
    return ann.until((item) => {
      const hooks =
        item.kind === 'presence' ? item.clients.filter(({ id }) => id.startsWith('webhook')) : [];
      return item.kind === 'presence' && hooks.length === count ? hooks : undefined;
    }, from);
  };
  const set = shown(1);
  const { taskId } = live;
  await rpc(url, 'tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig });
  assert.deepEqual(
    (await set).map(({ name, roles }) => [name, roles.join()]),
    [['webhook example.com', 'view']],
  );
  const gone = shown(0);
  const config = { id: taskId, pushNotificationConfigId: 'w' };
  await rpc(url, 'tasks/pushNotificationConfig/delete', config);
  await gone;
  const again = shown(1);
  const configuration = { pushNotificationConfig };
  await rpc(url, 'message/send', { message: userMessage('hello'), configuration });
  await again;
});

for (const peer of [sdk03('JSONRPC'), sdk03('HTTP+JSON'), sdk1('JSONRPC'), sdk1('HTTP+JSON')]) {
  test(`${peer.name}: its messages and streams are turns of the session, also queued ones`, async (t) => {
    const script = [says('One.'), says('Two.'), ...ASKS, says('Three.')];
    const { url, ann, live } = await shared(t, { script });
    const client = await peer.connect(url, {});
    const one = await client.send({ text: 'first' });
    assert.deepEqual([one.kind, one.kind === 'task' && one.id], ['task', live.taskId]);
    const seen: string[] = [];
    for await (const event of client.stream({ text: 'second' })) {
      if ('state' in event) seen.push(event.state);
    }
    assert.match(seen.at(-1) ?? '', /completed/i);
    await ann.session.prompt('write');
    const { tool_call_id } = await ann.pending();
    const third = (async () => {
      const events: unknown[] = [];
      for await (const event of client.stream({ text: 'third' })) events.push(event);
      return events;
    })();
    await queue(ann, 1);
    await ann.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
    assert.match(JSON.stringify(await third), /Three\./);
    assert.deepEqual(
      ann.said.filter((line) => line.startsWith('http')),
      ['http: first', 'http: second', 'http: third'],
    );
  });
}

test('tasks of other sessions in the store can be read, but not canceled, and get no webhook', async (t) => {
  const { url, ws, server } = await shared(t);
  const { id } = await server.handler.reserveTask({ contextId: 'other' });
  assert.equal((await rpc(url, 'tasks/get', { id })).result?.id, id);
  assert.equal((await rpc(url, 'tasks/cancel', { id })).error?.code, -32002);
  assert.equal((await rpc(url, 'tasks/cancel', { id: 'none' })).error?.code, -32001);
  const client = new RawClient(t, ws, 'a2a');
  await client.snapshot();
  assert.equal((await client.ask('tasks/cancel', { id })).error.code, -32002);
  const pushNotificationConfig = { url: 'https://example.com/hook' };
  const set = 'tasks/pushNotificationConfig/set';
  assert.equal((await rpc(url, set, { taskId: id, pushNotificationConfig })).error?.code, -32004);
  assert.equal((await server.handler.getTask({ id })).status.state, 'submitted');
});
