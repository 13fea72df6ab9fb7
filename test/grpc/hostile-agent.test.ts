/** Invalid responses of agents and proxies over gRPC: the call fails at once, with an error that says why. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import { createServer as createHttp1Server } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { test, type TestContext } from 'node:test';
import { toBinary } from '@bufbuild/protobuf';
import { connect, ConnectionError } from '../../src/client.ts';
import { protoCodecOf } from '../../src/grpc/codec/index.ts';
import { A2AError, type Task } from '../../src/server.ts';

const task: Task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' } };

/** Starts an agent that answers each request with the next of these functions, and connects to it. */
async function clientOf(t: TestContext, ...answers: ((stream: ServerHttp2Stream) => void)[]) {
  const server = createServer({ maxSessionMemory: 100 }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked: string[] = [];
  server.on('session', (session) => t.after(() => session.destroy()));
  server.on('stream', (stream, headers) => {
    asked.push(String(headers[':path']).replace(/^.*\//, ''));
    stream.on('error', () => undefined);
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.(stream);
  });
  return { client: await connectTo(t, server), asked };
}

/** Connects to an agent. Both are closed after the test. */
async function connectTo(t: TestContext, server: Server) {
  const leaving = new AbortController();
  t.after(() => server.close());
  t.after(() => leaving.abort());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const offer = { url: address, protocolBinding: 'GRPC', protocolVersion: '1.0' };
  const card = {
    name: 'Odd',
    description: '',
    version: '1',
    supportedInterfaces: [offer],
    capabilities: { streaming: true },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
  return connect(`http://${address}`, {
    card,
    signal: leaving.signal,
    retry: { attempts: 0 },
  });
}

const RESPONSE = { ':status': 200, 'content-type': 'application/grpc' };

function message(bytes: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Sends messages, or their beginning, and a status. */
function answerWith(bytes: Uint8Array, trailers: Record<string, string> = { 'grpc-status': '0' }) {
  return (stream: ServerHttp2Stream) => {
    stream.respond(RESPONSE, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end(bytes);
  };
}

const TASK = (() => {
  const codec = protoCodecOf('1.0');
  const { output } = codec.methods.get('getTask')!;
  return message(toBinary(output, codec.encodeResult('getTask', task)));
})();

async function all(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const event of stream) assert.ok(event);
}

async function failureOf(call: PromiseLike<unknown>): Promise<string> {
  const error: unknown = await Promise.resolve(call).then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof ConnectionError) return error.reason;
  assert.ok(error instanceof A2AError, String(error));
  return `${error.kind}: ${error.message}`;
}

/** A message with millions of empty parts: the field 5 of the field 2 of the response. */
function partsBomb(): Buffer {
  const size = 20_000_000;
  const length = [
    (size & 127) | 128,
    ((size >> 7) & 127) | 128,
    ((size >> 14) & 127) | 128,
    size >> 21,
  ];
  const parts = Buffer.alloc(size, Buffer.from([(5 << 3) | 2, 0]));
  return message(Buffer.concat([Buffer.from([(2 << 3) | 2, ...length]), parts]));
}

test('millions of messages inside a response are refused without decoding them', async (t) => {
  const { client } = await clientOf(t, answerWith(partsBomb()));
  const before = process.cpuUsage();
  const failures = [await failureOf(client.send('hi')), await failureOf(all(client.stream('hi')))];
  const { user, system } = process.cpuUsage(before);
  const expected =
    /^invalidAgentResponse: .*The protobuf message has more than 100000 objects, arrays and keys$/;
  for (const failure of failures) assert.match(failure, expected);
  // The part of the agent is included. Decoding both took 25 seconds.
  assert.ok((user + system) / 1000 < 2000, `${(user + system) / 1000} ms of CPU time`);
});

test('a stream that is reset without an error before its headers fails at once', async (t) => {
  const { client, asked } = await clientOf(t, (stream) => stream.close(constants.NGHTTP2_NO_ERROR));
  assert.equal(await failureOf(client.send('hi')), 'broken');
  assert.equal(await failureOf(all(client.stream('hi'))), 'broken');
  // A message may have arrived, so it is not sent again.
  assert.deepEqual(asked, ['SendMessage', 'SendStreamingMessage']);
  assert.equal(await failureOf(client.get('t')), 'broken');
  assert.deepEqual(asked.slice(2), ['GetTask', 'GetTask']);
});

test('a request that the agent refused to process is sent again once, also one that writes', async (t) => {
  const refuse = (stream: ServerHttp2Stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM);
  const { client, asked } = await clientOf(t, refuse, answerWith(TASK), refuse);
  assert.equal((await client.cancel('t')).id, 't');
  assert.equal(await failureOf(client.cancel('t')), 'unreachable');
  assert.equal(await failureOf(all(client.stream('hi'))), 'unreachable');
  const twice = ['CancelTask', 'CancelTask'];
  assert.deepEqual(asked, [...twice, ...twice, 'SendStreamingMessage', 'SendStreamingMessage']);
});

test('a response that ends inside a message, or without a status, is a broken connection', async (t) => {
  const half = answerWith(TASK.subarray(0, -1));
  const { client } = await clientOf(t, half, half, (stream) => {
    stream.respond(RESPONSE);
    stream.end(TASK);
  });
  assert.equal(await failureOf(client.get('t')), 'broken');
  assert.equal(await failureOf(client.get('t')), 'broken');
});

test('a response that is not gRPC is an invalid response, and not a broken connection', async (t) => {
  const page = (stream: ServerHttp2Stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/html' });
    stream.end('<p>Welcome</p>');
  };
  const compressed = Buffer.from(TASK);
  compressed[0] = 1;
  const { client, asked } = await clientOf(
    t,
    page,
    answerWith(compressed),
    answerWith(Buffer.alloc(0)),
    answerWith(Buffer.concat([TASK, TASK])),
  );
  for (let each = 0; each < 4; each++) {
    assert.match(await failureOf(client.get('t')), /^invalidAgentResponse: The agent's response/);
  }
  assert.equal(asked.length, 4);
});

test('a status is read although its message or its details are not encoded correctly', async (t) => {
  const trailers = { 'grpc-status': '5', 'grpc-message': '100% gone' };
  const { client } = await clientOf(
    t,
    answerWith(Buffer.alloc(0), trailers),
    answerWith(Buffer.alloc(0), { ...trailers, 'grpc-status-details-bin': '/////w' }),
    (stream) => stream.respond({ ...RESPONSE, ...trailers }, { endStream: true }),
  );
  for (let each = 0; each < 3; each++) {
    assert.equal(await failureOf(client.get('t')), 'taskNotFound: 100% gone');
  }
});

test('an agent that supports only HTTP/1.1 does not harm the process', async (t) => {
  const server = createHttp1Server((_, response) => response.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = await connectTo(t, server);
  const failures = [client.get('t'), client.get('t'), client.send('hi')].map(failureOf);
  assert.deepEqual(await Promise.all(failures), ['broken', 'broken', 'broken']);
  assert.equal(await failureOf(client.get('t')), 'broken');
});
