/**
 * The requirements of the gRPC binding, by the names that the protocol's public compatibility kit gives them, and what
 * Parley adds. The client is @grpc/grpc-js without generated code.
 */
import assert from 'node:assert/strict';
import { status, type ServiceError } from '@grpc/grpc-js';
import { after, before, describe, test } from 'node:test';
import { fromBinary, toJson } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { registry, serviceSchema } from '../../src/grpc/codec/index.ts';
import {
  A2AError,
  type AgentCard,
  bearerTokens,
  createAgent,
  type Logger,
} from '../../src/server.ts';
import {
  genericClient,
  type GenericClient,
  type GrpcServer,
  type Json,
  serveGrpc,
} from '../support/grpc.ts';
import { until } from '../interop/support.ts';

const EXTENSION = 'https://parley.test/extensions/tone';
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };

let opened: PromiseWithResolvers<void> = Promise.withResolvers();

const agent = createAgent(
  {
    name: 'Obedient',
    description: 'Does what it is told',
    extensions: [{ uri: EXTENSION }],
    inputModes: ['text/plain'],
  },
  async function* (ctx) {
    if (ctx.text === 'fail') throw new Error('secret cause');
    if (ctx.text === 'ask') await ctx.ask('Which?');
    if (ctx.text === 'hold') {
      yield 'begun ';
      await opened.promise;
    }
    for (const word of ctx.text.split(' ')) yield `${word} `;
  },
);

function said(text: string, more: Json = {}): Json {
  return {
    message: {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER',
      parts: [{ text }],
      ...more,
    },
  };
}

interface SeenTask {
  readonly id: string;
  readonly status: { readonly state: string };
}

function taskIn(message: Json): SeenTask {
  const { task } = message;
  assert.ok(task && typeof task === 'object' && 'id' in task);
  return task as unknown as SeenTask;
}

/** The details of a status, as JSON. Reads google.rpc.Status, whose field 3 has them. */
function detailsOf(error: ServiceError): Json[] {
  const [bytes] = error.metadata.get('grpc-status-details-bin');
  const reader = new BinaryReader(Buffer.from(bytes ?? ''));
  const details: Json[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field !== 3) {
      reader.skip(type, field);
      continue;
    }
    const any = fromBinary(AnySchema, reader.bytes());
    const schema = registry.getMessage(any.typeUrl.replace('type.googleapis.com/', ''));
    assert.ok(schema, any.typeUrl);
    details.push({
      '@type': any.typeUrl,
      ...Object(toJson(schema, fromBinary(schema, any.value))),
    });
  }
  return details;
}

async function refusalOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<ServiceError> {
  try {
    if (call instanceof Promise) await call;
    else for await (const _ of call);
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error && 'metadata' in error);
    return error as ServiceError;
  }
  throw new Error('the call was not refused');
}

async function reasonOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<unknown[]> {
  const error = await refusalOf(call);
  const [info] = detailsOf(error);
  return [status[error.code], info?.reason, info?.domain];
}

const DOMAIN = 'a2a-protocol.org';

describe('the gRPC binding of 1.0', () => {
  let served: GrpcServer;
  let client: GenericClient;
  before(async () => {
    served = await serveGrpc(agent, { logger: quiet });
    client = genericClient(served.address, 'lf.a2a.v1.A2AService');
  });
  after(async () => {
    client[Symbol.dispose]();
    opened.resolve();
    await served[Symbol.asyncDispose]();
  });

  async function hold(): Promise<SeenTask> {
    const configuration = { returnImmediately: true };
    return taskIn((await client.call('SendMessage', { ...said('hold'), configuration })).message);
  }

  test('GRPC-SVC-001: every method of A2AService is implemented', async () => {
    const { methods } = serviceSchema('lf.a2a.v1.A2AService');
    for (const { name, methodKind } of methods) {
      const call = methodKind === 'unary' ? client.call(name, {}) : client.stream(name, {});
      const code = await refusalOf(call).then(
        (error) => error.code,
        () => status.OK,
      );
      assert.notEqual(code, status.UNIMPLEMENTED, name);
    }
  });

  test('GRPC-SVC-002: a task is sent as protobuf, whole', async () => {
    const { message } = await client.call('SendMessage', said('hello there'));
    const task = taskIn(message);
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
    const { message: found } = await client.call('GetTask', { id: task.id });
    assert.deepEqual(found, message.task);
  });

  test('GRPC-META-001: version and extensions are metadata, both ways', async () => {
    const metadata = { 'a2a-version': '1.0', 'a2a-extensions': EXTENSION };
    const { headers } = await client.call('SendMessage', said('hi'), { metadata });
    assert.deepEqual(headers.get('a2a-extensions'), [EXTENSION]);
    assert.deepEqual(
      (await client.call('SendMessage', said('hi'))).headers.get('a2a-extensions'),
      [],
    );
    for (const version of ['99.0', '0.3']) {
      assert.deepEqual(
        await reasonOf(
          client.call('SendMessage', said('hi'), { metadata: { 'a2a-version': version } }),
        ),
        ['FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED', DOMAIN],
      );
    }
  });

  test('GRPC-ERR-001, GRPC-ERR-002: each error has its status, and its reason in ErrorInfo', async () => {
    const { id: finished } = taskIn((await client.call('SendMessage', said('hi'))).message);
    const { id: waiting } = taskIn((await client.call('SendMessage', said('ask'))).message);
    const picture = { raw: 'AAAA', mediaType: 'image/png' };
    const cases: [Promise<unknown> | AsyncIterable<unknown>, string, string][] = [
      [client.call('GetTask', { id: 'nowhere' }), 'NOT_FOUND', 'TASK_NOT_FOUND'],
      [client.call('CancelTask', { id: 'nowhere' }), 'NOT_FOUND', 'TASK_NOT_FOUND'],
      [client.call('CancelTask', { id: finished }), 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
      [
        client.call('SendMessage', said('x', { taskId: finished })),
        'FAILED_PRECONDITION',
        'UNSUPPORTED_OPERATION',
      ],
      [
        client.stream('SubscribeToTask', { id: finished }),
        'FAILED_PRECONDITION',
        'UNSUPPORTED_OPERATION',
      ],
      [
        client.call('SendMessage', said('x', { parts: [picture] })),
        'INVALID_ARGUMENT',
        'CONTENT_TYPE_NOT_SUPPORTED',
      ],
      [client.call('GetExtendedAgentCard', {}), 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
      [client.call('SendMessage', said('x', { parts: [] })), 'INVALID_ARGUMENT', 'INVALID_PARAMS'],
      [
        client.call('SendMessage', said('x', { taskId: waiting, contextId: 'other' })),
        'INVALID_ARGUMENT',
        'INVALID_PARAMS',
      ],
    ];
    for (const [call, code, reason] of cases) {
      assert.deepEqual(await reasonOf(call), [code, reason, DOMAIN]);
    }
    const error = await refusalOf(client.call('SendMessage', said('x', { parts: [] })));
    const [, badRequest] = detailsOf(error);
    assert.deepEqual(badRequest?.['@type'], 'type.googleapis.com/google.rpc.BadRequest');
    assert.match(JSON.stringify(badRequest), /message\.parts/);
  });

  test('GRPC-ERR-002: a capability that is off has its own error', async () => {
    const card: Partial<AgentCard> = { capabilities: { streaming: false } };
    await using off = await serveGrpc(agent, {
      push: false,
      card,
      extendedCard: true,
      logger: quiet,
    });
    using other = genericClient(off.address, 'lf.a2a.v1.A2AService');
    const config = { taskId: 't', url: 'https://hook.test' };
    assert.deepEqual(await reasonOf(other.call('CreateTaskPushNotificationConfig', config)), [
      'FAILED_PRECONDITION',
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      DOMAIN,
    ]);
    assert.deepEqual(await reasonOf(other.stream('SendStreamingMessage', said('x'))), [
      'FAILED_PRECONDITION',
      'UNSUPPORTED_OPERATION',
      DOMAIN,
    ]);
    assert.deepEqual(await reasonOf(other.call('GetExtendedAgentCard', {})), [
      'FAILED_PRECONDITION',
      'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
      DOMAIN,
    ]);
  });

  test('GRPC-ERR-003: a stream has one payload in each StreamResponse, in order, and ends', async () => {
    const events: Json[] = [];
    for await (const event of client.stream('SendStreamingMessage', said('a b')))
      events.push(event);
    assert.deepEqual(
      events.map(({ parleySequence, ...payload }) => [parleySequence, Object.keys(payload).join()]),
      [
        ['1', 'task'],
        ['2', 'statusUpdate'],
        ['3', 'artifactUpdate'],
        ['4', 'artifactUpdate'],
        ['5', 'statusUpdate'],
      ],
    );
  });

  test('GRPC-ERR-003: a client that cancels its stream does not stop the task', async () => {
    const stream = client.stream('SendStreamingMessage', said('hold'));
    const { value: first } = await stream[Symbol.asyncIterator]().next();
    const { id } = taskIn(first as Json);
    stream.cancel();
    stream.on('error', () => {});
    await until(
      'the reader leaves',
      async () => served.agent.streams,
      (open) => open === 0,
    );
    assert.equal(served.agent.handler.running > 0, true);
    opened.resolve();
    await until(
      'the task completes',
      () => client.call('GetTask', { id }),
      ({ message }) => JSON.stringify(message).includes('TASK_STATE_COMPLETED'),
    );
    opened = Promise.withResolvers();
  });

  test('STREAM-SUB-001: the first event of a subscription is the task', async () => {
    const { id } = await hold();
    const stream = client.stream('SubscribeToTask', { id });
    const { value: first } = await stream[Symbol.asyncIterator]().next();
    assert.equal(taskIn(first as Json).id, id);
    stream.on('error', () => {});
    stream.cancel();
  });

  test('STREAM-SUB-004: a subscription to an unknown task is NOT_FOUND', async () => {
    assert.deepEqual(await reasonOf(client.stream('SubscribeToTask', { id: 'nowhere' })), [
      'NOT_FOUND',
      'TASK_NOT_FOUND',
      DOMAIN,
    ]);
  });

  test('a stream resumes after the sequence number in last-event-id, also of a finished task', async () => {
    const { id } = taskIn((await client.call('SendMessage', said('a b c'))).message);
    const metadata = { 'last-event-id': '3' };
    const seqs: unknown[] = [];
    for await (const event of client.stream('SubscribeToTask', { id }, { metadata })) {
      seqs.push(event.parleySequence);
    }
    assert.deepEqual(seqs, ['4', '5', '6']);
    const wrong = { metadata: { 'last-event-id': 'x' } };
    const [code] = await reasonOf(client.stream('SubscribeToTask', { id }, wrong));
    assert.equal(code, 'INVALID_ARGUMENT');
  });

  test('at its deadline a call ends with DEADLINE_EXCEEDED, and the task goes on', async () => {
    const { id } = await hold();
    const deadline = Date.now() + 100;
    const waiting = client.call('SendMessage', said('hold'), { deadline });
    assert.equal((await refusalOf(waiting)).code, status.DEADLINE_EXCEEDED);
    const stream = client.stream('SubscribeToTask', { id }, { deadline: Date.now() + 100 });
    assert.equal((await refusalOf(stream)).code, status.DEADLINE_EXCEEDED);
    await until(
      'the readers leave',
      async () => served.agent.streams,
      (open) => open === 0,
    );
    const { message } = await client.call('GetTask', { id });
    assert.equal((message.status as Json).state, 'TASK_STATE_WORKING');
  });

  test('the response headers arrive before the first event', async () => {
    const { id } = await hold();
    await until(
      'the first chunk is stored',
      () => client.call('GetTask', { id }),
      ({ message }) => JSON.stringify(message).includes('begun'),
    );
    const metadata = { 'last-event-id': '3' };
    const stream = client.stream('SubscribeToTask', { id }, { metadata });
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('metadata', resolve));
    stream.cancel();
  });

  test('an unknown method is UNIMPLEMENTED', async () => {
    using other = genericClient(served.address, 'grpc.health.v1.Health');
    assert.deepEqual((await other.call('Check', {})).message, { status: 'SERVING' });
    await using only = await serveGrpc(agent, { versions: ['1.0'], logger: quiet });
    using old = genericClient(only.address, 'a2a.v1.A2AService');
    const error = await refusalOf(old.call('GetTask', { name: 'tasks/x' }));
    assert.equal(error.code, status.UNIMPLEMENTED);
  });

  test('a failed task says nothing of its cause, and neither does an internal error', async () => {
    const { message } = await client.call('SendMessage', said('fail'));
    assert.equal(taskIn(message).status.state, 'TASK_STATE_FAILED');
    assert.doesNotMatch(JSON.stringify(message), /secret/);
    await using broken = await serveGrpc(agent, {
      logger: quiet,
      guard: (handler) => ({
        ...handler,
        getTask: () => Promise.reject(new Error('secret cause')),
        listTasks: () =>
          Promise.reject(new A2AError('rateLimited', undefined, { retryAfterSeconds: 7 })),
      }),
    });
    using other = genericClient(broken.address, 'lf.a2a.v1.A2AService');
    const error = await refusalOf(other.call('GetTask', { id: 'x' }));
    assert.equal(error.code, status.INTERNAL);
    assert.doesNotMatch(JSON.stringify([error.details, detailsOf(error)]), /secret/);
    const limited = await refusalOf(other.call('ListTasks', {}));
    assert.equal(limited.code, status.RESOURCE_EXHAUSTED);
    assert.deepEqual(limited.metadata.get('retry-after'), ['7']);
  });

  test('a message over the limit of bodies is RESOURCE_EXHAUSTED, and later calls work', async () => {
    await using small = await serveGrpc(agent, { limits: { maxBodyBytes: 1000 }, logger: quiet });
    using other = genericClient(small.address, 'lf.a2a.v1.A2AService');
    const error = await refusalOf(other.call('SendMessage', said('x'.repeat(2000))));
    assert.equal(error.code, status.RESOURCE_EXHAUSTED);
    assert.ok(taskIn((await other.call('SendMessage', said('hi'))).message));
  });

  test('callers are authenticated before their message is read, and see only their own tasks', async () => {
    const authenticate = bearerTokens(
      new Map([
        ['ann', 'token-a'],
        ['bob', 'token-b'],
      ]),
    );
    await using safe = await serveGrpc(agent, { authenticate, logger: quiet });
    using other = genericClient(safe.address, 'lf.a2a.v1.A2AService');
    const as = (token: string) => ({ metadata: { authorization: `Bearer ${token}` } });
    for (const options of [{}, as('token-c')]) {
      assert.deepEqual(await reasonOf(other.call('SendMessage', said('hi'), options)), [
        'UNAUTHENTICATED',
        'UNAUTHENTICATED',
        DOMAIN,
      ]);
    }
    const { message } = await other.call('SendMessage', said('hi'), as('token-a'));
    const { id } = taskIn(message);
    assert.equal((await other.call('GetTask', { id }, as('token-a'))).message.id, id);
    const [code] = await reasonOf(other.call('GetTask', { id }, as('token-b')));
    assert.equal(code, 'NOT_FOUND');
    using health = genericClient(safe.address, 'grpc.health.v1.Health');
    assert.deepEqual((await health.call('Check', {})).message, { status: 'SERVING' });
  });
});

describe('health and reflection', () => {
  let served: GrpcServer;
  before(async () => {
    served = await serveGrpc(agent, { logger: quiet });
  });
  after(() => served[Symbol.asyncDispose]());

  test('health is known of the server and of each service', async () => {
    using health = genericClient(served.address, 'grpc.health.v1.Health');
    for (const service of ['', 'lf.a2a.v1.A2AService', 'a2a.v1.A2AService']) {
      assert.deepEqual((await health.call('Check', { service })).message, { status: 'SERVING' });
    }
    const unknown = await refusalOf(health.call('Check', { service: 'nobody' }));
    assert.equal(unknown.code, status.NOT_FOUND);
    const watch = health.stream('Watch', { service: 'nobody' });
    const { value } = await watch[Symbol.asyncIterator]().next();
    assert.deepEqual(value, { status: 'SERVICE_UNKNOWN' });
    watch.on('error', () => {});
    watch.cancel();
  });

  for (const version of ['v1', 'v1alpha']) {
    test(`reflection ${version} lists the services and sends their definitions`, async () => {
      using client = genericClient(served.address, `grpc.reflection.${version}.ServerReflection`);
      const stream = client.duplex('ServerReflectionInfo');
      const answers = stream[Symbol.asyncIterator]();
      const ask = async (request: Json) => {
        stream.write(request);
        return (await answers.next()).value as Json;
      };
      const listed = await ask({ listServices: '*' });
      assert.match(JSON.stringify(listed), /"lf\.a2a\.v1\.A2AService"/);
      const requests: Json[] = [
        { fileContainingSymbol: 'lf.a2a.v1.A2AService' },
        { fileContainingSymbol: 'lf.a2a.v1.A2AService.SendMessage' },
        { fileByFilename: 'lf/a2a/v1/a2a.proto' },
      ];
      for (const request of requests) {
        const { fileDescriptorResponse: found } = await ask(request);
        const { fileDescriptorProto } = found as { fileDescriptorProto: string[] };
        // The file, and the three that it imports.
        assert.equal(fileDescriptorProto.length, 4);
      }
      const missing = await ask({ fileContainingSymbol: 'nothing.at.All' });
      assert.deepEqual((missing.errorResponse as Json).errorCode, status.NOT_FOUND);
      stream.end();
    });
  }
});
