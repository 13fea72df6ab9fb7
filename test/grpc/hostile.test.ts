/** Clients that leave, deadlines and texts that gRPC cannot encode: they must not harm a task or other clients. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, constants } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { fromJson, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { protoCodecOf } from '../../src/grpc/codec/index.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { createAgent, type Logger, serve, type ServeOptions } from '../../src/server.ts';
import { until } from '../interop/support.ts';
import { genericClient, type Json } from '../support/grpc.ts';

const SERVICE = 'lf.a2a.v1.A2AService';

/** The agent waits for it if the text is `hold`. */
let held = Promise.withResolvers<void>();

const agent = createAgent({ name: 'Talker', description: 'Talks' }, async function* (ctx) {
  if (ctx.text === 'halves') {
    yield 'a \uD83D';
    yield '\uDE00 b \\ud83d';
  }
  // The bytes of a file must be base64.
  if (ctx.text === 'odd') {
    const parts = [{ kind: 'file' as const, file: { bytes: '!?', name: 'x' } }];
    yield { kind: 'artifact-update', artifact: { artifactId: 'odd', parts } };
  }
  if (ctx.text === 'numbers') {
    const parts = [{ kind: 'data' as const, data: { numbers: [NaN, Infinity, 1] } }];
    yield { kind: 'artifact-update', artifact: { artifactId: 'numbers', parts } };
  }
  if (ctx.text === 'hold') await held.promise;
  yield 'done';
});

const said = (text: string): Json => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

async function setUp(t: TestContext, options: ServeOptions = {}) {
  held = Promise.withResolvers();
  const errors: string[] = [];
  const logger: Logger = {
    debug() {},
    info() {},
    warn() {},
    error: (_fields: object, text: string) => void errors.push(text),
  };
  const server = serve(agent, { grpc: grpcBinding(), logger, ...options });
  const listening = await server.listen();
  t.after(() => listening.close(0));
  const client = genericClient(listening.grpc ?? '', SERVICE);
  t.after(() => client[Symbol.dispose]());
  return { ...listening, handler: server.handler, client, errors };
}

async function all(stream: AsyncIterable<Json>): Promise<string> {
  const events: Json[] = [];
  for await (const event of stream) events.push(event);
  return JSON.stringify(events);
}

test('text that ends in the middle of a surrogate pair does not stop the task or its streams', async (t) => {
  const { client, errors } = await setUp(t);
  const streamed = await all(client.stream('SendStreamingMessage', said('halves')));
  assert.match(streamed, /"a \uFFFD".*"\uFFFD b \\\\ud83d".*TASK_STATE_COMPLETED/);
  const { message } = await client.call('SendMessage', said('halves'));
  assert.match(JSON.stringify(message), /TASK_STATE_COMPLETED/);
  await client.call('ListTasks', { includeArtifacts: true });
  assert.deepEqual(errors, []);
});

test('an event that gRPC cannot encode ends the stream of its reader, and the task goes on', async (t) => {
  const { client, url, handler, errors } = await setUp(t);
  const stream = client.stream('SendStreamingMessage', said('odd'));
  const failure = await all(stream).catch((error: ServiceError) => error.code);
  assert.equal(failure, status.INTERNAL);
  await until(
    'running',
    () => handler.running,
    (running) => running === 0,
  );
  const tasks = JSON.stringify(await (await fetch(`${url}/v1/tasks`)).json());
  assert.match(tasks, /completed/i);
  assert.deepEqual(errors, ['a request failed']);
});

test('numbers of an agent that JSON does not have are null, as in the other bindings', async (t) => {
  const { client, url, errors } = await setUp(t);
  const streamed = await all(client.stream('SendStreamingMessage', said('numbers')));
  const { message } = await client.call('SendMessage', said('numbers'));
  const listed = await client.call('ListTasks', { includeArtifacts: true });
  const rest = await (await fetch(`${url}/v1/tasks?includeArtifacts=true`)).json();
  for (const answer of [streamed, message, listed.message, rest]) {
    assert.match(JSON.stringify(answer).replaceAll('\\', ''), /"numbers":\[null,null,1\]/);
  }
  assert.deepEqual(errors, []);
});

test('numbers of a request that JSON does not have are INVALID_ARGUMENT, and no task begins', async (t) => {
  const { client, grpc = '', errors } = await setUp(t);
  const raw = new Client(grpc, credentials.createInsecure());
  t.after(() => raw.close());
  const messages: Json[] = [
    { parts: [{ data: { x: 12.5 } }] },
    { parts: [{ text: 'a' }], metadata: { x: [12.5] } },
  ];
  for (const message of messages) {
    const request = { message: { messageId: 'm', role: 'ROLE_USER', ...message } };
    const { input } = protoCodecOf('1.0').methods.get('sendMessage')!;
    const bytes = Buffer.from(toBinary(input, fromJson(input, request)));
    const number = Buffer.alloc(8);
    number.writeDoubleLE(12.5);
    const at = bytes.indexOf(number);
    assert.ok(at > 0);
    for (const odd of [NaN, Infinity, -Infinity]) {
      bytes.writeDoubleLE(odd, at);
      const same = (value: Buffer) => value;
      const error = await new Promise<ServiceError | null>((resolve) => {
        const path = `/${SERVICE}/SendMessage`;
        raw.makeUnaryRequest(path, same, same, bytes, (found) => resolve(found));
      });
      assert.equal(error?.code, status.INVALID_ARGUMENT);
      assert.match(error.details, /cannot be NaN or Infinity/);
    }
  }
  assert.deepEqual((await client.call('ListTasks', {})).message.tasks ?? [], []);
  assert.deepEqual(errors, []);
});

test('watchers of the health take no streams of other clients, and each client can have only a few', async (t) => {
  const { client, grpc = '' } = await setUp(t, { limits: { maxStreams: 1 } });
  using health = genericClient(grpc, 'grpc.health.v1.Health');
  const watch = async () => {
    const stream = health.stream('Watch', {});
    stream.on('error', () => undefined);
    const [first] = await once(stream, 'data').catch((error: unknown) => [error]);
    return { stream, first };
  };
  const watching = await Promise.all(Array.from({ length: 8 }, watch));
  assert.match(await all(client.stream('SendStreamingMessage', said('hi'))), /COMPLETED/);
  assert.equal((await watch()).first.code, status.RESOURCE_EXHAUSTED);
  watching[0]?.stream.cancel();
  await until(
    'a free place',
    async () => (await watch()).first,
    (first) => first.status === 'SERVING',
  );
});

test('a client that leaves its stream is not an error in the log', async (t) => {
  const { client, handler, errors } = await setUp(t);
  const stream = client.stream('SendStreamingMessage', said('hold'));
  await once(stream, 'data');
  const left = once(stream, 'error');
  stream.cancel();
  await left;
  held.resolve();
  await until(
    'running',
    () => handler.running,
    (running) => running === 0,
  );
  assert.deepEqual(errors, []);
});

test('a deadline that is later than any timer is no deadline', async (t) => {
  const { client } = await setUp(t);
  const deadline = Date.now() + 30 * 24 * 3_600_000;
  const answer = client.call('SendMessage', said('hold'), { deadline });
  // A timer that overflowed would end the call after a millisecond.
  setTimeout(() => held.resolve(), 20);
  const { message } = await answer;
  assert.match(JSON.stringify(message), /TASK_STATE_COMPLETED/);
});

test('a message of a status is readable for clients that decode it as a URI', async (t) => {
  const { client } = await setUp(t);
  const call = client.call('GetTask', { id: 'x'.repeat(1000) });
  const { details } = await call.then(
    () => assert.fail(),
    (error: ServiceError) => error,
  );
  assert.match(details, /^Invalid parameters: id: /);
});

test('a single body may exceed the limits of pending bytes if nothing else is in transit', async (t) => {
  const limits = { maxPendingBytes: 200_000, maxPendingBytesPerClient: 100_000 };
  const { client } = await setUp(t, { limits });
  const { message } = await client.call('SendMessage', {
    ...said('x'.repeat(1_000_000)),
    configuration: { historyLength: 0 },
  });
  assert.match(JSON.stringify(message), /TASK_STATE_COMPLETED/);
});

test('a body over the limit of pending bytes is RESOURCE_EXHAUSTED, with the time to wait', async (t) => {
  const { client, grpc = '' } = await setUp(t, { limits: { maxPendingBytesPerClient: 100_000 } });
  const session = connect(`http://${grpc}`);
  t.after(() => session.destroy());
  const half = session.request({
    ':method': 'POST',
    ':path': `/${SERVICE}/SendMessage`,
    'content-type': 'application/grpc',
  });
  half.on('error', () => {});
  half.write(Buffer.concat([Buffer.from([0, 0, 3, 0, 0]), Buffer.alloc(90_000)]));
  const refused = async () => {
    const call = client.call('SendMessage', said('x'.repeat(200_000)));
    const error = await call.then(
      () => undefined,
      (found: ServiceError) => found,
    );
    if (!error) return false;
    assert.equal(error.code, status.RESOURCE_EXHAUSTED);
    assert.deepEqual(error.metadata.get('retry-after'), ['1']);
    return true;
  };
  await until('refused', refused, Boolean);
});

test('an answer over the limit of pending bytes is canceled, and is not an error in the log', async (t) => {
  const options = { limits: { maxPendingBytesPerClient: 100_000 } };
  const { handler, errors, grpc = '' } = await setUp(t, options);
  const parts = [{ kind: 'text' as const, text: 'x'.repeat(200_000) }];
  const task = await handler.sendMessage({
    message: { kind: 'message', messageId: 'm', role: 'user', parts },
  });
  assert.equal(task.kind, 'task');
  const { input } = protoCodecOf('1.0').methods.get('getTask')!;
  const body = toBinary(input, fromJson(input, { id: task.kind === 'task' ? task.id : '' }));
  // The client's window is zero, so it reads no answer.
  const session = connect(`http://${grpc}`, { settings: { initialWindowSize: 0 } });
  t.after(() => session.destroy());
  const ask = async () => {
    const stream = session.request({
      ':method': 'POST',
      ':path': `/${SERVICE}/GetTask`,
      'content-type': 'application/grpc',
    });
    stream.on('error', () => {});
    stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, body.length]), body]));
    await once(stream, 'response');
    return stream;
  };
  const first = await ask();
  const second = await ask();
  await once(second, 'close');
  assert.equal(second.rstCode, constants.NGHTTP2_CANCEL);
  assert.equal(first.closed, false);
  assert.deepEqual(errors, []);
});
