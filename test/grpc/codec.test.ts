import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { create, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { descriptorFile } from '../../scripts/proto.ts';
import { protoCodecOf, READ_OPTIONS } from '../../src/grpc/codec/index.ts';
import { A2AError, type StreamEvent } from '../../src/protocol/index.ts';

const v1 = protoCodecOf('1.0');
const send = v1.methods.get('sendMessage')!.input;

/** A request whose message has these fields in addition. */
function request(write: (message: BinaryWriter) => void) {
  const inner = new BinaryWriter();
  inner.tag(1, WireType.LengthDelimited).string('m');
  write(inner);
  const outer = new BinaryWriter();
  outer.tag(2, WireType.LengthDelimited).bytes(inner.finish());
  return fromBinary(send, outer.finish());
}

function refusal(run: () => unknown): A2AError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof A2AError, String(error));
    return error;
  }
  throw new Error('it was not refused');
}

test('the descriptors are those of the .proto files: else run node scripts/proto.ts', () => {
  const path = new URL('../../src/grpc/codec/descriptors.json', import.meta.url);
  assert.equal(readFileSync(path, 'utf8'), descriptorFile());
});

test('an unknown number of an enumeration is refused by name', () => {
  const message = request((inner) => {
    inner.tag(4, WireType.Varint).int32(77);
    inner.tag(5, WireType.LengthDelimited).bytes(new Uint8Array([0x0a, 0x01, 0x78]));
  });
  const error = refusal(() => v1.decodeParams('sendMessage', message));
  assert.equal(error.kind, 'invalidParams');
  assert.match(error.message, /message\.role/);
});

test('a value that JSON does not have is refused', () => {
  for (const value of [
    { kind: { case: 'numberValue', value: Number.NaN } },
    { kind: { case: undefined } },
  ]) {
    const whole = fromJson(send, {
      message: { messageId: 'm', role: 'ROLE_USER', parts: [{ data: 1 }] },
    });
    const { message }: { message?: { parts?: { content: { value: object } }[] } } = Object(whole);
    Object.assign(message?.parts?.[0]?.content.value ?? {}, value);
    const read = fromBinary(send, toBinary(send, whole));
    assert.equal(refusal(() => v1.decodeParams('sendMessage', read)).kind, 'invalidParams');
  }
});

test('unset and empty are told apart where protobuf can: a part has exactly one content', () => {
  const part = (bytes: number[]) =>
    request((inner) => {
      inner.tag(4, WireType.Varint).int32(1);
      inner.tag(5, WireType.LengthDelimited).bytes(new Uint8Array(bytes));
    });
  const { message } = v1.decodeParams('sendMessage', part([0x0a, 0x00]));
  assert.deepEqual(message.parts, [{ kind: 'text', text: '' }]);
  assert.equal(refusal(() => v1.decodeParams('sendMessage', part([]))).kind, 'invalidParams');
});

test('nesting has the same limit as in JSON', () => {
  const nested = (levels: number) => {
    const text = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const parts = [{ data: JSON.parse(text) }];
    const request = { message: { messageId: 'm', role: 'ROLE_USER', parts } };
    const whole = fromJson(send, request, { recursionLimit: 1000 });
    return toBinary(send, whole);
  };
  const read = (bytes: Uint8Array) =>
    v1.decodeParams('sendMessage', fromBinary(send, bytes, READ_OPTIONS));
  assert.ok(read(nested(90)));
  assert.match(refusal(() => read(nested(99))).message, /nested more than 100 levels/);
  assert.throws(() => read(nested(200)), /recursion depth/);
});

test('an event that is not quite JSON is sent all the same', () => {
  const event: StreamEvent = {
    kind: 'status-update',
    taskId: 't',
    contextId: 'c',
    final: false,
    status: { state: 'working', timestamp: '16 Nov 2026 12:00 UTC' },
    metadata: { kept: 1, dropped: undefined },
  };
  assert.deepEqual(toJson(v1.eventSchema, v1.encodeEvent(event, 3)), {
    statusUpdate: {
      taskId: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_WORKING', timestamp: '2026-11-16T12:00:00Z' },
      metadata: { kept: 1 },
    },
    parleySequence: '3',
  });
  const odd: StreamEvent = { ...event, status: { state: 'working', timestamp: 'soon' } };
  assert.doesNotMatch(JSON.stringify(toJson(v1.eventSchema, v1.encodeEvent(odd, 1))), /timestamp/);
});

test('an empty event of a peer is refused as invalid', () => {
  assert.equal(refusal(() => v1.decodeEvent(create(v1.eventSchema))).kind, 'invalidAgentResponse');
});
