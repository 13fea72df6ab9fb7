import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A2AError } from '../protocol/index.ts';
import { createAgent } from '../tasks/index.ts';
import { bearerTokens } from './admission.ts';
import { serve, type ServeOptions } from '../server.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const echo = createAgent({ name: 'Echo', description: 'Echoes.' }, async function* ({ text }) {
  yield text;
});

/** An agent with things of its own, called without a port. */
function start(options: ServeOptions) {
  const server = serve(echo, { logger: silent, ...options });
  return (path: string, init: RequestInit = {}) =>
    server.fetch(new Request(`http://localhost${path}`, init));
}

const json = { 'content-type': 'application/json' };

function rpc(method: string, params: unknown, headers: Record<string, string> = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  return { method: 'POST', headers: { ...json, ...headers }, body };
}

const notes = {
  'notes/count': {
    async handle(params: unknown, call: { version?: string | undefined }) {
      return { params, version: call.version };
    },
  },
};

test('a method of the agent is there in both versions', async () => {
  const call = start({ methods: notes });
  for (const version of ['0.3', '1.0']) {
    const response = await call('/', rpc('notes/count', { a: 1 }, { 'a2a-version': version }));
    assert.deepEqual(await response.json(), {
      jsonrpc: '2.0',
      id: 7,
      result: { params: { a: 1 }, version },
    });
  }
});

test('names that every object has are no methods', async () => {
  const call = start({ methods: notes });
  const reply: unknown = await (await call('/', rpc('toString', {}))).json();
  assert.equal((reply as { error: { code: number } }).error.code, -32601);
});

test('a method of the agent takes the place of none of the protocol', () => {
  assert.throws(() => start({ methods: { 'message/send': notes['notes/count'] } }), /protocol/);
});

test('what a method throws is an error of JSON-RPC, and its cause stays here', async () => {
  const call = start({
    methods: {
      refuse: { handle: () => Promise.reject(new A2AError('invalidParams', 'a: not so')) },
      break: { handle: () => Promise.reject(new Error('secret')) },
    },
  });
  const refused = await (await call('/', rpc('refuse', {}))).text();
  assert.match(refused, /"code":-32602,"message":"a: not so"/);
  const broken = await (await call('/', rpc('break', {}))).text();
  assert.match(broken, /"code":-32603/);
  assert.doesNotMatch(broken, /secret/);
});

const routes: ServeOptions['routes'] = [
  {
    verb: 'POST',
    path: '/tasks',
    handle: async ({ body }) => ({ status: 201, body: { got: body } }),
  },
  { verb: 'GET', path: '/tasks/{id}/notes', handle: async ({ values }) => ({ body: values }) },
  { verb: 'GET', path: '/tasks/notes', handle: async () => ({ status: 204 }) },
  {
    verb: 'GET',
    path: '/broken',
    handle: () => Promise.reject(new A2AError('taskNotFound')),
    error: ({ message }) => ({ status: 410, body: { error: message } }),
  },
];

test('a route of the agent stands beside the routes of the protocol', async () => {
  const call = start({ routes });
  const made = await call('/tasks', { method: 'POST', headers: json, body: '{"a":1}' });
  assert.deepEqual([made.status, await made.json()], [201, { got: { a: 1 } }]);
  const listed = await call('/tasks');
  assert.equal(((await listed.json()) as { totalSize: number }).totalSize, 0);
});

test('a literal wins over a parameter, and what a parameter stands for is decoded', async () => {
  const call = start({ routes });
  assert.equal((await call('/tasks/notes')).status, 204);
  assert.deepEqual(await (await call('/tasks/a%2Fb/notes')).json(), { id: 'a/b' });
  assert.equal((await call('/tasks/%E0%A4%A/notes')).status, 400);
});

test('a wrong verb is told all that are right', async () => {
  const call = start({ routes });
  const both = await call('/tasks', { method: 'DELETE' });
  assert.deepEqual([both.status, both.headers.get('allow')], [405, 'GET, POST']);
  const own = await call('/broken', { method: 'DELETE' });
  assert.deepEqual([own.status, own.headers.get('allow')], [405, 'GET, HEAD']);
});

test('a route says what went wrong in its own words', async () => {
  const reply = await start({ routes })('/broken');
  assert.deepEqual([reply.status, await reply.json()], [410, { error: 'Task not found' }]);
});

test('a body that is no JSON is refused before the route hears of it', async () => {
  const call = start({ routes });
  const broken = await call('/tasks', { method: 'POST', headers: json, body: '{' });
  assert.equal(broken.status, 400);
  const text = { 'content-type': 'text/plain' };
  assert.equal((await call('/tasks', { method: 'POST', headers: text, body: 'a' })).status, 415);
});

test('methods and routes are for those who are let in', async () => {
  const authenticate = bearerTokens(new Map([['ann', 'secret']]));
  const call = start({ authenticate, methods: notes, routes });
  assert.equal((await call('/', rpc('notes/count', {}))).status, 401);
  assert.equal((await call('/tasks/notes')).status, 401);
  const origin = { origin: 'http://elsewhere.example', authorization: 'Bearer secret' };
  assert.equal((await call('/tasks/notes', { headers: origin })).status, 403);
});

test("a stream of the agent's own shows what its frame makes of the events", async () => {
  const call = start({
    routes: [
      {
        verb: 'POST',
        path: '/say',
        async open({ body, call: caller, handler }) {
          const parts = [{ kind: 'text' as const, text: String(body) }];
          const message = {
            kind: 'message' as const,
            messageId: 'm1',
            role: 'user' as const,
            parts,
          };
          const stream = await handler.streamMessage({ message }, caller);
          return {
            stream,
            frame: ({ event }) => (event.kind === 'artifact-update' ? 'data: a word\n\n' : ''),
          };
        },
      },
    ],
    limits: { maxStreams: 1 },
  });
  for (const said of ['"one"', '"one"']) {
    const reply = await call('/say', { method: 'POST', headers: json, body: said });
    assert.equal(reply.headers.get('content-type'), 'text/event-stream');
    assert.match(await reply.text(), /^(data: a word\n\n)*$/, 'and gives its place back');
  }
  const broken = await call('/say', { method: 'POST', headers: json, body: '""' });
  assert.equal(broken.status, 400, 'what is refused is no stream');
});

const V1 = 'https://example.org/ext/v1';
const versioned = {
  card: { capabilities: { extensions: [{ uri: V1, required: true }] } },
  extensionOf(uri: string) {
    if (uri.startsWith('https://example.org/ext/v2')) {
      throw new A2AError('extensionRequired', `only ${V1} is served`);
    }
    return uri.startsWith(V1) ? V1 : undefined;
  },
  methods: notes,
  routes: [
    { verb: 'GET', path: '/implied', implies: [V1], handle: async () => ({ status: 204 }) },
    { verb: 'GET', path: '/named', handle: async () => ({ status: 204 }) },
  ],
} satisfies ServeOptions;

test('another version of an extension counts where it fits, and is refused where it does not', async () => {
  const call = start(versioned);
  const fits = await call('/', rpc('notes/count', {}, { 'x-a2a-extensions': `${V1}.4` }));
  assert.equal(fits.headers.get('x-a2a-extensions'), V1);
  const other = { 'x-a2a-extensions': 'https://example.org/ext/v2' };
  const refused = await (await call('/', rpc('notes/count', {}, other))).text();
  assert.match(refused, /"code":-32008,"message":"only https:\/\/example.org\/ext\/v1 is served"/);
});

test('who uses a route that implies an extension does not have to name it', async () => {
  const call = start(versioned);
  assert.equal((await call('/implied')).status, 204);
  assert.equal((await call('/named')).status, 400);
});

test('a route may change things with PUT, and say more in headers', async () => {
  const call = start({
    routes: [
      {
        verb: 'PUT',
        path: '/notes/{id}',
        handle: async ({ body, ...request }) => ({
          status: 201,
          headers: { etag: '"2"' },
          body: { body, was: request.header('if-match') },
        }),
      },
    ],
  });
  const init = { method: 'PUT', headers: { ...json, 'if-match': '"1"' }, body: '{"a":1}' };
  const response = await call('/notes/7', init);
  assert.equal(response.status, 201);
  assert.equal(response.headers.get('etag'), '"2"');
  assert.deepEqual(await response.json(), { body: { a: 1 }, was: '"1"' });
});

test('a public route asks nobody who they are', async () => {
  const call = start({
    authenticate: () => undefined,
    routes: [
      { verb: 'GET', path: '/alive', public: true, handle: async () => ({ text: 'yes' }) },
      { verb: 'GET', path: '/secret', handle: async () => ({ text: 'no' }) },
    ],
  });
  assert.equal(await (await call('/alive')).text(), 'yes');
  assert.equal((await call('/alive', { method: 'HEAD' })).status, 200);
  assert.equal((await call('/secret')).status, 401);
});

test('errors on paths of the agent are in its words, those of the protocol in the protocol’s', async () => {
  const call = start({
    routes: [{ verb: 'GET', path: '/own/x', handle: async () => ({ text: '' }) }],
    describe: (error) => ({ body: { mine: error.httpStatus } }),
  });
  const wrong = await call('/own/x', { method: 'DELETE' });
  assert.equal(wrong.headers.get('allow'), 'GET, HEAD');
  assert.deepEqual(await wrong.json(), { mine: 405 });
  assert.deepEqual(await (await call('/own/y')).json(), { mine: 404 });
  assert.match(await (await call('/tasks/none')).text(), /TASK_NOT_FOUND/);
  const spoken = { method: 'POST', headers: { 'a2a-version': '1.0' } };
  assert.match(await (await call('/v1/message:send', spoken)).text(), /METHOD_NOT_FOUND/);
  assert.match(await (await call('/tasks/none', { method: 'PUT' })).text(), /METHOD_NOT_ALLOWED/);
});

/** Counts up until it is left; `left` resolves then. */
function counting(limit: number) {
  let leave = () => {};
  const left = new Promise<void>((resolve) => (leave = resolve));
  let sent = 0;
  async function* chunks() {
    try {
      while (sent < limit) yield `${(sent += 1)} `.repeat(1000);
    } finally {
      leave();
    }
  }
  return { chunks, left, sent: () => sent };
}

test('text that comes bit by bit waits for its reader, and stops when the reader leaves', async () => {
  const { chunks, left, sent } = counting(1_000_000);
  const server = serve(echo, {
    logger: silent,
    routes: [
      {
        verb: 'GET',
        path: '/count',
        handle: async () => ({ headers: { 'content-type': 'text/plain' }, chunks: chunks() }),
      },
    ],
  });
  const listening = await server.listen(0);
  const leaving = new AbortController();
  const response = await fetch(`${listening.url}/count`, { signal: leaving.signal });
  const reader = response.body!.getReader();
  await reader.read();
  leaving.abort();
  await left;
  assert.ok(sent() < 1_000_000);
  await listening.close();
});

test('text that breaks off is no whole answer', async () => {
  async function* broken() {
    yield 'some';
    throw new Error('secret');
  }
  const handle = async () => ({ headers: {}, chunks: broken() });
  const server = serve(echo, { logger: silent, routes: [{ verb: 'GET', path: '/x', handle }] });
  const listening = await server.listen(0);
  const response = await fetch(`${listening.url}/x`);
  await assert.rejects(response.text());
  const whole = await server.fetch(new Request('http://localhost/x'));
  await assert.rejects(whole.text());
  await listening.close();
});

test('a literal path is not taken for a parameter by another verb', async () => {
  const handle = async () => ({ text: 'x' });
  const call = start({
    routes: [
      { verb: 'GET', path: '/notes/{id}', handle },
      { verb: 'POST', path: '/notes/send', handle },
    ],
  });
  const wrong = await call('/notes/send');
  assert.equal(wrong.status, 405);
  assert.equal(wrong.headers.get('allow'), 'POST');
});

test('the signal of a request is aborted when its client leaves, but not after a complete answer', async () => {
  const signals = new Map<string, AbortSignal>();
  const started = Promise.withResolvers<void>();
  const method = {
    async handle(params: unknown, { signal }: { signal?: AbortSignal | undefined }) {
      assert.ok(signal);
      signals.set(String(params), signal);
      if (params !== 'waits') return params;
      started.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return params;
    },
  };
  const server = serve(echo, { logger: silent, methods: { 'notes/wait': method } });
  const listening = await server.listen(0);
  const closed = new Promise((resolve) => {
    listening.server.once('connection', (socket) => socket.once('close', resolve));
  });
  const headers = { connection: 'close' };
  await (await fetch(listening.url, rpc('notes/wait', 'answers', headers))).text();
  await closed;
  assert.equal(signals.get('answers')?.aborted, false);
  const leaving = new AbortController();
  const init = rpc('notes/wait', 'waits');
  const waiting = fetch(listening.url, { ...init, signal: leaving.signal });
  await started.promise;
  const aborted = new Promise((resolve) =>
    signals.get('waits')?.addEventListener('abort', resolve),
  );
  leaving.abort();
  await assert.rejects(waiting);
  await aborted;
  await listening.close();
});
