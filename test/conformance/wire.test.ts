/** What the public kits check of envelopes, headers, errors, names and the card. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { idOf, type Json, OLD_REST, start, taskOf, WIRES } from './support.ts';

async function post(url: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const type = response.headers.get('content-type');
  return { status: response.status, type, json: (await response.json()) as Json };
}

function codeOf({ json }: { json: Json }): unknown {
  return (json['error'] as Json)['code'];
}

const V1 = { 'a2a-version': '1.0' };

function rpc(method: string, params: unknown, extra: Json = {}): Json {
  return { jsonrpc: '2.0', id: 1, method, params, ...extra };
}

for (const wire of WIRES) {
  test(`answers are JSON, and streams are events (${wire.name})`, async (t) => {
    const url = await start(t);
    assert.equal((await wire.send(url, idOf('tck-complete-task'))).type, 'application/json');
    const stream = await wire.stream(url, idOf('tck-stream-001'));
    assert.equal(stream.status, 200);
    let events = 0;
    for await (const _ of stream.events) events++;
    assert.equal(events, 4);
  });

  test(`an unknown task is not found, in the words of ${wire.name}`, async (t) => {
    const url = await start(t);
    for (const answer of [await wire.get(url, 'nobody'), await wire.cancel(url, 'nobody')]) {
      assert.equal(answer.type, 'application/json');
      assert.equal(answer.status, wire.rpc ? 200 : 404);
      if (wire === OLD_REST) {
        assert.equal(answer.body['code'], -32001);
        continue;
      }
      const error = answer.body['error'] as Json;
      assert.equal(error['code'], wire.rpc ? -32001 : 404);
      assert.match(String(error['message']), /not found/i);
      if (wire.version === '0.3') continue;
      assert.equal(error['status'], wire.rpc ? undefined : 'NOT_FOUND');
      const [detail] = error[wire.rpc ? 'data' : 'details'] as Json[];
      assert.partialDeepStrictEqual(detail, {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
      });
    }
  });

  test(`a message without parts, or to a finished task, is refused (${wire.name})`, async (t) => {
    const url = await start(t);
    const empty = await wire.send(url, idOf('tck-complete-task'), { parts: [] });
    assert.equal(empty.result, undefined);
    const done = taskOf(await wire.send(url, idOf('tck-complete-task')));
    const late = await wire.send(url, idOf('tck-late'), { taskId: String(done['id']) });
    assert.equal(late.result, undefined);
    const codes = [empty, late].map(({ body }) => (body['error'] as Json | undefined)?.['code']);
    if (wire.rpc) assert.deepEqual(codes, [-32602, -32004]);
    else assert.deepEqual([empty.status, late.status], [400, 400]);
  });
}

test('who speaks application/a2a+json is answered in it, and only in 1.0', async (t) => {
  const url = await start(t);
  const a2a = { 'content-type': 'application/a2a+json' };
  const message = {
    messageId: idOf('tck-complete-task'),
    role: 'ROLE_USER',
    parts: [{ text: 'x' }],
  };
  const current = await post(`${url}/message:send`, { message }, { ...a2a, ...V1 });
  assert.deepEqual([current.status, current.type], [200, 'application/a2a+json']);
  const missing = await fetch(`${url}/tasks/nobody`, {
    headers: { accept: 'application/a2a+json', ...V1 },
  });
  assert.equal(missing.headers.get('content-type'), 'application/a2a+json');
  const { parts: content, ...rest } = message;
  const old = await post(`${url}/v1/message:send`, { message: { ...rest, content } });
  assert.deepEqual([old.status, old.type], [200, 'application/json']);
});

test('what is not JSON by its type is refused, in JSON', async (t) => {
  const url = await start(t);
  for (const path of ['/', '/message:send', '/v1/message:send']) {
    const refused = await post(url + path, '{}', { 'content-type': 'text/plain' });
    assert.deepEqual([refused.status, refused.type], [415, 'application/json'], path);
  }
});

test('a request without an id is answered with a null for it', async (t) => {
  const url = await start(t);
  for (const [body, code] of [
    [{ jsonrpc: 'aaa', method: 'message/send', params: {} }, -32600],
    [{ jsonrpc: '2.0', params: {} }, -32600],
    [{ jsonrpc: '2.0', method: 'message/ssend', params: {} }, -32601],
    [{ jsonrpc: '2.0', method: 'message/send', params: { '': 'not_a_dict' } }, -32602],
  ] as const) {
    const answer = await post(url, body);
    assert.deepEqual([answer.status, answer.json['id'], codeOf(answer)], [200, null, code]);
  }
});

test("1.0 takes the .proto file's names for everything", async (t) => {
  const url = await start(t);
  const message = {
    message_id: idOf('tck-input-required'),
    role: 'ROLE_USER',
    parts: [{ text: 'x', media_type: 'text/plain', metadata: { task_id: 'mine' } }],
    metadata: { message_id: 'mine' },
  };
  const configuration = { history_length: 1, accepted_output_modes: ['text/plain'] };
  const sent = await post(url, rpc('SendMessage', { message, configuration }), V1);
  const { task } = sent.json['result'] as {
    task: { id: string; contextId: string; history: Json[] };
  };
  assert.equal(task.history.length, 1);
  assert.partialDeepStrictEqual(task.history[0], {
    messageId: message.message_id,
    metadata: { message_id: 'mine' },
    parts: [{ text: 'x', mediaType: 'text/plain', metadata: { task_id: 'mine' } }],
  });

  const none = await post(url, rpc('GetTask', { id: task.id, history_length: 0 }), V1);
  assert.ok(!('history' in (none.json['result'] as Json)));
  const overRest = await fetch(`${url}/tasks/${task.id}?history_length=0`, { headers: V1 });
  assert.ok(!('history' in ((await overRest.json()) as Json)));
  const query = { context_id: task.contextId, page_size: 1, include_artifacts: true };
  const listed = (await post(url, rpc('ListTasks', query), V1)).json['result'] as Json;
  assert.equal(listed['pageSize'], 1);
  assert.deepEqual(
    (listed['tasks'] as Json[]).map(({ id }) => id),
    [task.id],
  );

  const authentication = { scheme: 'Bearer', credentials: 'c' };
  const push = { task_id: task.id, id: 'p', url: 'http://127.0.0.1:9/x', authentication };
  const config = (await post(url, rpc('CreateTaskPushNotificationConfig', push), V1)).json[
    'result'
  ];
  assert.partialDeepStrictEqual(config, { taskId: task.id, id: 'p', url: push.url });
  const named = { task_id: task.id, id: 'p' };
  for (const method of ['GetTaskPushNotificationConfig', 'DeleteTaskPushNotificationConfig']) {
    const answer = await post(url, rpc(method, named), V1);
    assert.equal(answer.json['error'], undefined, method);
  }
});

test("a webhook is set, listed and deleted over 0.3's REST as its kit does it", async (t) => {
  const url = await start(t);
  const id = String(taskOf(await OLD_REST.send(url, idOf('test-push-config')))['id']);
  const name = `tasks/${id}/pushNotificationConfigs/default`;
  const target = 'https://example.com/webhook';
  const push = { id: 'default', url: target, token: '', authentication: {} };
  const body = {
    parent: `tasks/${id}`,
    config_id: 'default',
    config: { name, push_notification_config: push },
  };
  const wanted = { name, pushNotificationConfig: { id: 'default', url: target } };
  const configs = `${url}/v1/tasks/${id}/pushNotificationConfigs`;
  assert.deepEqual((await post(configs, body)).json, wanted);
  assert.deepEqual(await (await fetch(`${configs}/default`)).json(), wanted);
  assert.deepEqual(await (await fetch(configs)).json(), { configs: [wanted] });
  const deleted = await fetch(`${configs}/default`, { method: 'DELETE' });
  assert.equal(deleted.status, 200);
  assert.deepEqual(await (await fetch(configs)).json(), { configs: [] });
  const nobody = await post(`${url}/v1/tasks/nobody/pushNotificationConfigs`, body);
  assert.deepEqual([nobody.status, nobody.json['code']], [404, -32001]);
});

test('a webhook of 0.3 gets the bare task, with token and credentials', async (t) => {
  const url = await start(t);
  let deliver: (value: { headers: Json; body: Json }) => void;
  const delivered = new Promise<{ headers: Json; body: Json }>((resolve) => (deliver = resolve));
  const hook = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      response.end();
      deliver({ headers: request.headers, body: JSON.parse(text) as Json });
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  t.after(() => hook.close());
  const { port } = hook.address() as AddressInfo;
  const id = String(taskOf(await OLD_REST.send(url, idOf('test-push-delivery')))['id']);
  await post(`${url}/v1/tasks/${id}/pushNotificationConfigs`, {
    config: {
      push_notification_config: {
        url: `http://127.0.0.1:${port}/webhook`,
        token: 'my-token',
        authentication: { schemes: ['Bearer'], credentials: 'my-credentials' },
      },
    },
  });
  await OLD_REST.send(url, idOf('test-push-trigger'), { taskId: id });
  const { headers, body } = await delivered;
  assert.equal(headers['x-a2a-notification-token'], 'my-token');
  assert.equal(headers['authorization'], 'Bearer my-credentials');
  assert.partialDeepStrictEqual(body, { kind: 'task', id });
});

const CARD_V1 =
  `name description supportedInterfaces provider version documentationUrl capabilities securitySchemes
  securityRequirements defaultInputModes defaultOutputModes skills signatures iconUrl`.split(/\s+/);
const CAPABILITIES_V1 = new Set([
  'streaming',
  'pushNotifications',
  'extensions',
  'extendedAgentCard',
]);
const REQUIRED_V03 =
  `protocolVersion name description url preferredTransport additionalInterfaces version capabilities
  defaultInputModes defaultOutputModes skills`.split(/\s+/);

async function cardOf(url: string, headers: Record<string, string> = {}): Promise<Json> {
  const response = await fetch(`${url}/.well-known/agent-card.json`, { headers });
  assert.equal(response.status, 200);
  assert.ok(response.headers.get('etag') && response.headers.get('cache-control'));
  return (await response.json()) as Json;
}

function assertPure(card: Json): void {
  assert.deepEqual(
    Object.keys(card).filter((name) => !CARD_V1.includes(name)),
    [],
  );
  const capabilities = Object.keys(card['capabilities'] as Json);
  assert.deepEqual(
    capabilities.filter((name) => !CAPABILITIES_V1.has(name)),
    [],
  );
}

test('the card is for clients of both versions, unless they say which they are', async (t) => {
  const url = await start(t);
  const both = await cardOf(url);
  for (const name of [...REQUIRED_V03, 'supportedInterfaces']) assert.ok(name in both, name);
  assert.equal((both['capabilities'] as Json)['stateTransitionHistory'], true);
  assertPure(await cardOf(url, V1));
  const old = await cardOf(url, { 'a2a-version': '0.3' });
  for (const name of REQUIRED_V03) assert.ok(name in old, name);
  assert.ok(!('supportedInterfaces' in old));
});

test("an agent of 1.0 alone has a card with nothing but 1.0's fields", async (t) => {
  assertPure(await cardOf(await start(t, { versions: ['1.0'] })));
});

test('every way to talk is on the card, the newest version first', async (t) => {
  const url = await start(t);
  const { supportedInterfaces } = (await cardOf(url)) as { supportedInterfaces?: Json[] };
  const named = supportedInterfaces!.map(
    ({ protocolBinding, protocolVersion, url: at }) =>
      [protocolVersion, protocolBinding, at] as const,
  );
  assert.deepEqual(named, [
    ['1.0', 'JSONRPC', url],
    ['1.0', 'HTTP+JSON', url],
    ['0.3', 'JSONRPC', url],
    ['0.3', 'HTTP+JSON', url],
  ]);
});
