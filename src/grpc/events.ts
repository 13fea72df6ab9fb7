/** Encodes the events of a task as messages of a gRPC stream. */
import { toBinary } from '@bufbuild/protobuf';
import type { StreamItem } from '../protocol/index.ts';
import type { ProtoCodec } from './codec/index.ts';

/** The length of the prefix of a message: one byte for compression, and four for the message's length. */
const PREFIX = 5;

interface Framed {
  readonly seq: number | undefined;
  readonly bytes: Uint8Array;
}

/**
 * Returns a function that encodes the events of one protocol version. It returns the bytes of an event with their
 * prefix. Readers that share the event object also share its bytes.
 */
export function eventEncoder(codec: ProtoCodec): (item: StreamItem) => Uint8Array {
  const framed = new WeakMap<object, Framed>();
  return ({ event, seq }) => {
    const known = framed.get(event);
    if (known && known.seq === seq) return known.bytes;
    const message = toBinary(codec.eventSchema, codec.encodeEvent(event, seq));
    const bytes = Buffer.allocUnsafe(PREFIX + message.length);
    bytes[0] = 0;
    bytes.writeUInt32BE(message.length, 1);
    bytes.set(message, PREFIX);
    framed.set(event, { seq, bytes });
    return bytes;
  };
}
