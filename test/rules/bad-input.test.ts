/** Rules 7 and 8, and whatever else a peer may send: each gets its own code, as JSON, and changes nothing. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test, type TestContext } from 'node:test';
import { v03, v1 } from '../../src/protocol/index.ts';
import { createAgent } from '../../src/tasks/index.ts';
import {
  finished,
  raw,
  rest03,
  rest1,
  rpc03,
  rpc1,
  start,
  userMessage,
  WIRES,
  working,
} from './support.ts';

/** A server with a finished and a working task, and a check that both are as they were, and the process too. */
async function guarded(t: TestContext) {
  const { url, log } = await start(t);
  await finished(url);
  const { id } = await working(url);
  const snapshot = async () => ({
    list: await rpc1.call(url, 'listTasks', { includeArtifacts: true, historyLength: 10 }),
    log: (await raw(url, { method: 'GET', path: `/tasks/${id}/events` })).text,
    prototype: Object.getOwnPropertyNames(Object.prototype).length,
    polluted: ({} as { polluted?: unknown }).polluted,
  });
  const before = await snapshot();
  return {
    url,
    id,
    unchanged: async () => {
      assert.deepEqual(await snapshot(), before);
      assert.deepEqual(log, [], 'nothing was logged');
    },
  };
}

/** The JSON-RPC error of a body that is sent as it is. The error of a streaming method is the only event of a stream. */
async function rpcError(
  url: string,
  body: string,
  headers: Record<string, string> = {},
  isStream: boolean = false,
) {
  const answer = await raw(url, { body, headers });
  const type = isStream ? /^text\/event-stream$/ : /^application\/json/;
  assert.match(answer.headers['content-type'] ?? '', type);
  const [, json] = (isStream ? /^data: (.*)\n\n$/ : /^(.*)$/).exec(answer.text) ?? [];
  return { ...answer, ...errorIn(json ?? '') };
}

function errorIn(text: string) {
  const json = JSON.parse(text);
  assert.equal(json.jsonrpc, '2.0');
  return { id: json.id, code: json.error?.code, data: json.error?.data };
}

async function restError(url: string, path: string, body: string) {
  const answer = await raw(url, { path, body });
  assert.match(answer.headers['content-type'] ?? '', /^application\/(a2a\+)?json/);
  const codec = path.startsWith('/v1') ? v03 : v1;
  return { ...answer, code: codec.decodeError(JSON.parse(answer.text), answer.status).code };
}

const REST_PATHS = ['/v1/message:send', '/message:send', '/v1/message:stream', '/message:stream'];

test('rule 8: what is not JSON is -32700', async (t) => {
  const { url, unchanged } = await guarded(t);
  for (const body of ['', '{', 'hello', "{'a':1}", '{"jsonrpc":"2.0",}', '\u0000', '{"a":NaN}']) {
    const { status, id, code } = await rpcError(url, body);
    assert.deepEqual([status, id, code], [200, null, -32700], body);
    for (const path of body === '' ? [] : REST_PATHS) {
      const { status: http, code: restCode } = await restError(url, path, body);
      assert.deepEqual([http, restCode], [400, -32700], `${path} ${body}`);
    }
  }
  await unchanged();
});

const send03 = {
  jsonrpc: '2.0',
  id: 7,
  method: 'message/send',
  params: { message: userMessage('x') },
};

test('rule 8: a batch is -32600', async (t) => {
  const { url, unchanged } = await guarded(t);
  for (const body of [[], [send03], [send03, { ...send03, id: 8 }]]) {
    const { id, code } = await rpcError(url, JSON.stringify(body));
    assert.deepEqual([id, code], [null, -32600]);
  }
  await unchanged();
});

test('rule 8: a wrong envelope is -32600, not -32602, and its id comes back where it can', async (t) => {
  const { url, unchanged } = await guarded(t);
  for (const [id, body] of [
    [null, 'null'],
    [null, '5'],
    [null, '"message/send"'],
    [null, 'true'],
    [null, '{}'],
    [7, { ...send03, jsonrpc: '1.0' }],
    [7, { ...send03, jsonrpc: 2 }],
    [7, { ...send03, jsonrpc: undefined }],
    [7, { ...send03, method: undefined }],
    [7, { ...send03, method: 5 }],
    [7, { ...send03, method: null }],
    [7, { ...send03, method: ['message/send'] }],
    [null, { ...send03, id: {} }],
    [null, { ...send03, id: [1] }],
    [null, { ...send03, id: true }],
    [null, JSON.stringify(send03).replace(/"id":[^,}]+/, '"id":9007199254740993')],
    [null, JSON.stringify(send03).replace(/"id":[^,}]+/, '"id":1e400')],
  ] as const) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await rpcError(url, text);
    assert.deepEqual([answer.id, answer.code], [id, -32600], text);
  }
  await unchanged();
});

test('an unknown method is -32601, and so is a name of one version under the other', async (t) => {
  const { url, unchanged } = await guarded(t);
  const ask = async (method: string, version?: string) => {
    const headers: Record<string, string> = version === undefined ? {} : { 'a2a-version': version };
    const isStream = /stream|resubscribe/i.test(method);
    return (await rpcError(url, JSON.stringify({ ...send03, method }), headers, isStream)).code;
  };
  for (const method of ['', 'nope', 'message/Send', 'constructor', '__proto__', 'toString']) {
    assert.equal(await ask(method), -32601, method);
    assert.equal(await ask(method, '1.0'), -32601, method);
  }
  for (const method of ['message/send', 'message/stream', 'tasks/get', 'tasks/resubscribe']) {
    assert.equal(await ask(method, '1.0'), -32601, method);
  }
  for (const method of ['SendMessage', 'SendStreamingMessage', 'GetTask', 'ListTasks']) {
    assert.equal(await ask(method, '0.3'), -32601, method);
  }
  await unchanged();
});

for (const wire of WIRES) {
  test(`rule 7: empty parts, an unknown role and the like are -32602 (${wire.name})`, async (t) => {
    const { url, id, unchanged } = await guarded(t);
    const good = (wire.version === '1.0' ? v1 : v03).encodeParams('sendMessage', {
      message: userMessage('x'),
    }) as { message: { parts: object[] } };
    const bad: Record<string, unknown>[] = [
      { parts: [] },
      { parts: undefined },
      { parts: 'text' },
      { parts: [null] },
      { parts: [{}] },
      { parts: [{ kind: 'song', song: 'la' }] },
      { parts: [{ kind: 'text', text: 5 }] },
      { role: 'admin' },
      { role: 'ROLE_ADMIN' },
      { role: 'ROLE_UNSPECIFIED' },
      { role: undefined },
      { role: wire.version === '1.0' ? 'ROLE_AGENT' : 'agent' },
      { messageId: undefined },
      { messageId: '' },
      { messageId: 'x'.repeat(257) },
      { messageId: 5 },
      { taskId: 'x'.repeat(10_000) },
      { contextId: 'x'.repeat(10_000) },
      { metadata: 'text' },
    ];
    for (const change of bad) {
      const message = { ...good.message, ...change };
      for (const params of [{ ...good, message }]) {
        const codes = await both(wire, url, params);
        assert.deepEqual(codes, [-32602, -32602], JSON.stringify(change).slice(0, 80));
      }
    }
    for (const params of [{}, { message: null }, { message: 'x' }, { message: [] }]) {
      assert.deepEqual(await both(wire, url, params), [-32602, -32602]);
    }
    assert.equal((await wire.ask(url, 'getTask', { id: 'x'.repeat(300) })).error?.code, -32602);
    assert.equal((await wire.ask(url, 'getTask', { id })).error, undefined);
    await unchanged();
  });

  async function both(of: typeof wire, url: string, params: object): Promise<unknown[]> {
    const names =
      of.version === '1.0'
        ? ['SendMessage', 'SendStreamingMessage']
        : ['message/send', 'message/stream'];
    const prefix = of.version === '1.0' ? '' : '/v1';
    if (of.binding === 'JSONRPC') {
      const ask = async (method: string, isStream: boolean) => {
        const body = JSON.stringify({ ...send03, method, params });
        return (await rpcError(url, body, {}, isStream)).code as unknown;
      };
      return [await ask(names[0]!, false), await ask(names[1]!, true)];
    }
    return [
      (await restError(url, `${prefix}/message:send`, JSON.stringify(params))).code,
      (await restError(url, `${prefix}/message:stream`, JSON.stringify(params))).code,
    ];
  }

  test(`rule 7: unknown fields are ignored, not refused (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const message = { ...userMessage('hello'), future: { a: [1] } };
    const params = { message, configuration: { novelty: 5 }, whatever: true };
    const { error } = await wire.ask(url, 'sendMessage', params);
    assert.equal(error, undefined);
  });

  test(`rule 7: timestamps are UTC with Z (${wire.name})`, async (t) => {
    const { url } = await start(t);
    const { text } = await wire.ask(url, 'sendMessage', { message: userMessage('hello') });
    const [, timestamp = ''] = /"timestamp":"([^"]+)"/.exec(text) ?? [];
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test(`an unknown version is -32009, in the shape of the method's own version (${wire.name})`, async (t) => {
    const { url, unchanged } = await guarded(t);
    for (const version of ['2.0', '0.2', '1', '1.1', 'latest', '1.0.x', '1.0.0.0', '<script>']) {
      const headers = { 'a2a-version': version };
      const message = userMessage('x');
      const { error, json } = await wire.ask(url, 'sendMessage', { message }, { headers });
      assert.equal(error?.code, -32009, version);
      const inner = (json as { error: { data?: unknown; details?: unknown } }).error;
      const isList = Array.isArray(inner?.data ?? inner?.details);
      assert.equal(isList, wire.version === '1.0', version);
      const query = `A2A-Version=${encodeURIComponent(version)}`;
      const bare = { headers: { 'a2a-version': '' }, query };
      assert.equal((await wire.ask(url, 'sendMessage', { message }, bare)).error?.code, -32009);
      // The Python and Go SDKs read the error of a refused JSON-RPC stream only with status 200.
      const stream = await wire.ask(url, 'streamMessage', { message }, { headers });
      const status = wire.binding === 'JSONRPC' ? 200 : 400;
      assert.deepEqual([stream.status, stream.error?.code], [status, -32009]);
    }
    await unchanged();
  });

  test(`a patch number does not count, in header or query (${wire.name})`, async (t) => {
    const { url } = await start(t);
    for (const patch of ['', '.0', '.3', '.12']) {
      const version = `${wire.version}${patch}`;
      const byHeader = { headers: { 'a2a-version': version } };
      const byQuery = { headers: { 'a2a-version': '' }, query: `A2A-Version=${version}` };
      for (const init of [byHeader, byQuery]) {
        const message = userMessage('x');
        assert.equal((await wire.ask(url, 'sendMessage', { message }, init)).error, undefined);
      }
    }
  });
}

test('a version that is turned off is not spoken', async (t) => {
  const { url } = await start(t, undefined, { versions: ['1.0'] });
  const message = userMessage('x');
  assert.equal((await rpc1.ask(url, 'sendMessage', { message })).error, undefined);
  assert.equal((await rpc03.ask(url, 'sendMessage', { message })).error?.code, -32601);
  assert.equal((await rest03.ask(url, 'sendMessage', { message })).status, 404);
  const init = { headers: { 'a2a-version': '0.3' } };
  assert.equal((await rpc03.ask(url, 'sendMessage', { message }, init)).error?.code, -32009);
});

/** With its length, and in chunks without. */
const FRAMINGS: Record<string, string>[] = [{}, { 'transfer-encoding': 'chunked' }];

const huge = JSON.stringify({ ...send03, params: { x: 'y'.repeat(20 * 1024 * 1024) } });

test('rule 8: a body of 20 MB is 413 with -32600 in JSON, and the client gets to read it', async (t) => {
  const { url, unchanged } = await guarded(t);
  for (const headers of FRAMINGS) {
    const { status, code } = await rpcError(url, huge, headers);
    assert.deepEqual([status, code], [413, -32600]);
    const answer = await raw(url, { path: '/message:send', body: huge, headers });
    assert.equal(answer.status, 413);
    assert.equal(v1.decodeError(JSON.parse(answer.text), 413).kind, 'tooLarge');
  }
  const web = await fetch(url, { method: 'POST', body: huge });
  assert.equal(web.status, 415);
  await unchanged();
});

test('rule 8: a client that reads only when it has sent all of a huge body gets its answer too', async (t) => {
  const { url, unchanged } = await guarded(t);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.pause();
  const head = `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${huge.length}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.write(huge, (error) => (error ? reject(error) : resolve()));
  });
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (text.includes('-32600')) break;
  }
  assert.match(text, /^HTTP\/1.1 413 /);
  await unchanged();
});

test('a body just under the limit is read, one byte more is not', async (t) => {
  const { url } = await start(t, undefined, { limits: { maxBodyBytes: 1000 } });
  const filled = (size: number) => {
    const body = JSON.stringify({ ...send03, params: { x: '' } });
    return body.replace('"x":""', `"x":"${'y'.repeat(size - body.length)}"`);
  };
  for (const headers of FRAMINGS) {
    assert.equal((await rpcError(url, filled(1000), headers)).code, -32602);
    assert.equal((await rpcError(url, filled(1001), headers)).status, 413);
  }
});

test('JSON that is 10,000 levels deep is -32600, 100 levels are fine', async (t) => {
  const { url, unchanged } = await guarded(t);
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  for (const deep of [nested(10_000), objects(10_000), nested(100), objects(50_000)]) {
    const text = JSON.stringify({ ...send03, params: { deep: 0 } }).replace(
      '"deep":0',
      `"deep":${deep}`,
    );
    assert.equal((await rpcError(url, text)).code, -32600);
    const stream = text.replace('message/send', 'message/stream');
    assert.equal((await rpcError(url, stream, {}, true)).code, -32600);
    const answer = await raw(url, { path: '/message:send', body: `{"deep":${deep}}` });
    assert.equal(v1.decodeError(JSON.parse(answer.text)).code, -32600);
  }
  await unchanged();
  const fine = `{"deep":${nested(99)}}`;
  const { code } = await restError(url, '/message:send', fine);
  assert.equal(code, -32602, 'the message is missing, and that is all');
});

test('a __proto__ key is refused wherever it is, and no prototype changes', async (t) => {
  const { url, unchanged } = await guarded(t);
  const poison = '{"polluted":"yes"}';
  for (const place of [
    `"__proto__":${poison}`,
    `"metadata":{"__proto__":${poison}}`,
    `"metadata":{"a":[{"b":{"__proto__":${poison}}}]}`,
    `"metadata":{"\\u005f_proto__":${poison}}`,
  ]) {
    const message = JSON.stringify(userMessage('x')).replace('{', `{${place},`);
    const text = JSON.stringify({ ...send03, params: 0 }).replace(
      '"params":0',
      `"params":{"message":${message}}`,
    );
    assert.equal((await rpcError(url, text)).code, -32602, place);
    const rest = await restError(url, '/v1/message:send', `{"message":${message}}`);
    assert.equal(rest.code, -32602);
  }
  await unchanged();
  const { id } = await finished(url);
  const query = await raw(url, { method: 'GET', path: `/tasks/${id}?__proto__=x&constructor=y` });
  assert.equal(query.status, 200);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  const constructor = { metadata: { constructor: { prototype: { polluted: 'yes' } } } };
  await rpc1.call(url, 'sendMessage', { message: userMessage('x', constructor) });
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

test('a content type that is not JSON is 415 with -32005; JSON under any of its names is read', async (t) => {
  const { url, unchanged } = await guarded(t);
  const body = JSON.stringify(send03);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'x/json',
  ]) {
    const rpc = await raw(url, { body, headers: { 'content-type': type } });
    assert.deepEqual([rpc.status, JSON.parse(rpc.text).error.code], [415, -32005], type);
    const rest = await raw(url, { path: '/message:send', body, headers: { 'content-type': type } });
    assert.equal(rest.status, 415);
    assert.equal(v1.decodeError(JSON.parse(rest.text)).code, -32005);
  }
  await unchanged();
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'application/a2a+json',
  ]) {
    const { text } = await raw(url, { body, headers: { 'content-type': type } });
    assert.ok(JSON.parse(text).result, type);
  }
});

test('a file of a type that the agent does not take is -32005', async (t) => {
  const profile = { name: 'P', description: 'P', inputModes: ['text/plain', 'image/*'] };
  const agent = createAgent(profile, async function* () {
    yield 'ok';
  });
  const { url } = await start(t, agent);
  const file = (mimeType: string) =>
    userMessage('x', { parts: [{ kind: 'file', file: { bytes: 'AAAA', mimeType } }] });
  for (const wire of WIRES) {
    const refused = await wire.ask(url, 'sendMessage', { message: file('audio/wav') });
    assert.equal(refused.error?.code, -32005);
    const taken = await wire.ask(url, 'sendMessage', { message: file('image/png') });
    assert.equal(taken.error, undefined);
  }
});

test('REST: what belongs to the path has the last word, and odd escapes lead nowhere', async (t) => {
  const { url, id, unchanged } = await guarded(t);
  const get = (path: string) => raw(url, { method: 'GET', path });
  assert.equal((await get(`/tasks/nobody?id=${id}`)).status, 404);
  const cancel = await raw(url, { path: '/tasks/nobody:cancel', body: JSON.stringify({ id }) });
  assert.equal(cancel.status, 404);
  for (const path of [
    `/tasks/..%2F${id}`,
    `/tasks/${id}%2Fevents`,
    '/tasks/%2e%2e/x',
    '/../../etc/passwd',
    '//tasks',
    '/tasks//events',
    `/tasks/${id}/`,
    '/nowhere',
    '/.well-known/nothing',
  ]) {
    const { status, headers, text } = await get(path);
    assert.equal(status, 404, path);
    assert.match(headers['content-type'] ?? '', /json/);
    assert.equal(JSON.parse(text).error.code, 404);
  }
  for (const path of ['/tasks/%00', '/tasks/%zz', '/tasks/%E0%A4%A', '/%zz/tasks']) {
    assert.equal((await get(path)).status, 400, path);
  }
  await unchanged();
});

test('an error in REST has the shape of its version', async (t) => {
  const { url } = await start(t);
  const current = (await rest1.ask(url, 'getTask', { id: 'none' })).json as { error: object };
  assert.partialDeepStrictEqual(current.error, {
    code: 404,
    status: 'NOT_FOUND',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
      },
    ],
  });
  const old = (await rest03.ask(url, 'getTask', { id: 'none' })).json;
  assert.partialDeepStrictEqual(old, { code: -32001 });
});
