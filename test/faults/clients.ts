/** Clients of both protocol versions that put load on the nodes, and write down everything that they are told. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { isObject } from '../../src/base/index.ts';
import type { History } from './checker.ts';

type Version = '0.3' | '1.0';

const METHODS = {
  '0.3': {
    send: 'message/send',
    stream: 'message/stream',
    subscribe: 'tasks/resubscribe',
    cancel: 'tasks/cancel',
  },
  '1.0': {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    subscribe: 'SubscribeToTask',
    cancel: 'CancelTask',
  },
} as const;

const TIMEOUT_MS = 8000;

export interface LoadOptions {
  readonly base: string;
  readonly history: History;
  readonly random: () => number;
  readonly signal: AbortSignal;
  readonly hook: string;
}

/** Sends requests until the signal is aborted. Requests that fail are not written down. */
export async function client(version: Version, options: LoadOptions): Promise<void> {
  const { signal, random } = options;
  while (!signal.aborted) {
    const choice = random();
    try {
      if (choice < 0.4) await streamed(version, options);
      else if (choice < 0.7) await approved(version, options);
      else if (choice < 0.85) await canceled(version, options);
      else await hooked(version, options);
    } catch {
      // The node was killed, paused, or could not reach the database.
      await setTimeout(50);
    }
  }
}

/** Starts a task that takes a while, and returns its id. */
export function startTask(options: LoadOptions, text: string): Promise<string> {
  return send('0.3', options, says('0.3', text), { blocking: false });
}

/** Starts a task and reads its stream. If the stream breaks, continues at another node. */
async function streamed(version: Version, options: LoadOptions): Promise<void> {
  const { history, random } = options;
  const message = says(
    version,
    `steps ${2 + Math.floor(random() * 20)} ${Math.floor(random() * 40)}`,
  );
  const body = request(version, 'stream', { message });
  let stream = await read(version, options, body, {});
  const { taskId } = stream;
  if (taskId === undefined) return;
  history.acknowledged.push({ messageId: message.messageId, taskId });
  for (let tries = 0; !stream.isWhole && tries < 20 && !options.signal.aborted; tries++) {
    await setTimeout(100);
    const last = stream.last ?? 0;
    const again = request(version, 'subscribe', { id: taskId });
    stream = await read(version, options, again, { 'last-event-id': String(last) }, taskId).catch(
      () => ({ taskId, isWhole: false, last }),
    );
  }
}

/** Starts a task that asks, and answers twice at the same time, at different nodes. */
async function approved(version: Version, options: LoadOptions): Promise<void> {
  const task = await send(version, options, says(version, 'tool'));
  const answers = ['yes', 'yes'].map((text) =>
    send(version, options, says(version, text, task)).catch(() => undefined),
  );
  await Promise.all(answers);
}

async function canceled(version: Version, options: LoadOptions): Promise<void> {
  const message = says(version, `steps 50 ${Math.floor(options.random() * 100)}`);
  const taskId = await send(version, options, message, { blocking: false });
  await setTimeout(options.random() * 200);
  await call(version, options, request(version, 'cancel', { id: taskId }));
}

/** Starts a task with a webhook. */
async function hooked(version: Version, options: LoadOptions): Promise<void> {
  const message = says(version, `steps ${2 + Math.floor(options.random() * 10)} 20`);
  const configId = randomUUID();
  const url = `${options.hook}/${configId}`;
  const push =
    version === '0.3'
      ? { pushNotificationConfig: { id: configId, url } }
      : { taskPushNotificationConfig: { id: configId, url } };
  const taskId = await send(version, options, message, { blocking: false }, push);
  options.history.webhooks.push({ taskId, configId, after: 0 });
}

function says(version: Version, text: string, taskId?: string) {
  const task = taskId === undefined ? {} : { taskId };
  return version === '0.3'
    ? {
        kind: 'message',
        messageId: randomUUID(),
        role: 'user',
        parts: [{ kind: 'text', text }],
        ...task,
      }
    : { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...task };
}

function request(version: Version, method: keyof (typeof METHODS)['0.3'], params: object): object {
  return { jsonrpc: '2.0', id: 1, method: METHODS[version][method], params: { ...params } };
}

/** Sends a message. Returns the id of its task, and writes down that it was acknowledged. */
async function send(
  version: Version,
  options: LoadOptions,
  message: ReturnType<typeof says>,
  { blocking = true } = {},
  push: object = {},
): Promise<string> {
  const configuration =
    version === '0.3' ? { blocking, ...push } : { returnImmediately: !blocking, ...push };
  const result = await call(version, options, request(version, 'send', { message, configuration }));
  const task = isObject(result) && isObject(result['task']) ? result['task'] : result;
  const taskId = isObject(task) ? task['id'] : undefined;
  if (typeof taskId !== 'string') throw new Error('no task');
  options.history.acknowledged.push({ messageId: message.messageId, taskId });
  return taskId;
}

function post(
  version: Version,
  { base }: LoadOptions,
  body: object,
  headers: Record<string, string>,
) {
  return fetch(base, {
    method: 'POST',
    // Each request is a connection of its own, so that the next node gets it.
    headers: {
      'content-type': 'application/json',
      'a2a-version': version,
      connection: 'close',
      ...headers,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

async function call(version: Version, options: LoadOptions, body: object): Promise<unknown> {
  const response = await post(version, options, body, {});
  const answer: unknown = await response.json();
  if (!isObject(answer) || !('result' in answer)) throw new Error(JSON.stringify(answer));
  return answer['result'];
}

interface ReadStream {
  readonly taskId: string | undefined;
  readonly isWhole: boolean;
  readonly last: number | undefined;
}

/** Reads a stream to its end, whether it ends well or not. */
async function read(
  version: Version,
  options: LoadOptions,
  body: object,
  headers: Record<string, string>,
  known?: string,
): Promise<ReadStream> {
  const response = await post(version, options, body, { accept: 'text/event-stream', ...headers });
  const events: { seq: number; about: string }[] = [];
  let taskId = known;
  let isFinal = false;
  try {
    for await (const { id, data } of serverSentEvents(response)) {
      const answer: unknown = JSON.parse(data);
      const result = isObject(answer) ? answer['result'] : undefined;
      if (!isObject(result)) break;
      const seen = version === '0.3' ? seenIn03(result) : seenIn10(result);
      taskId ??= seen.taskId;
      isFinal = seen.isFinal;
      if (id !== undefined) events.push({ seq: Number(id), about: seen.about });
    }
  } catch {
    isFinal = false;
  }
  if (taskId !== undefined && events.length > 0) {
    options.history.streams.push({ taskId, events, isWhole: isFinal });
  }
  return { taskId, isWhole: isFinal, last: events.at(-1)?.seq };
}

interface Seen {
  readonly taskId: string | undefined;
  readonly about: string;
  readonly isFinal: boolean;
}

const FINAL = new Set(['completed', 'failed', 'canceled', 'rejected', 'input-required']);

function seenIn03(result: Readonly<Record<string, unknown>>): Seen {
  const kind = result['kind'];
  const taskId = text(kind === 'task' ? result['id'] : result['taskId']);
  if (kind === 'status-update') {
    const state = text(field(result['status'], 'state')) ?? '';
    return { taskId, about: `status ${state}`, isFinal: FINAL.has(state) };
  }
  if (kind === 'task') return { taskId, about: 'task', isFinal: false };
  return { taskId, about: `artifact ${firstText(result['artifact'])}`, isFinal: false };
}

function seenIn10(result: Readonly<Record<string, unknown>>): Seen {
  const { task, statusUpdate, artifactUpdate } = result;
  if (isObject(task)) return { taskId: text(task['id']), about: 'task', isFinal: false };
  if (isObject(statusUpdate)) {
    const state = text(field(statusUpdate['status'], 'state')) ?? '';
    const name = state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-');
    return {
      taskId: text(statusUpdate['taskId']),
      about: `status ${name}`,
      isFinal: FINAL.has(name),
    };
  }
  const update = isObject(artifactUpdate) ? artifactUpdate : {};
  const about = `artifact ${firstText(update['artifact'])}`;
  return { taskId: text(update['taskId']), about, isFinal: false };
}

function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function firstText(artifact: unknown): string {
  const parts = field(artifact, 'parts');
  return Array.isArray(parts) ? (text(field(parts[0], 'text')) ?? '') : '';
}

async function* serverSentEvents(
  response: Response,
): AsyncGenerator<{ id: string | undefined; data: string }> {
  if (!response.body || !response.headers.get('content-type')?.includes('event-stream')) return;
  let rest = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = `${rest}${piece}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      const value = (name: string) =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim();
      const data = value('data');
      if (data !== undefined) yield { id: value('id'), data };
    }
  }
}

/** Receives webhooks, refuses some, and writes down those that it takes. */
export async function startReceiver(history: History, random: () => number) {
  const server = createServer((request, response) => {
    request.resume();
    request.once('end', () => {
      const [taskId = '', configId = '', seq = ''] = String(request.headers['webhook-id']).split(
        '.',
      );
      const takes = random() > 0.1;
      if (takes) history.deliveries.push({ taskId, configId, seq: Number(seq) });
      response.writeHead(takes ? 200 : 500).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, close: () => server.close() };
}
