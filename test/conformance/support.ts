/**
 * The conformance agent on a free port, and the four ways to talk to it, written out as the public kits write them: no
 * codec of ours is used, so that what is on the wire is what is looked at.
 */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { conformance } from '../../src/cli/agents/conformance.ts';
import { serve, type ServeOptions } from '../../src/server.ts';

export type Json = Record<string, unknown>;

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

export async function start(t: TestContext, options: ServeOptions = {}): Promise<string> {
  const server = serve(conformance, {
    logger: quiet,
    deduplicate: false,
    push: { allowNetworks: ['127.0.0.0/8', '::1/128'] },
    ...options,
  });
  const listening = await server.listen(0);
  t.after(() => listening.close(0));
  return listening.url;
}

let made = 0;

/** An id that begins as asked and is not used twice. */
export function idOf(prefix: string): string {
  return `${prefix}-${process.pid}-${++made}`;
}

export interface Sent {
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  readonly historyLength?: number | undefined;
  readonly blocking?: boolean | undefined;
  readonly parts?: unknown[] | undefined;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  /** The whole body. */
  readonly body: Json;
  /** The result without JSON-RPC's envelope; undefined for an error. */
  readonly result: Json | undefined;
}

/** One way to talk: a version and a binding. */
export interface Wire {
  readonly name: string;
  readonly version: '0.3' | '1.0';
  readonly rpc: boolean;
  send(url: string, messageId: string, sent?: Sent): Promise<Answer>;
  stream(url: string, messageId: string, sent?: Sent): Promise<Events>;
  get(url: string, id: string, historyLength?: number): Promise<Answer>;
  list(url: string, query: Readonly<Record<string, string | number>>): Promise<Answer>;
  cancel(url: string, id: string): Promise<Answer>;
  subscribe(url: string, id: string): Promise<Events>;
}

/** The events of a stream, without JSON-RPC's envelope, in the order they came. */
export interface Events extends Answer {
  readonly events: AsyncIterable<Json>;
}

const POST = { method: 'POST', headers: { 'content-type': 'application/json' } };
const NEW = { 'content-type': 'application/json', 'a2a-version': '1.0' };

async function ask(url: string, init: RequestInit, rpc: boolean): Promise<Answer> {
  const response = await fetch(url, init);
  const body = (await response.json()) as Json;
  const type = response.headers.get('content-type') ?? '';
  const failed = rpc ? 'error' in body : !response.ok;
  const result = failed ? undefined : rpc ? body['result'] : body;
  return { status: response.status, type, body, result: result as Json | undefined };
}

async function open(url: string, init: RequestInit, rpc: boolean): Promise<Events> {
  const response = await fetch(url, init);
  const type = response.headers.get('content-type') ?? '';
  assert.equal(type, 'text/event-stream', await textIfAny(response, type));
  return {
    status: response.status,
    type,
    body: {},
    result: undefined,
    events: read(response, rpc),
  };
}

async function textIfAny(response: Response, type: string): Promise<string> {
  return type === 'text/event-stream' ? '' : response.text();
}

async function* read(response: Response, rpc: boolean): AsyncGenerator<Json> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data: '));
      if (data === undefined) continue;
      const body = JSON.parse(data.slice(6)) as Json;
      if (rpc) assert.deepEqual(Object.keys(body), ['jsonrpc', 'id', 'result']);
      yield (rpc ? body['result'] : body) as Json;
    }
  }
}

/** `message/send`'s parameters in the JSON of 0.3. */
function old(messageId: string, sent: Sent): Json {
  const { taskId, contextId, parts, ...configuration } = sent;
  return {
    message: {
      kind: 'message',
      messageId,
      role: 'user',
      parts: parts ?? [{ kind: 'text', text: 'Hello' }],
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    },
    ...(Object.keys(configuration).length > 0 && { configuration }),
  };
}

/** The same for 0.3's REST, as its kit writes it: ProtoJSON under the names of the .proto file. */
function oldRest(messageId: string, sent: Sent): Json {
  const { taskId, contextId, historyLength, blocking, parts } = sent;
  return {
    message: {
      message_id: messageId,
      role: 'ROLE_USER',
      content: parts ?? [{ text: 'Hello' }],
      ...(taskId !== undefined && { task_id: taskId }),
      ...(contextId !== undefined && { context_id: contextId }),
    },
    configuration: {
      blocking: blocking ?? true,
      ...(historyLength !== undefined && { history_length: historyLength }),
    },
  };
}

function current(messageId: string, sent: Sent): Json {
  const { taskId, contextId, historyLength, blocking, parts } = sent;
  return {
    message: {
      messageId,
      role: 'ROLE_USER',
      parts: parts ?? [{ text: 'Hello' }],
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    },
    configuration: {
      ...(historyLength !== undefined && { historyLength }),
      ...(blocking !== undefined && { returnImmediately: !blocking }),
    },
  };
}

function overRpc(
  version: Wire['version'],
  names: Readonly<Record<'send' | 'stream' | 'get' | 'list' | 'cancel' | 'subscribe', string>>,
  params: (messageId: string, sent: Sent) => Json,
): Wire {
  const init = (method: string, inside: Json): RequestInit => ({
    method: 'POST',
    headers: version === '1.0' ? NEW : POST.headers,
    body: JSON.stringify({ jsonrpc: '2.0', id: idOf('request'), method, params: inside }),
  });
  return {
    name: `${version} JSON-RPC`,
    version,
    rpc: true,
    send: (url, id, sent = {}) => ask(url, init(names.send, params(id, sent)), true),
    stream: (url, id, sent = {}) => open(url, init(names.stream, params(id, sent)), true),
    get: (url, id, historyLength) =>
      ask(
        url,
        init(names.get, { id, ...(historyLength !== undefined && { historyLength }) }),
        true,
      ),
    list: (url, query) => ask(url, init(names.list, query), true),
    cancel: (url, id) => ask(url, init(names.cancel, { id }), true),
    subscribe: (url, id) => open(url, init(names.subscribe, { id }), true),
  };
}

function overRest(
  version: Wire['version'],
  prefix: string,
  params: (messageId: string, sent: Sent) => Json,
): Wire {
  const headers = version === '1.0' ? NEW : POST.headers;
  const post = (body?: Json): RequestInit => ({
    method: 'POST',
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  const length = version === '1.0' ? 'historyLength' : 'history_length';
  return {
    name: `${version} REST`,
    version,
    rpc: false,
    send: (url, id, sent = {}) =>
      ask(`${url}${prefix}/message:send`, post(params(id, sent)), false),
    stream: (url, id, sent = {}) =>
      open(`${url}${prefix}/message:stream`, post(params(id, sent)), false),
    get: (url, id, historyLength) => {
      const query = historyLength === undefined ? '' : `?${length}=${historyLength}`;
      return ask(`${url}${prefix}/tasks/${id}${query}`, { headers }, false);
    },
    list: (url, query) => {
      const text = new URLSearchParams(
        Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
      );
      return ask(`${url}${prefix}/tasks?${text.toString()}`, { headers }, false);
    },
    cancel: (url, id) => ask(`${url}${prefix}/tasks/${id}:cancel`, post(), false),
    subscribe: (url, id) => open(`${url}${prefix}/tasks/${id}:subscribe`, post(), false),
  };
}

export const OLD_RPC = overRpc(
  '0.3',
  {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    list: 'tasks/list',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
  },
  old,
);
export const OLD_REST = overRest('0.3', '/v1', oldRest);
export const NEW_RPC = overRpc(
  '1.0',
  {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    list: 'ListTasks',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
  },
  current,
);
export const NEW_REST = overRest('1.0', '', current);

export const WIRES: readonly Wire[] = [OLD_RPC, OLD_REST, NEW_RPC, NEW_REST];

/** The task in an answer to a message, whether it is bare, as only 0.3's JSON-RPC has it, or under its name. */
export function taskOf(answer: Answer): Json {
  assert.ok(answer.result, JSON.stringify(answer.body));
  return (answer.result['task'] ?? answer.result) as Json;
}

export function stateOf(task: Json): unknown {
  return (task['status'] as Json)['state'];
}

const TWO_L = 'TASK_STATE_CANCELLED';

/** What a state is called there. */
export function stateName(wire: Wire, state: string): string {
  if (wire === OLD_RPC) return state;
  if (wire === OLD_REST && state === 'canceled') return TWO_L;
  return `TASK_STATE_${state.toUpperCase().replaceAll('-', '_')}`;
}

/** The part of an event that says what happened, and its name: `task`, `statusUpdate` and so on. */
export function eventOf(wire: Wire, event: Json): [name: string, inside: Json] {
  if (wire === OLD_RPC) {
    const kind = String(event['kind']).replaceAll(/-(\w)/g, (_, letter: string) =>
      letter.toUpperCase(),
    );
    return [kind, event];
  }
  const [name, ...others] = Object.keys(event);
  assert.deepEqual(others, [], 'an event has one member');
  return [name!, event[name!] as Json];
}
