/** Our handlers in somebody else's server: mounted under a path of an Express app, and called as `Request → Response`. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import express from 'express';
import { connect } from '../../src/client/index.ts';
import type { Binding, ProtocolVersion } from '../../src/protocol/index.ts';
import { serve, type AgentServer, type ServeOptions } from '../../src/server.ts';
import { interopAgent } from './agent.ts';
import { sdk03 } from './sdk-03-client.ts';
import { sdk1 } from './sdk-1-client.ts';
import { artifactText, short, taskOf, type Peer } from './seen.ts';
import { collect, createGates, host, quiet, within, type Gates } from './support.ts';

const INTERFACES: readonly [ProtocolVersion, Binding][] = [
  ['1.0', 'JSONRPC'],
  ['1.0', 'HTTP+JSON'],
  ['0.3', 'JSONRPC'],
  ['0.3', 'HTTP+JSON'],
];

const PEERS: readonly Peer[] = INTERFACES.map(([version, binding]) =>
  version === '1.0' ? sdk1(binding) : sdk03(binding),
);

function create(t: TestContext, options: ServeOptions = {}): { server: AgentServer; gates: Gates } {
  const gates = createGates();
  const server = serve(interopAgent(gates), { logger: quiet, ...options });
  t.after(() => server.close(0));
  return { server, gates };
}

/** An Express app with other things in it, and our agent under /agent. */
async function mount(t: TestContext, ...before: express.RequestHandler[]): Promise<string> {
  const { server } = create(t);
  const app = express();
  for (const handler of before) app.use(handler);
  app.get('/health', (_, response) => void response.send('fine'));
  app.use('/agent', server.node);
  return (await host(t, app)).url;
}

const COUNTED = ['task submitted', 'working', '"1 "', '"2 "', 'completed'];

for (const peer of PEERS) {
  test(`mounted in Express, the agent is found and used by ${peer.name}`, async (t) => {
    const url = await mount(t);
    // With the slash: the SDK resolves the card's path against the address as a browser would.
    const client = await peer.connect(`${url}/agent/`);
    assert.equal(client.endpoint, `${url}/agent ${peer.binding} ${peer.version}`);
    assert.equal(artifactText(await client.send({ text: 'count 2' })), '1 2 ');
    const events = await within('a stream', collect(client.stream({ text: 'count 2' })));
    assert.deepEqual(events.map(short), COUNTED);
    assert.equal((await client.get(taskOf(events[0]!).id)).state, 'completed');
  });
}

for (const [version, binding] of INTERFACES) {
  test(`mounted in Express, the agent is found and used by our client over ${version} ${binding}`, async (t) => {
    const url = await mount(t);
    await using client = await connect(`${url}/agent`, { version, binding });
    assert.equal(client.endpoint.url, `${url}/agent`);
    assert.equal(await client.send('count 2').text(), '1 2 ');
    assert.deepEqual(await collect(client.stream('count 2').textChunks()), ['1 ', '2 ']);
  });
}

test('a mounted agent leaves the rest of the app alone, and answers JSON for what it does not have', async (t) => {
  const url = await mount(t);
  assert.equal(await (await fetch(`${url}/health`)).text(), 'fine');
  assert.equal((await fetch(`${url}/.well-known/agent-card.json`)).status, 404);
  const nowhere = await fetch(`${url}/agent/nowhere`);
  assert.equal(nowhere.status, 404);
  assert.equal(nowhere.headers.get('content-type'), 'application/json');
  const greeting = await (await fetch(`${url}/agent`)).text();
  assert.ok(greeting.includes(`${url}/agent/.well-known/agent-card.json`));
});

test('a mounted agent does not mind that the app has read the body before it', async (t) => {
  for (const parser of [
    express.json(),
    express.text({ type: '*/*' }),
    express.raw({ type: '*/*' }),
  ]) {
    const url = await mount(t, parser);
    for (const peer of [sdk1('JSONRPC'), sdk03('HTTP+JSON')]) {
      const client = await peer.connect(`${url}/agent/`);
      assert.equal(artifactText(await client.send({ text: 'count 2' })), '1 2 ');
    }
  }
});

test('under connect, which says the mount point nowhere, the card has it too', async (t) => {
  const { server } = create(t);
  // What connect does for use('/deep/agent', …).
  const connectLike = (request: IncomingMessage, response: ServerResponse) => {
    const original = request.url!;
    const rest = original.slice('/deep/agent'.length);
    request.url = rest.startsWith('/') ? rest : `/${rest}`;
    server.node(Object.assign(request, { originalUrl: original }), response);
  };
  const { url } = await host(t, connectLike);
  for (const path of ['', '/', '?x=1', '/?x=/']) {
    const greeting = await (await fetch(`${url}/deep/agent${path}`)).text();
    assert.ok(greeting.includes(` ${url}/deep/agent/.well-known/agent-card.json\n`), path);
  }
  await using client = await connect(`${url}/deep/agent`);
  assert.equal(client.endpoint.url, `${url}/deep/agent`);
  assert.equal(await client.send('count 2').text(), '1 2 ');
});

test('an app that has read the body and kept it is at fault, not the client', async (t) => {
  const errors: object[] = [];
  const { server } = create(t, { logger: { ...quiet, error: (fields) => errors.push(fields) } });
  const { url } = await host(t, (request: IncomingMessage, response: ServerResponse) => {
    request.resume().once('end', () => server.node(request, response));
  });
  const ask = async (body?: string) => {
    const init = body === undefined ? {} : { body };
    const answer = await fetch(url, { method: 'POST', ...init });
    return ((await answer.json()) as { error: { code: number } }).error.code;
  };
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0"}' });
  assert.partialDeepStrictEqual(await answer.json(), { error: { code: -32603 } });
  assert.match(String((errors[0] as { err: Error }).err), /keep it in request\.body/);
  // A request that never had one is as ever.
  assert.equal(await ask(), -32700);
});

test('the extended card of a mounted agent has the address at which it was asked', async (t) => {
  const { server } = create(t, { extendedCard: { description: 'For you' } });
  const { url } = await host(t, express().use('/agent', server.node));
  for (const [path, version] of [
    ['/extendedAgentCard', '1.0'],
    ['/v1/card', '0.3'],
  ] as const) {
    const card = (await (await fetch(`${url}/agent${path}`)).json()) as Record<string, unknown>;
    const said = version === '0.3' ? card : (card['supportedInterfaces'] as object[])[0];
    assert.partialDeepStrictEqual(said, { url: `${url}/agent` });
    assert.equal(card['description'], 'For you');
  }
  const mounted = await server.fetch(new Request(`${AGENT}/a/extendedAgentCard`), { mount: '/a' });
  assert.partialDeepStrictEqual(await mounted.json(), {
    supportedInterfaces: [{ url: `${AGENT}/a` }],
  });
});

const AGENT = 'http://localhost:4000';

/** A fetch that reaches the handler without a network. */
function inProcess({ fetch }: AgentServer): typeof globalThis.fetch {
  return (input, init) => fetch(new Request(input, init));
}

function rpc(method: string, params: unknown, headers: Record<string, string> = {}): Request {
  return new Request(AGENT, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
}

const message = (text: string) => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
});

for (const peer of PEERS) {
  test(`without a port, ${peer.name} is answered through Request and Response`, async (t) => {
    const { server } = create(t);
    const client = await peer.connect(AGENT, { fetch: inProcess(server) });
    assert.equal(client.endpoint, `${AGENT} ${peer.binding} ${peer.version}`);
    assert.equal(artifactText(await client.send({ text: 'count 2' })), '1 2 ');
    const events = await within('a stream', collect(client.stream({ text: 'count 2' })));
    assert.deepEqual(events.map(short), COUNTED);
  });
}

test('without a port, our client works through Request and Response', async (t) => {
  const { server } = create(t);
  for (const [version, binding] of INTERFACES) {
    await using client = await connect(AGENT, { version, binding, fetch: inProcess(server) });
    assert.equal(await client.send('count 2').text(), '1 2 ');
    const stream = client.stream('count 2');
    assert.deepEqual(await collect(stream.textChunks()), ['1 ', '2 ']);
    assert.equal(stream.lastSeq, 5);
    await assert.rejects(client.get('nobody'), { kind: 'taskNotFound' });
  }
});

test('the fetch handler serves the card for the address that it was asked at', async (t) => {
  const { server } = create(t);
  const path = '/.well-known/agent-card.json';
  const response = await server.fetch(new Request(AGENT + path));
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.partialDeepStrictEqual(await response.json(), { url: AGENT });
  const mounted = await server.fetch(new Request(`${AGENT}/a/b${path}`), { mount: '/a/b' });
  assert.partialDeepStrictEqual(await mounted.json(), { url: `${AGENT}/a/b` });
  const etag = response.headers.get('etag')!;
  const again = await server.fetch(
    new Request(AGENT + path, { headers: { 'if-none-match': etag } }),
  );
  assert.deepEqual([again.status, await again.text()], [304, '']);
  const head = await server.fetch(new Request(AGENT + path, { method: 'HEAD' }));
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('the fetch handler streams events with their ids, and resumes behind one of them', async (t) => {
  const { server } = create(t);
  const response = await server.fetch(rpc('SendStreamingMessage', { message: message('count 2') }));
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const text = await within('the stream', response.text());
  const frames = text.trimEnd().split('\n\n');
  assert.deepEqual(
    frames.map((frame) => frame.split('\n')[0]),
    ['id: 1', 'id: 2', 'id: 3', 'id: 4', 'id: 5'],
  );
  const first = JSON.parse(frames[0]!.split('\ndata: ')[1]!);
  assert.equal(first.id, 7);
  const { id } = first.result.task;
  const rest = await server.fetch(rpc('SubscribeToTask', { id }, { 'last-event-id': '3' }));
  assert.deepEqual((await rest.text()).trimEnd().split('\n\n'), frames.slice(3));
});

test('the fetch handler answers errors as JSON, and that of a JSON-RPC stream as its only event', async (t) => {
  const { server } = create(t, { limits: { maxBodyBytes: 2000 } });
  const ask = async (request: Request) => {
    const response = await server.fetch(request);
    const isStream = response.headers.get('content-type') === 'text/event-stream';
    const text = (await response.text()).replace(isStream ? /^data: / : '', '');
    const { error } = JSON.parse(text) as { error: { code: number } };
    return [response.status, error.code, ...(isStream ? ['stream'] : [])];
  };
  const headers = { 'content-type': 'application/json' };
  const post = (body: string) => new Request(AGENT, { method: 'POST', headers, body });
  assert.deepEqual(await ask(post('{')), [200, -32700]);
  assert.deepEqual(await ask(post('[]')), [200, -32600]);
  assert.deepEqual(await ask(post(`"${'x'.repeat(3000)}"`)), [413, -32600]);
  assert.deepEqual(await ask(rpc('NoSuchThing', {})), [200, -32601]);
  assert.deepEqual(await ask(rpc('GetTask', { id: 'nobody' })), [200, -32001]);
  assert.deepEqual(await ask(rpc('SubscribeToTask', { id: 'nobody' })), [200, -32001, 'stream']);
  assert.deepEqual(await ask(new Request(`${AGENT}/tasks/nobody`)), [404, 404]);
  assert.deepEqual(await ask(new Request(`${AGENT}/nowhere`)), [404, 404]);
  assert.deepEqual(await ask(new Request(`${AGENT}/message:send`)), [405, 405]);
});

/** Opens a stream of a task that says something and then waits. */
async function open(server: AgentServer, signal?: AbortSignal): Promise<Response> {
  const request = rpc('SendStreamingMessage', { message: message('hold a') });
  return server.fetch(signal ? new Request(request, { signal }) : request);
}

for (const [how, leave] of [
  ['cancels the body', (_: AbortController, body: ReadableStreamDefaultReader) => body.cancel()],
  ['aborts the request', (controller: AbortController) => controller.abort()],
] as const) {
  test(`a reader that ${how} in the middle of a stream is freed, and the task goes on`, async (t) => {
    const { server, gates } = create(t, { limits: { maxStreams: 1 } });
    const controller = new AbortController();
    const response = await open(server, controller.signal);
    const reader = response.body!.getReader();
    const { value } = await within('the first event', reader.read());
    const { id } = JSON.parse(new TextDecoder().decode(value).split('data: ')[1]!).result.task;
    // There is one place, and it is taken.
    assert.equal((await open(server)).status, 429);
    await leave(controller, reader);
    const second = await server.fetch(rpc('SubscribeToTask', { id }));
    assert.equal(second.status, 200);
    gates.open('a');
    assert.match(await within('the rest', second.text()), /TASK_STATE_COMPLETED/);
  });
}
