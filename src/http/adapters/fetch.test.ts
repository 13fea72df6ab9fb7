import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { A2AError } from '../../protocol/index.ts';
import { createAgent, TaskStream } from '../../tasks/index.ts';
import { serve, type ServeOptions } from '../../server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const BASE = 'http://localhost:4000';

/** `flood N`: so many kilobytes, an event each. `hold`: until it is canceled. Else: an echo. */
function setUp(t: TestContext, options: ServeOptions = {}) {
  const agent = createAgent({ name: 'A', description: 'A' }, async function* (ctx) {
    const [verb, count] = ctx.text.split(' ');
    if (verb === 'hold')
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    for (let n = 0; n < Number(count ?? 0); n++) yield 'x'.repeat(1000);
    yield ctx.text;
  });
  const server = serve(agent, { logger: silent, ...options });
  t.after(() => server.close(0));
  return server;
}

let made = 0;
function rpc(text: string, method = 'message/send', init: RequestInit = {}): Request {
  const parts = [{ kind: 'text', text }];
  const message = { kind: 'message', messageId: `m${++made}`, role: 'user', parts };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } });
  const headers = { 'content-type': 'application/json' };
  return new Request(`${BASE}/`, { method: 'POST', headers, body, ...init });
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

async function eventually(holds: () => boolean): Promise<void> {
  const until = performance.now() + 10_000;
  while (!holds()) {
    assert.ok(performance.now() < until, 'it did not happen in time');
    await tick();
  }
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, at) => at + first);

test('requests are answered without a port: card, unary, stream, REST, errors', async (t) => {
  const { fetch } = setUp(t);
  const card = await fetch(new Request(`${BASE}/.well-known/agent-card.json`));
  assert.equal(((await card.json()) as { url: string }).url, BASE);
  const answer = await fetch(rpc('hi'));
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.match(await answer.text(), /"state":"completed"/);
  const stream = await fetch(rpc('hi', 'message/stream'));
  assert.equal(stream.headers.get('content-type'), 'text/event-stream');
  assert.deepEqual(idsIn(await stream.text()), [1, 2, 3, 4]);
  assert.equal((await fetch(new Request(`${BASE}/tasks`))).status, 200);
  assert.equal((await fetch(new Request(`${BASE}/tasks/none`))).status, 404);
  assert.equal((await fetch(new Request(`${BASE}/nowhere`))).status, 404);
  assert.match(await (await fetch(rpc('x', 'message/stream', { body: '{' }))).text(), /-32700/);
});

test('a mount point is not part of the routes, but of the card', async (t) => {
  const { fetch } = setUp(t);
  const context = { mount: '/agents/a' };
  const at = (path: string) => fetch(new Request(`${BASE}/agents/a${path}`), context);
  const card = await at('/.well-known/agent-card.json');
  assert.equal(((await card.json()) as { url: string }).url, `${BASE}/agents/a`);
  assert.equal((await at('/tasks')).status, 200);
  assert.equal((await at('')).status, 200);
  assert.equal((await at('/')).status, 200);
});

test('what is not under the mount point is not there', async (t) => {
  const { fetch } = setUp(t);
  for (const mount of ['/agent', '/agent/']) {
    const status = async (path: string) =>
      (await fetch(new Request(`${BASE}${path}`), { mount })).status;
    for (const path of ['/tasks', '/', '/agenttasks', '/agents/tasks', '/Agent/tasks']) {
      assert.equal(await status(path), 404, path);
    }
    assert.equal(await status('/agent/tasks'), 200);
  }
});

test('HEAD, 204 and 304 have no body', async (t) => {
  const { fetch } = setUp(t);
  const url = `${BASE}/.well-known/agent-card.json`;
  const head = await fetch(new Request(url, { method: 'HEAD' }));
  assert.equal(head.body, null);
  const headers = { 'if-none-match': head.headers.get('etag')! };
  const known = await fetch(new Request(url, { headers }));
  assert.deepEqual([known.status, known.body], [304, null]);
  assert.equal((await fetch(new Request(url, { method: 'OPTIONS' }))).status, 204);
});

test('CORS headers are added, and a Vary that is there stays', async (t) => {
  const origin = 'https://page.example';
  const { fetch } = setUp(t, { cors: [origin] });
  const headers = { origin };
  const card = await fetch(new Request(`${BASE}/.well-known/agent-card.json`, { headers }));
  assert.equal(card.headers.get('access-control-allow-origin'), origin);
  assert.match(card.headers.get('vary') ?? '', /A2A-Version.*Origin/);
});

test('a cache does not send a card without CORS headers to a web page', async (t) => {
  const { fetch } = setUp(t, { cors: ['https://page.example'] });
  const card = await fetch(new Request(`${BASE}/.well-known/agent-card.json`));
  assert.equal(card.headers.get('access-control-allow-origin'), null);
  assert.match(card.headers.get('cache-control') ?? '', /public/);
  assert.match(card.headers.get('vary') ?? '', /Origin/);
});

test("a page of an allowed origin may send the headers of the vendors' SDKs", async (t) => {
  const { fetch } = setUp(t, { cors: ['https://page.example'] });
  const ask = async (origin: string, names: string) => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': names,
    };
    const asked = new Request(`${BASE}/v1/messages`, { method: 'OPTIONS', headers });
    const { status, headers: got } = await fetch(asked);
    return [status, got.get('access-control-allow-headers')];
  };
  for (const names of [
    'anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key,x-stainless-os',
    'content-type,x-goog-api-client,x-goog-api-key',
    'authorization,content-type,openai-organization,x-stainless-retry-count',
  ]) {
    assert.deepEqual(await ask('https://page.example', names), [204, names]);
  }
  const [, usual] = await ask('https://page.example', 'bad"name');
  assert.match(String(usual), /^content-type, authorization/);
  assert.deepEqual(await ask('https://other.example', 'x-api-key'), [403, null]);
});

test('where a web page could have sent the request, Host counts', async (t) => {
  const page = (host: string) =>
    new Request(`http://${host}/tasks`, { headers: { origin: `http://${host}` } });
  const rebound = 'evil.example:4000';
  const elsewhere = { remote: '192.0.2.7' };
  const { fetch: open } = setUp(t);
  const status = async (...asked: Parameters<typeof open>) => (await open(...asked)).status;
  for (const remote of ['127.0.0.1', '::1', '::ffff:127.0.0.1', undefined]) {
    const context = remote === undefined ? {} : { remote };
    assert.equal(await status(page(rebound), context), 403, remote);
    assert.equal(await status(page('localhost:4000'), context), 200, remote);
  }
  assert.equal(await status(page(rebound), elsewhere), 403);
  // Who has to authenticate, or knows its name, may be anywhere.
  const { fetch: guarded } = setUp(t, { authenticate: () => ({ id: 'ann' }) });
  assert.equal((await guarded(page('agent.example'))).status, 200);
  assert.equal((await guarded(page('agent.example'), elsewhere)).status, 200);
  assert.equal((await guarded(page('agent.example'), { remote: '127.0.0.1' })).status, 403);
  const { fetch: named } = setUp(t, { publicUrl: 'https://agent.example' });
  assert.equal((await named(page('agent.example'))).status, 200);
  assert.equal((await named(page('agent.example'), elsewhere)).status, 200);
  assert.equal((await named(page(rebound), { remote: '127.0.0.1' })).status, 403);
});

test('a Host header counts more than the address', async (t) => {
  const { fetch } = setUp(t);
  const ask = (url: string, host?: string) =>
    fetch(new Request(url, host === undefined ? {} : { headers: { host } }));
  assert.equal((await ask('http://localhost:4000/tasks')).status, 200);
  assert.equal((await ask('http://127.0.0.1/tasks')).status, 200);
  assert.equal((await ask('http://localhost:4000/tasks', 'evil.example')).status, 403);
});

test('a body over the limit is 413, whether it says its length or not', async (t) => {
  const { fetch } = setUp(t, { limits: { maxBodyBytes: 1000 } });
  const large = rpc('x'.repeat(2000));
  assert.equal((await fetch(large)).status, 413);
  let pulled = 0;
  const endless = new ReadableStream({
    pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(500));
    },
  });
  const init: RequestInit & { duplex: string } = { body: endless, duplex: 'half' };
  assert.equal((await fetch(rpc('x', 'message/send', init))).status, 413);
  assert.ok(pulled < 10, 'it was not read on');
});

test('a stream that is not read waits in the log, and all of it comes when it is', async (t) => {
  const server = setUp(t);
  const response = await server.fetch(rpc('flood 2000', 'message/stream'));
  await eventually(() => server.handler.running === 0);
  assert.deepEqual(idsIn(await response.text()), upTo(2004));
});

test('a stream that is not read for too long is dropped, and resumed by its last event id', async (t) => {
  const server = setUp(t, { limits: { stallMs: 30, heartbeatMs: 10, maxStreamsPerClient: 1 } });
  const response = await server.fetch(rpc('flood 500', 'message/stream'));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const first = (await reader.read()).value ?? '';
  await eventually(() => server.handler.running === 0);
  const { id } = (await server.handler.listTasks({})).tasks[0]!;
  let again: Response | undefined;
  const after = idsIn(first).at(-1)!;
  const headers = { 'last-event-id': String(after) };
  // Its place is free again once it was dropped.
  const until = performance.now() + 10_000;
  do {
    again = await server.fetch(new Request(`${BASE}/tasks/${id}:subscribe`, { headers }));
    await tick();
  } while (again.status !== 200 && performance.now() < until);
  assert.deepEqual(idsIn(await again.text()), upTo(504, after + 1));
  await assert.rejects(async () => {
    for (;;) if ((await reader.read()).done) return;
  }, /stopped reading/);
});

test('a client that cancels its stream frees its place, and the work goes on', async (t) => {
  const server = setUp(t, { limits: { maxStreamsPerClient: 1 } });
  for (let round = 0; round < 3; round++) {
    const response = await server.fetch(rpc('hold', 'message/stream'));
    assert.equal(response.status, 200);
    await response.body!.cancel();
  }
  assert.equal(server.handler.running, 3);
});

test('a blocking send ends when its request is aborted, and the work goes on', async (t) => {
  const server = setUp(t);
  const leaving = new AbortController();
  const answer = server.fetch(rpc('hold', 'message/send', { signal: leaving.signal }));
  await eventually(() => server.handler.running === 1);
  leaving.abort();
  assert.equal((await answer).status, 503);
  assert.equal(server.handler.running, 1);
  const gone = new AbortController();
  gone.abort();
  const late = await server.fetch(rpc('hold', 'message/send', { signal: gone.signal }));
  assert.equal(late.status, 503);
});

test('idle streams get heartbeats, which end with them', async (t) => {
  const server = setUp(t, { limits: { heartbeatMs: 5 } });
  const response = await server.fetch(rpc('hold', 'message/stream'));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(': keep-alive\n\n: keep-alive\n\n')) text += (await reader.read()).value;
  const { id } = (await server.handler.listTasks({})).tasks[0]!;
  await server.handler.cancelTask({ id });
  let done = false;
  while (!done) {
    const step = await reader.read();
    text += step.value ?? '';
    done = step.done;
  }
  assert.match(text, /"state":"canceled"/);
});

test('closing the server ends open streams', async (t) => {
  const server = setUp(t, { limits: { graceMs: 10 } });
  const response = await server.fetch(rpc('hold', 'message/stream'));
  const text = response.text();
  await server.close(0);
  assert.match(await text, /interrupted/);
});

test('a stream that cannot go on ends with the error', async (t) => {
  const dropped = Promise.reject(new A2AError('conflict', 'dropped'));
  const { fetch } = setUp(t, {
    guard: (handler) => ({ ...handler, streamMessage: async () => TaskStream.later(dropped) }),
  });
  const text = await (await fetch(rpc('hi', 'message/stream'))).text();
  const { error } = JSON.parse(text.slice('data: '.length)) as { error: { code: number } };
  assert.equal(error.code, -31409);
});

test('a request id and a text in a stream contain no characters that may end a line', async (t) => {
  const { fetch } = setUp(t);
  const id = 'a\u2028b\u2029c\u0085d';
  const parts = [{ kind: 'text', text: id }];
  const params = { message: { kind: 'message', messageId: id, role: 'user', parts } };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'message/stream', params });
  const text = await (await fetch(rpc('', 'message/stream', { body }))).text();
  assert.doesNotMatch(text, /[\u0085\u2028\u2029]/);
  const [first] = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!));
  assert.equal(first.id, id);
});
