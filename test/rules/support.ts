/**
 * Servers and raw HTTP clients for the rules' tests: requests go over a real port, as a peer's would. `WIRES` are the
 * four ways to say the same thing; paths and names are written out here, so that a wrong table in the source shows.
 */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { TestContext } from 'node:test';
import {
  type A2AError,
  type Message,
  type Operation,
  type ParamsOf,
  type ProtocolVersion,
  type StreamEvent,
  type Task,
  v03,
  v1,
} from '../../src/protocol/index.ts';
import type { ResultOf, UnaryOperation } from '../../src/protocol/methods.ts';
import {
  type A2AAgent,
  createAgent,
  type Listening,
  type Logger,
  serve,
  type ServeOptions,
} from '../../src/server.ts';
import { within } from '../support/within.ts';

export interface Logged {
  readonly level: string;
  readonly fields: object;
  readonly message: string;
}

export function recorder(): Logger & { readonly entries: Logged[] } {
  const entries: Logged[] = [];
  const take = (level: string) => (fields: object, message: string) => {
    entries.push({ level, fields, message });
  };
  return {
    entries,
    debug: take('debug'),
    info: take('info'),
    warn: take('warn'),
    error: take('error'),
  };
}

export interface Started extends Listening {
  readonly log: Logged[];
}

/** A server on a free port that ends with the test. */
export async function start(
  t: TestContext,
  agent: A2AAgent = sample(),
  options: ServeOptions = {},
): Promise<Started> {
  const logger = recorder();
  const listening = await serve(agent, {
    logger,
    ...options,
    limits: { graceMs: 200, ...options.limits },
  }).listen(0);
  t.after(() => listening.close(0));
  return { ...listening, log: logger.entries };
}

/** Does what the first word of the text says; anything else is repeated, word by word. */
export function sample(): A2AAgent {
  return createAgent(
    {
      name: 'Sample',
      description: 'Does as it is told',
      reply: ({ text }) => (text.startsWith('reply ') ? text.slice(6) : undefined),
    },
    async function* (ctx) {
      const [verb] = ctx.text.split(' ', 1);
      if (verb === 'hold') {
        yield 'holding';
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
      } else if (verb === 'ask') {
        yield 'before ';
        const { text } = await ctx.ask('Which city?');
        yield `after ${text}`;
      } else if (verb === 'auth') {
        yield (await ctx.ask('Sign in', { auth: true })).text;
      } else if (verb === 'fail') {
        yield 'some';
        throw new Error(`the secret is ${ctx.text.slice(5)}`);
      } else if (verb === 'count') {
        for (let n = 1; n <= Number(ctx.text.slice(6)); n++) yield `${n} `;
      } else {
        for (const word of ctx.text.split(' ')) yield `${word} `;
      }
    },
  );
}

let made = 0;

export function userMessage(text: string, extra: Partial<Message> = {}): Message {
  const messageId = `m-${process.pid}-${++made}`;
  return { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...extra };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
  readonly result: unknown;
  readonly error: A2AError | undefined;
}

/** One event of a stream: as it came, and what it means. */
export interface Frame {
  readonly id: number | undefined;
  readonly data: unknown;
  readonly event: StreamEvent;
}

export interface Stream extends AsyncIterable<Frame> {
  readonly headers: Headers;
  /** The next event, or undefined at the end. */
  next(): Promise<Frame | undefined>;
  /** All that is left. */
  rest(): Promise<Frame[]>;
  close(): Promise<void>;
}

type Init = { readonly headers?: Record<string, string>; readonly query?: string };

export interface Wire {
  readonly name: string;
  readonly version: ProtocolVersion;
  readonly binding: 'JSONRPC' | 'HTTP+JSON';
  /** A request that may go either way. */
  ask<O extends Operation>(
    url: string,
    operation: O,
    params: ParamsOf<O>,
    init?: Init,
  ): Promise<Answer>;
  /** The decoded result; an error fails the test. */
  call<O extends UnaryOperation>(
    url: string,
    operation: O,
    params: ParamsOf<O>,
    init?: Init,
  ): Promise<ResultOf<O>>;
  open(
    url: string,
    operation: 'streamMessage' | 'subscribe',
    params: ParamsOf<'streamMessage'> | ParamsOf<'subscribe'>,
    init?: Init,
  ): Promise<Stream>;
}

const NAMES: Readonly<Record<ProtocolVersion, Readonly<Record<Operation, string>>>> = {
  '0.3': {
    sendMessage: 'message/send',
    streamMessage: 'message/stream',
    getTask: 'tasks/get',
    listTasks: 'tasks/list',
    cancelTask: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
    setPushConfig: 'tasks/pushNotificationConfig/set',
    getPushConfig: 'tasks/pushNotificationConfig/get',
    listPushConfigs: 'tasks/pushNotificationConfig/list',
    deletePushConfig: 'tasks/pushNotificationConfig/delete',
    getExtendedCard: 'agent/getAuthenticatedExtendedCard',
  },
  '1.0': {
    sendMessage: 'SendMessage',
    streamMessage: 'SendStreamingMessage',
    getTask: 'GetTask',
    listTasks: 'ListTasks',
    cancelTask: 'CancelTask',
    subscribe: 'SubscribeToTask',
    setPushConfig: 'CreateTaskPushNotificationConfig',
    getPushConfig: 'GetTaskPushNotificationConfig',
    listPushConfigs: 'ListTaskPushNotificationConfigs',
    deletePushConfig: 'DeleteTaskPushNotificationConfig',
    getExtendedCard: 'GetExtendedAgentCard',
  },
};

type Raw = Record<string, unknown>;
type RestCall = readonly [verb: string, path: string, rest?: Raw];

/** The route of an operation, and what does not go into its path. `raw` are the version's own parameters. */
function routeOf(version: ProtocolVersion, operation: Operation, raw: Raw): RestCall {
  const { id, taskId, pushNotificationConfigId, ...others } = raw;
  const task = String(taskId ?? id);
  const configs = `/tasks/${task}/pushNotificationConfigs`;
  const config = `${configs}/${String(version === '1.0' ? id : pushNotificationConfigId)}`;
  switch (operation) {
    case 'sendMessage':
      return ['POST', '/message:send', raw];
    case 'streamMessage':
      return ['POST', '/message:stream', raw];
    case 'getTask':
      return ['GET', `/tasks/${task}`, others];
    case 'listTasks':
      return ['GET', '/tasks', raw];
    case 'cancelTask':
      return ['POST', `/tasks/${task}:cancel`, others];
    case 'subscribe':
      return ['GET', `/tasks/${task}:subscribe`, others];
    case 'setPushConfig':
      return ['POST', configs, version === '1.0' ? { ...others, id } : { ...others }];
    case 'getPushConfig':
      return ['GET', config];
    case 'listPushConfigs':
      return ['GET', configs];
    case 'deletePushConfig':
      return ['DELETE', config];
    case 'getExtendedCard':
      return ['GET', version === '1.0' ? '/extendedAgentCard' : '/card'];
    default:
      throw new Error(`no route for ${String(operation)}`);
  }
}

function makeWire(version: ProtocolVersion, binding: Wire['binding']): Wire {
  const codec = version === '1.0' ? v1 : v03;
  const rpc = binding === 'JSONRPC';

  function fetched(
    url: string,
    operation: Operation,
    params: never,
    init: Init,
  ): Promise<Response> {
    const raw = codec.encodeParams(operation, params) as Raw;
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    // 0.3 has no such header: its absence is part of what is tested.
    if (version === '1.0') headers['a2a-version'] = '1.0';
    Object.assign(headers, init.headers);
    const query = init.query === undefined ? '' : `?${init.query}`;
    if (rpc) {
      const body = { jsonrpc: '2.0', id: 'q1', method: NAMES[version][operation], params: raw };
      return fetch(`${url}/${query}`, { method: 'POST', headers, body: JSON.stringify(body) });
    }
    const [verb, path, rest = {}] = routeOf(version, operation, raw);
    const where = `${url}${version === '0.3' ? '/v1' : ''}${path}`;
    if (verb === 'POST') {
      return fetch(`${where}${query}`, { method: verb, headers, body: JSON.stringify(rest) });
    }
    const search = new URLSearchParams(init.query);
    for (const [key, value] of Object.entries(rest)) {
      if (value !== undefined) search.set(key, value as string);
    }
    return fetch(`${where}?${search.toString()}`, { method: verb, headers });
  }

  async function answered(response: Response): Promise<Answer> {
    const { status, headers } = response;
    const text = await response.text();
    // A refused stream of JSON-RPC is one event.
    const isStream = headers.get('content-type') === 'text/event-stream';
    const [, event] = isStream ? (/^data: (.*)\n\n$/.exec(text) ?? []) : [];
    if (isStream && event === undefined) throw new Error(`not one event: ${text.slice(0, 200)}`);
    const json: unknown = text === '' ? undefined : JSON.parse(event ?? text);
    const body = (json ?? {}) as { result?: unknown; error?: unknown };
    const failed = rpc ? body.error !== undefined : status >= 400;
    const error = failed ? codec.decodeError(rpc ? body.error : json, status) : undefined;
    return { status, headers, text, json, result: rpc ? body.result : json, error };
  }

  return {
    name: `${rpc ? 'JSON-RPC' : 'REST'} ${version}`,
    version,
    binding,
    ask: async (url, operation, params, init = {}) =>
      answered(await fetched(url, operation, params as never, init)),
    async call(url, operation, params, init = {}) {
      const answer = await answered(await fetched(url, operation, params as never, init));
      if (answer.error) throw answer.error;
      return codec.decodeResult(operation, answer.result);
    },
    async open(url, operation, params, init = {}) {
      const response = await fetched(url, operation, params as never, init);
      if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
        throw (await answered(response)).error ?? new Error('neither a stream nor an error');
      }
      return streamOf(response, (data) => {
        const { result, error } = data as { result?: unknown; error?: unknown };
        if (rpc && error !== undefined) throw codec.decodeError(error);
        return codec.decodeEvent(rpc ? result : data);
      });
    },
  };
}

export const WIRES: readonly Wire[] = [
  makeWire('0.3', 'JSONRPC'),
  makeWire('0.3', 'HTTP+JSON'),
  makeWire('1.0', 'JSONRPC'),
  makeWire('1.0', 'HTTP+JSON'),
];
export const [rpc03, rest03, rpc1, rest1] = WIRES as [Wire, Wire, Wire, Wire];

function streamOf(response: Response, decode: (data: unknown) => StreamEvent): Stream {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';

  async function next(): Promise<Frame | undefined> {
    for (;;) {
      const at = text.indexOf('\n\n');
      if (at < 0) {
        const { done, value } = await reader.read();
        if (done) return undefined;
        text += value;
        continue;
      }
      const lines = text.slice(0, at).split('\n');
      text = text.slice(at + 2);
      const field = (name: string) => {
        const line = lines.find((line) => line.startsWith(`${name}: `));
        return line?.slice(name.length + 2);
      };
      const data = field('data');
      if (data === undefined) continue;
      const id = field('id');
      const json: unknown = JSON.parse(data);
      return { id: id === undefined ? undefined : Number(id), data: json, event: decode(json) };
    }
  }

  async function* iterate(): AsyncGenerator<Frame> {
    for (let frame = await next(); frame; frame = await next()) yield frame;
  }

  return {
    headers: response.headers,
    next,
    async rest() {
      const frames: Frame[] = [];
      for await (const frame of iterate()) frames.push(frame);
      return frames;
    },
    close: () => reader.cancel(),
    [Symbol.asyncIterator]: iterate,
  };
}

/** Reads until an event that fits; it is the last that was read. */
export async function until(stream: Stream, fits: (event: StreamEvent) => boolean): Promise<Frame> {
  const next = () => within(`an event that is ${String(fits)}`, stream.next());
  for (let frame = await next(); frame; frame = await next()) {
    if (fits(frame.event)) return frame;
  }
  throw new Error('the stream ended before');
}

export const isState = (state: string) => (event: StreamEvent) =>
  (event.kind === 'status-update' || event.kind === 'task') && event.status.state === state;

/** A request with everything in the test's hands: any Host, any body, any header. */
export function raw(
  url: string,
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  const { method = 'POST', path = '/', body } = options;
  const { port } = new URL(url);
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: { ...headers, ...options.headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
        });
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** A task that has its one answer and is over. */
export async function finished(url: string, init?: Init, text = 'hello'): Promise<Task> {
  const message = userMessage(text);
  return (await rpc1.call(url, 'sendMessage', { message }, init)) as Task;
}

/** A task that is being worked on, until it is canceled. */
export async function working(url: string, init?: Init): Promise<Task> {
  const configuration = { blocking: false };
  const params = { message: userMessage('hold'), configuration };
  const { id } = (await rpc1.call(url, 'sendMessage', params, init)) as Task;
  const stream = await rpc1.open(url, 'subscribe', { id }, init);
  await until(stream, (event) => isState('working')(event) || event.kind === 'artifact-update');
  await stream.close();
  return rpc1.call(url, 'getTask', { id }, init);
}

/** The text of a task's artifacts. */
export function artifactText(task: Task): string {
  let text = '';
  for (const { parts } of task.artifacts ?? []) {
    for (const part of parts) if (part.kind === 'text') text += part.text;
  }
  return text;
}
