/** Protobuf messages of peers, as gRPC's server and client read them. */
import { fromBinary, fromJson, type Message, toBinary } from '@bufbuild/protobuf';
import { protoCodecOf, READ_OPTIONS } from '../../src/grpc/codec/index.ts';
import { A2AError, isStream, OPERATIONS, type Operation } from '../../src/protocol/index.ts';
import { EVENTS, KEYS, METHODS, params, type Version } from '../a2a.ts';
import { check, type Entry, type Input, pure, refusing } from '../entry.ts';
import { mutateJson } from '../mutate.ts';
import type { Random } from '../random.ts';

const VERSIONS: readonly Version[] = ['0.3', '1.0'];
const NOTHING = { tasks: ['t'] };
const WRITE = { ignoreUnknownFields: true };

/** What the bytes are: the request of an operation, its response, or an event. */
interface Head {
  readonly version: Version;
  readonly operation: Operation;
  readonly as: 'request' | 'response' | 'event';
}

function schemaOf({ version, operation, as }: Head) {
  const codec = protoCodecOf(version);
  const method = codec.methods.get(operation);
  if (as === 'event' || !method) return codec.eventSchema;
  return as === 'request' ? method.input : method.output;
}

function input(random: Random): Input {
  const version = random.pick(VERSIONS);
  const operation = random.pick(OPERATIONS);
  const as = random.pick(['request', 'response', 'event'] as const);
  const head: Head = { version, operation, as };
  const raw =
    as === 'request'
      ? params(random, version, random.pick(METHODS[version]), NOTHING)
      : random.pick(EVENTS[version]);
  const schema = schemaOf(head);
  const mutated = mutateJson(random, raw, KEYS);
  const message = refusing(() => fromJson(schema, mutated, WRITE), Error);
  const bytes = Buffer.from(message ? toBinary(schema, message) : JSON.stringify(raw));
  for (let changes = random.int(6); changes > 0 && bytes.length > 0; changes--) {
    bytes[random.int(bytes.length)] = random.int(256);
  }
  const cut = random.once(4) ? bytes.subarray(0, random.int(bytes.length + 1)) : bytes;
  return { text: cut.toString('latin1'), head };
}

/** Bytes are read or refused with an A2AError. What was read can be written and read again. */
function read(source: string, given: unknown): void {
  const head = given as Head;
  const { version, operation, as } = head;
  const codec = protoCodecOf(version);
  const schema = schemaOf(head);
  const bytes = Buffer.from(source, 'latin1');
  // connect refuses bytes that are not protobuf.
  const message = refusing((): Message => fromBinary(schema, bytes, READ_OPTIONS), Error);
  if (!message) return;
  if (schema === codec.eventSchema) {
    const item = refusing(() => codec.decodeEvent(message), A2AError);
    if (!item) return;
    const again = toBinary(schema, codec.encodeEvent(item.event, item.seq));
    const { event, seq } = codec.decodeEvent(fromBinary(schema, again, READ_OPTIONS));
    check(seq === item.seq, 'the sequence number of an event changes');
    check(event.kind === item.event.kind, 'an event becomes another one');
  } else if (as === 'request') {
    const found = refusing(() => codec.decodeParams(operation, message), A2AError);
    if (found) codec.encodeParams(operation, found);
  } else if (!isStream(operation)) {
    const found = refusing(() => codec.decodeResult(operation, message), A2AError);
    if (found) codec.encodeResult(operation, found);
  }
}

export const PROTOBUF: readonly Entry[] = [pure('protobuf', 60, input, read)];
