/** A request with millions of messages inside is refused before it is decoded, and large legal ones are not. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  isReflectList,
  isReflectMap,
  isReflectMessage,
  reflect,
  type ReflectMessage,
} from '@bufbuild/protobuf/reflect';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { limitedBody, protoCodecOf, READ_OPTIONS } from '../../src/grpc/codec/index.ts';
import { MessageCount } from '../../src/grpc/codec/message-count.ts';
import { grpcBinding } from '../../src/grpc.ts';
import { codecOf, MAX_JSON_NODES } from '../../src/protocol/index.ts';
import { createAgent, serve } from '../../src/server.ts';
import { arbitrariesOf } from '../support/codec-arbitraries.ts';

const CODEC = protoCodecOf('1.0');
const SEND = CODEC.methods.get('sendMessage')!;
/** Numbers of fields, of SendMessageRequest and of Message. */
const MESSAGE = 2;
const [ID, ROLE, PARTS, METADATA] = [1, 4, 5, 6];

function varint(number: number): number[] {
  return number < 128 ? [number] : [(number & 127) | 128, ...varint(Math.floor(number / 128))];
}

function field(number: number, content: Uint8Array | string, wireType = 2): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([(number << 3) | wireType, ...varint(bytes.length)]), bytes]);
}

const times = (count: number, bytes: Uint8Array) => Buffer.alloc(count * bytes.length, bytes);

function request(...content: Uint8Array[]): Buffer {
  const id = field(ID, crypto.randomUUID());
  return field(MESSAGE, Buffer.concat([id, Buffer.from([ROLE << 3, 1]), ...content]));
}

/** The metadata `{"k": [...]}`, of encoded values. */
const listOf = (values: Uint8Array) =>
  field(METADATA, field(1, Buffer.concat([field(1, 'k'), field(2, field(6, values))])));

async function setUp(t: TestContext) {
  const agent = createAgent({ name: 'Ear', description: 'Listens' }, async function* (ctx) {
    yield `${ctx.message.parts.length} parts`;
  });
  const listening = await serve(agent, { grpc: grpcBinding() }).listen();
  t.after(() => listening.close(0));
  const client = new Client(listening.grpc ?? '', credentials.createInsecure());
  t.after(() => client.close());
  return (bytes: Buffer) =>
    new Promise<Buffer | ServiceError>((resolve) => {
      const path = `/${SEND.parent.typeName}/${SEND.name}`;
      const same = (value: Buffer) => value;
      client.makeUnaryRequest(path, same, same, bytes, (error, answer) =>
        resolve(error ?? answer!),
      );
    });
}

const attacks: Readonly<Record<string, () => Buffer>> = {
  'empty parts': () => request(times(5_000_000, field(PARTS, ''))),
  'empty parts with the tag of a number': () => request(times(5_000_000, field(PARTS, '', 0))),
  'empty parts after a number with the tag of a string': () =>
    field(
      MESSAGE,
      Buffer.concat([
        Buffer.from([(ROLE << 3) | 2, ...varint(9_000_000)]),
        times(4_900_000, field(PARTS, '')),
      ]),
    ),
  'one field many times': () => request(times(5_000_000, field(METADATA, ''))),
  'entries of a map': () => request(field(METADATA, times(4_000_000, field(1, '')))),
  'empty values': () => request(listOf(times(4_900_000, field(1, '')))),
};

for (const [name, bytesOf] of Object.entries(attacks)) {
  test(`millions of messages inside a request are refused without decoding them: ${name}`, async (t) => {
    const send = await setUp(t);
    const bytes = bytesOf();
    const before = process.cpuUsage();
    const answer = await send(bytes);
    const { user, system } = process.cpuUsage(before);
    assert.ok(answer instanceof Error);
    assert.equal(answer.code, status.INVALID_ARGUMENT);
    const most = name === 'empty values' ? '1000000 values' : '100000 objects, arrays and keys';
    assert.equal(answer.details, `The protobuf message has more than ${most}`);
    // The client's part is included. Decoding alone took 2900 ms.
    assert.ok((user + system) / 1000 < 1000, `${(user + system) / 1000} ms of CPU time`);
  });
}

const legal: Readonly<Record<string, () => Buffer>> = {
  'a file of 8 MB': () => request(field(PARTS, field(2, Buffer.alloc(8_000_000, 7)))),
  // With 50,000, the JSON of the message has more than 100,000 objects, arrays and keys.
  '49,990 parts': () => request(times(49_990, field(PARTS, field(1, 'some text')))),
  '500,000 numbers': () =>
    request(
      field(PARTS, field(1, 'x')),
      listOf(times(500_000, field(1, Buffer.from([0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f])))),
    ),
};

for (const [name, bytesOf] of Object.entries(legal)) {
  test(`a large request is read: ${name}`, async () => {
    const bytes = bytesOf();
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(bytes.length, 1);
    async function* body() {
      yield* [prefix.subarray(0, 2), prefix.subarray(2), bytes, prefix, bytes];
    }
    let passed = 0;
    for await (const chunk of limitedBody(body(), SEND.input, bytes.length)) passed += chunk.length;
    assert.equal(passed, 2 * (5 + bytes.length));
    const message = fromBinary(SEND.input, bytes, READ_OPTIONS);
    CODEC.decodeParams('sendMessage', message);
  });
}

test('the limit is passed with the first message that is too many', () => {
  const parts = (count: number) => field(MESSAGE, times(count, field(PARTS, '')));
  const read = (bytes: Buffer) => new MessageCount(SEND.input, bytes.length).read(bytes);
  read(parts(MAX_JSON_NODES - 2));
  assert.throws(() => read(parts(MAX_JSON_NODES - 1)), { kind: 'invalidRequest' });
});

/** Counts the messages of a decoded message. */
function countOf(message: ReflectMessage, total = { messages: 0, values: 0 }) {
  if (message.desc.typeName === 'google.protobuf.Value') total.values++;
  else total.messages++;
  for (const each of message.fields) {
    if (!message.isSet(each)) continue;
    const content: unknown = message.get(each);
    if (isReflectMap(content)) total.messages += content.size;
    const inner = isReflectMap(content) || isReflectList(content) ? content.values() : [content];
    for (const item of inner) if (isReflectMessage(item)) countOf(item, total);
  }
  return total;
}

for (const version of ['1.0', '0.3'] as const) {
  const codec = protoCodecOf(version);
  const arbitrary = arbitrariesOf(codecOf(version, 'GRPC'));
  const messages = [...codec.methods].map(([operation, { input }]) =>
    arbitrary.params[operation].map((params) => ({
      schema: input,
      message: codec.encodeParams(operation, params as never),
    })),
  );
  const events = arbitrary.event.map((event) => ({
    schema: codec.eventSchema,
    message: codec.encodeEvent(event, 1),
  }));

  test(`the count from the bytes of ${version} is that of the decoded message`, () => {
    fc.assert(
      fc.property(fc.oneof(events, ...messages), fc.nat(100), ({ schema, message }, size) => {
        // What a newer client sends: an unknown group with a string inside.
        const unknown = Buffer.concat([
          Buffer.from([0xa3, 0x06]),
          field(1, 'abc'),
          Buffer.from([0xa4, 0x06]),
        ]);
        const bytes = Buffer.concat([unknown, toBinary(schema, message), unknown]);
        const count = new MessageCount(schema, bytes.length);
        for (let at = 0; at < bytes.length; at += size + 1) {
          count.read(bytes.subarray(at, at + size + 1));
        }
        const { messages: found, values } = count;
        const decoded = reflect(schema, fromBinary(schema, bytes));
        assert.deepEqual({ messages: found, values }, countOf(decoded));
      }),
      { numRuns: 200 },
    );
  });

  test(`bytes of ${version} that are not protobuf end the count quietly`, () => {
    const schema = codec.methods.get('sendMessage')!.input;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        new MessageCount(schema, bytes.length).read(bytes);
      }),
      { numRuns: 1000 },
    );
  });
}
