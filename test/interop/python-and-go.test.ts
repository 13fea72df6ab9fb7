/**
 * The clients of the Python and Go SDKs, whose packages cannot be installed here: their requests, byte for byte, and
 * readers that accept and lose what theirs do.
 */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, test, type TestContext } from 'node:test';
import { isObject } from '../../src/base/index.ts';
import { serve, type Listening } from '../../src/server.ts';
import { tries } from '../support/interop-table.ts';
import { interopAgent } from './agent.ts';
import { createGates, quiet, within } from './support.ts';

const gates = createGates();
let listening: Listening;
before(async () => {
  listening = await serve(interopAgent(gates), { logger: quiet }).listen(0);
});
after(() => listening.close(0));

/** The SDK's own error when it cannot read the server's error: the code is lost. */
class LostError extends Error {}

/** An error whose code arrived. */
class CodeError extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`code ${code}`);
    this.code = code;
  }
}

type Json = Record<string, unknown>;

function object(value: unknown): Json {
  if (!isObject(value)) throw new LostError(`not an object: ${JSON.stringify(value)}`);
  return value;
}

interface Sdk {
  readonly name: string;
  readonly peer: string;
  readonly version: '0.3' | '1.0';
  readonly headers: Readonly<Record<string, string>>;
  readonly streamHeaders: Readonly<Record<string, string>>;
  /** Returns the texts that a streamed response carries. */
  read(response: Response): Promise<string[]>;
  /** Returns the result of a JSON-RPC response. */
  result(text: string): Json;
}

/** Go reads the lines that begin with `data:`, whatever the content type, and only with status 200. */
async function goStream(response: Response): Promise<string[]> {
  if (response.status !== 200) throw new LostError(`unexpected HTTP status: ${response.status}`);
  const lines = (await response.text()).split('\n');
  return lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []));
}

/** Go's response types: the id is a string, and `data` a list of objects (since 2.1) or an object (before). */
function goResult(dataOf: (data: unknown) => boolean) {
  return (text: string): Json => {
    const { id, result, error } = object(JSON.parse(text));
    if (typeof id !== 'string' && id !== null) throw new LostError('id: not a string');
    if (error === undefined) return object(result);
    const { code, data } = object(error);
    if (data !== undefined && !dataOf(data)) throw new LostError('data: of another type');
    throw new CodeError(Number(code));
  };
}

/** httpx-sse: an event ends at an empty line. One that the stream's end cuts off does not count. */
function httpxEvents(text: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === '') {
      if (data.length > 0) events.push(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return events;
}

const isStream = ({ headers }: Response) =>
  (headers.get('content-type') ?? '').includes('text/event-stream');

/** Python 0.3: `raise_for_status`, then httpx-sse, which takes no other content type. */
async function python03Stream(response: Response): Promise<string[]> {
  if (response.status >= 400) throw new LostError(`HTTP Error ${response.status}`);
  if (!isStream(response)) throw new LostError('HTTP Error 400: Invalid SSE response');
  return httpxEvents(await response.text());
}

/** Python 1.0 reads a body that is no stream as one response. */
async function python1Stream(response: Response): Promise<string[]> {
  if (response.status >= 400) throw new LostError(`HTTP Error ${response.status}`);
  const text = await response.text();
  return isStream(response) ? httpxEvents(text) : [text];
}

function pythonResult(text: string): Json {
  const { result, error } = object(JSON.parse(text));
  if (!error) return object(result);
  const { code, message } = object(error);
  if (typeof message !== 'string') throw new LostError('message: not a string');
  throw new CodeError(Number(code));
}

const json = { 'content-type': 'application/json' };
const python = { ...json, accept: '*/*', 'user-agent': 'python-httpx/0.28.1' };
const pythonSse = { ...python, accept: 'text/event-stream', 'cache-control': 'no-store' };
const go = { ...json, 'user-agent': 'Go-http-client/1.1', 'a2a-version': '1.0' };
const oldGo = { ...json, 'user-agent': 'Go-http-client/1.1' };
const sse = { accept: 'text/event-stream' };

const SDKS: readonly Sdk[] = [
  {
    name: 'Python 0.3',
    peer: 'a2a-python 0.3.22 (its bytes)',
    version: '0.3',
    headers: python,
    streamHeaders: pythonSse,
    read: python03Stream,
    result: pythonResult,
  },
  {
    name: 'Python 1.0',
    peer: 'a2a-python 1.1.0 (its bytes)',
    version: '1.0',
    headers: { ...python, 'a2a-version': '1.0' },
    streamHeaders: { ...pythonSse, 'a2a-version': '1.0' },
    read: python1Stream,
    result: pythonResult,
  },
  {
    name: 'Go 0.3',
    peer: 'a2a-go 0.3 (its bytes)',
    version: '0.3',
    headers: oldGo,
    streamHeaders: { ...oldGo, ...sse },
    read: goStream,
    result: goResult(isObject),
  },
  {
    name: 'Go 1.0',
    peer: 'a2a-go 2.3.1 (its bytes)',
    version: '1.0',
    headers: go,
    streamHeaders: { ...go, ...sse },
    read: goStream,
    result: goResult((data) => Array.isArray(data) && data.every(isObject)),
  },
];

const NAMES = {
  send: { '0.3': 'message/send', '1.0': 'SendMessage' },
  stream: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
  cancel: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
  subscribe: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
} as const;

/** The parameters of a message, as the SDKs write them. */
function said({ version }: Sdk, text: string, more: Json = {}): Json {
  const messageId = crypto.randomUUID();
  if (version === '1.0') {
    const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...more };
    return { message, configuration: {} };
  }
  const parts = [{ kind: 'text', text }];
  const message = { kind: 'message', messageId, role: 'user', parts, ...more };
  return { message, configuration: { acceptedOutputModes: [], blocking: true } };
}

function post(sdk: Sdk, method: keyof typeof NAMES, params: Json): Promise<Response> {
  const id = crypto.randomUUID();
  const body = JSON.stringify({
    jsonrpc: '2.0',
    method: NAMES[method][sdk.version],
    params,
    id,
  });
  const streams = method === 'stream' || method === 'subscribe';
  const headers = streams ? sdk.streamHeaders : sdk.headers;
  return within(method, fetch(`${listening.url}/`, { method: 'POST', headers, body }));
}

async function unary(sdk: Sdk, method: 'send' | 'cancel', params: Json): Promise<Json> {
  const response = await post(sdk, method, params);
  if (response.status !== 200) throw new LostError(`HTTP ${response.status}`);
  const result = sdk.result(await response.text());
  return 'task' in result ? object(result['task']) : result;
}

async function streamed(sdk: Sdk, method: 'stream' | 'subscribe', params: Json): Promise<Json[]> {
  const texts = await sdk.read(await post(sdk, method, params));
  return texts.map((text) => sdk.result(text));
}

/** The code with which the SDK's caller sees a stream refused. */
async function refused(sdk: Sdk, method: 'stream' | 'subscribe', params: Json): Promise<number> {
  try {
    await streamed(sdk, method, params);
  } catch (error) {
    if (error instanceof CodeError) return error.code;
    throw error;
  }
  throw new Error('not refused');
}

/** The states that the events of a stream lead to. */
function statesOf(events: readonly Json[]): unknown[] {
  return events.flatMap((event) => {
    const inner = Object.values(event).find((value) => isObject(value) && 'status' in value);
    const { status } = object(inner ?? event);
    return isObject(status)
      ? [String(status['state']).toLowerCase().replace('task_state_', '')]
      : [];
  });
}

/** Begins a task that works until it is canceled. */
async function working(sdk: Sdk): Promise<string> {
  const params = said(sdk, `hold ${crypto.randomUUID()}`);
  const configuration = sdk.version === '1.0' ? { returnImmediately: true } : { blocking: false };
  return String((await unary(sdk, 'send', { ...params, configuration }))['id']);
}

for (const sdk of SDKS) {
  const note = { protocol: 'A2A', peer: sdk.peer, role: 'client' } as const;

  test(`${sdk.name}: a message is sent, and its task comes back`, async (t) => {
    tries(t, { ...note, operation: 'send' });
    assert.deepEqual(statesOf([await unary(sdk, 'send', said(sdk, 'count 2'))]), ['completed']);
  });

  test(`${sdk.name}: a stream has the task, its work and its end`, async (t) => {
    tries(t, { ...note, operation: 'stream' });
    const events = await streamed(sdk, 'stream', said(sdk, 'count 2'));
    assert.deepEqual(statesOf(events), ['submitted', 'working', 'completed']);
  });

  test(`${sdk.name}: a task is canceled, and a subscription to it sees that`, async (t) => {
    tries(t, { ...note, operation: 'subscribe' });
    const id = await working(sdk);
    const response = await post(sdk, 'subscribe', { id });
    assert.deepEqual(statesOf([await unary(sdk, 'cancel', { id })]), ['canceled']);
    const events = (await sdk.read(response)).map((text) => sdk.result(text));
    assert.equal(statesOf(events).at(-1), 'canceled');
  });

  test(`${sdk.name}: the code of a refused stream arrives`, async (t) => {
    tries(t, { ...note, operation: 'errors' });
    assert.equal(await refused(sdk, 'subscribe', { id: 'nobody' }), -32001);
    assert.equal(await refused(sdk, 'stream', said(sdk, 'x', { taskId: 'nobody' })), -32001);
    assert.equal(await refused(sdk, 'stream', said(sdk, 'x', { parts: [] })), -32602);
    const { id, contextId } = await unary(sdk, 'send', said(sdk, 'count 1'));
    const again = said(sdk, 'x', { taskId: id, contextId });
    assert.equal(await refused(sdk, 'stream', again), -32004);
  });
}

test('a subscription to a finished task is refused as JSON with its status, as the 1.0 kit wants it', async () => {
  for (const sdk of SDKS) {
    const { id } = await unary(sdk, 'send', said(sdk, 'count 1'));
    const response = await post(sdk, 'subscribe', { id });
    assert.equal(response.status, 400);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(object(object(await response.json())['error'])['code'], -32004);
  }
});

test('an event is one line for httpx-sse before 0.4.2, which splits lines as Python does', async () => {
  const text = 'one\u2028two\u2029three\u0085four';
  for (const sdk of SDKS) {
    const body = await (await post(sdk, 'stream', said(sdk, text))).text();
    const lines = body.split(/[\n\r\v\f\x85\u2028\u2029]/);
    const events = lines.filter((line) => line.startsWith('data: '));
    assert.ok(lines.every((line) => line === '' || /^(data|id): /.test(line)));
    const [first] = events.map((line) => JSON.parse(line.slice('data: '.length)) as Json);
    assert.ok(JSON.stringify(first).includes(JSON.stringify(text)));
  }
});

interface RestSdk {
  readonly name: string;
  readonly peer: string | undefined;
  readonly version: '0.3' | '1.0';
  readonly headers: Readonly<Record<string, string>>;
  /** What it sends where a request has no parameters of its own. */
  readonly cancels: (id: string) => string | undefined;
  readonly subscribes: readonly [verb: string, body: string | undefined];
  readonly read: (response: Response) => Promise<string[]>;
}

const REST: readonly RestSdk[] = [
  {
    // It speaks the JSON of the protobuf definition.
    name: 'Python 0.3',
    peer: 'a2a-python 0.3.22 (its bytes)',
    version: '0.3',
    headers: python,
    cancels: (id) => JSON.stringify({ name: `tasks/${id}` }),
    subscribes: ['GET', undefined],
    read: python03Stream,
  },
  {
    name: 'Python 1.0',
    peer: 'a2a-python 1.1.0 (its bytes)',
    version: '1.0',
    headers: { ...python, 'a2a-version': '1.0' },
    cancels: (id) => JSON.stringify({ id }),
    subscribes: ['POST', undefined],
    read: python1Stream,
  },
  {
    // Up to 2.3.1 it writes `null` where a request has no parameters.
    name: 'Go 1.0',
    peer: 'a2a-go 2.3.1 (its bytes)',
    version: '1.0',
    headers: go,
    cancels: () => 'null',
    subscribes: ['POST', 'null'],
    read: goStream,
  },
  {
    // Go's client for 0.3 sends no body. This is the same rule in the older version.
    name: 'A client of 0.3 like Go 1.0',
    peer: undefined,
    version: '0.3',
    headers: { ...go, 'a2a-version': '0.3' },
    cancels: () => 'null',
    subscribes: ['POST', 'null'],
    read: goStream,
  },
];

for (const sdk of REST) {
  const { name, version, headers } = sdk;
  const prefix = version === '0.3' ? '/v1' : '';
  const ask = (verb: string, path: string, body: string | undefined, accept = 'application/json') =>
    within(
      path,
      fetch(`${listening.url}${prefix}${path}`, {
        method: verb,
        headers: { ...headers, accept },
        ...(body !== undefined && { body }),
      }),
    );
  const message = (text: string, more: object = {}) => {
    const own = { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...more };
    return version === '0.3'
      ? { request: { ...own, content: [{ text }] } }
      : { message: { ...own, parts: [{ text }] } };
  };
  const send = async (text: string, configuration: object): Promise<Json> => {
    const body = JSON.stringify({ ...message(text), configuration });
    const sent = object(await (await ask('POST', '/message:send', body)).json());
    return object(sent['task']);
  };
  // The protobuf definition of 0.3 spells it so.
  const canceled = version === '0.3' ? 'cancelled' : 'canceled';
  const atOnce = version === '0.3' ? { blocking: false } : { returnImmediately: true };
  const note = (t: TestContext, operation: string) => {
    const { peer } = sdk;
    if (peer !== undefined) tries(t, { protocol: 'A2A', peer, role: 'client', operation });
  };

  test(`${name} over REST: a task is sent and streamed, and a body of null is no body for cancel and subscribe`, async (t) => {
    note(t, 'cancel');
    const done = await send('count 2', version === '0.3' ? { blocking: true } : {});
    assert.deepEqual(statesOf([done]), ['completed']);
    const body = JSON.stringify(message('count 2'));
    const stream = await ask('POST', '/message:stream', body, 'text/event-stream');
    const texts = (await sdk.read(stream)).map((text) => object(JSON.parse(text)));
    assert.deepEqual(statesOf(texts), ['submitted', 'working', 'completed']);
    const id = String((await send(`hold ${crypto.randomUUID()}`, atOnce))['id']);
    const [verb, nothing] = sdk.subscribes;
    const subscribed = await ask(verb, `/tasks/${id}:subscribe`, nothing, 'text/event-stream');
    assert.equal(subscribed.status, 200);
    const stopped = await ask('POST', `/tasks/${id}:cancel`, sdk.cancels(id));
    assert.deepEqual(statesOf([object(await stopped.json())]), [canceled]);
    const events = (await sdk.read(subscribed)).map((text) => object(JSON.parse(text)));
    assert.equal(statesOf(events).at(-1), canceled);
  });

  test(`${name} over REST: a refused stream is an error response with the reason`, async (t) => {
    note(t, 'errors');
    const [verb, nothing] = sdk.subscribes;
    const accept = 'text/event-stream';
    const unknown = await ask(verb, '/tasks/nobody:subscribe', nothing, accept);
    assert.equal(unknown.status, 404);
    assert.match(unknown.headers.get('content-type') ?? '', /^application\/json/);
    const error = await unknown.text();
    if (version === '1.0') assert.match(error, /"reason":"TASK_NOT_FOUND"/);
    // Where a body is needed, `null` is a body that is missing.
    const empty = await ask('POST', '/message:send', 'null');
    assert.equal(empty.status, 400);
    assert.match(await empty.text(), /message/);
  });
}

test('Go over REST: null with GET and DELETE is ignored, and the connection goes on', async (t) => {
  tries(t, {
    protocol: 'A2A',
    peer: 'a2a-go 2.3.1 (its bytes)',
    role: 'client',
    operation: 'get and list',
  });
  const { id } = await unary(SDKS[3]!, 'send', said(SDKS[3]!, 'count 1'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const sockets = new Set<unknown>();
  /** fetch sends no body with GET, and Go does. */
  const ask = (method: string, path: string) =>
    new Promise<[status: number | undefined, text: string]>((resolve, reject) => {
      const headers = { ...go, accept: 'application/json', 'content-length': '4' };
      const asked = request(`${listening.url}${path}`, { method, agent, headers }, (response) => {
        sockets.add(response.socket);
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('end', () => resolve([response.statusCode, text]));
      });
      asked.on('error', reject).end('null');
    });
  const [status, text] = await ask('GET', `/tasks/${String(id)}`);
  assert.deepEqual([status, statesOf([object(JSON.parse(text))])], [200, ['completed']]);
  assert.equal((await ask('GET', '/tasks?pageSize=1'))[0], 200);
  assert.equal((await ask('DELETE', `/tasks/${String(id)}/pushNotificationConfigs/x`))[0], 200);
  assert.equal((await ask('GET', '/tasks/nobody'))[0], 404);
  assert.equal(sockets.size, 1);
});
