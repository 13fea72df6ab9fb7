/**
 * Counts the messages inside a protobuf message from its bytes, before it is decoded. A message can be as short as two
 * bytes, so 10 MB can contain millions of them. Decoding them could block the event loop for seconds, and `inspectJson`
 * could refuse them only afterwards.
 *
 * The bytes are read exactly as `fromBinary` reads them. The type of a known field decides how its bytes are read, and
 * the wire type in its tag is ignored. A field may extend beyond the end of the message that contains it. If this class
 * read the bytes in another way, a peer could hide messages from the count.
 */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import { A2AError, MAX_JSON_NODES, tooManyNodes } from '../../protocol/index.ts';
import { READ_OPTIONS } from './schema.ts';

/**
 * Maximum number of `Value` messages. It is larger than MAX_JSON_NODES, because each number or string in a list is a
 * `Value`, but `inspectJson` does not count it.
 */
const MAX_VALUES = 10 * MAX_JSON_NODES;
/** `fromBinary` refuses every message with more levels than this. Each entry of a map is a level too. */
const MAX_DEPTH = 2 * READ_OPTIONS.recursionLimit + 2;

/** The fields of a message or of an entry of a map. */
interface Layout {
  readonly isValue: boolean;
  /** By field number: the wire type with which the field is skipped, or the layout of the message inside it. */
  readonly fields: ReadonlyMap<number, WireType | Layout>;
}

interface Frame {
  /** Undefined for an unknown group, which ends with a tag. */
  readonly layout: Layout | undefined;
  /** Position after the last byte, or the field number of a group. */
  readonly end: number;
}

const layouts = new WeakMap<DescMessage, Layout>();

function layoutOf(message: DescMessage): Layout {
  const known = layouts.get(message);
  if (known) return known;
  const fields = new Map<number, WireType | Layout>();
  const layout = { isValue: message.typeName === 'google.protobuf.Value', fields };
  // The layout is stored before its fields are read, because a field may contain the same message.
  layouts.set(message, layout);
  for (const field of message.fields) fields.set(field.number, contentOf(field));
  return layout;
}

function contentOf(field: DescField): WireType | Layout {
  if (field.fieldKind === 'map') {
    const value = field.message ? layoutOf(field.message) : wireTypeOf(field.scalar);
    const fields = new Map<number, WireType | Layout>([
      [1, wireTypeOf(field.mapKey)],
      [2, value],
    ]);
    return { isValue: false, fields };
  }
  const content = field.message ? layoutOf(field.message) : wireTypeOf(field.scalar);
  const isPacked =
    field.fieldKind === 'list' && !field.message && content !== WireType.LengthDelimited;
  const isGroup = 'delimitedEncoding' in field && field.delimitedEncoding;
  if (isPacked || isGroup) throw new TypeError(`unsupported encoding of ${String(field)}`);
  return content;
}

/** Returns how the scalar type of a field is encoded. A field without a scalar type is an enum. */
function wireTypeOf(scalar: ScalarType | undefined): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}

/** The element that the next byte belongs to. `done`: the message has ended, or `fromBinary` will refuse it. */
type State = 'tag' | 'length' | 'varint' | 'done';

export class MessageCount {
  /** Number of messages and entries of maps, except `google.protobuf.Value`. */
  messages = 1;
  /** Number of `google.protobuf.Value` messages. */
  values = 0;
  readonly #frames: Frame[];
  #state: State = 'tag';
  /** Position in the whole message. While bytes are skipped, it may be after the end of the chunk. */
  #position = 0;
  /** Position of the first byte of the next chunk. */
  #received = 0;
  /** The part of a tag or of a length that has been read. */
  #number = 0;
  #digits = 0;
  /** The message inside the field whose length is being read. */
  #inner: Layout | undefined;

  constructor(schema: DescMessage, size: number) {
    this.#frames = [{ layout: layoutOf(schema), end: size }];
  }

  /** Reads the next bytes. Throws as soon as there are too many messages. */
  read(chunk: Uint8Array): void {
    const start = this.#received;
    const end = start + chunk.length;
    this.#received = end;
    while (this.#position < end && this.#state !== 'done') {
      const byte = chunk[this.#position++ - start]!;
      if (this.#state === 'varint') {
        if (byte < 0x80) this.#fieldEnded();
        continue;
      }
      const isWhole = this.#take(byte);
      if (!isWhole) continue;
      const number = this.#number;
      this.#number = this.#digits = 0;
      if (this.#state === 'tag') this.#tag(number >>> 3, number & 7);
      else this.#length(number);
    }
  }

  /** Takes one byte of a number. Returns whether it was the last. */
  #take(byte: number): boolean {
    const digit = this.#digits++;
    if (digit < 4) this.#number |= (byte & 0x7f) << (7 * digit);
    else if (digit === 4) this.#number = (this.#number | ((byte & 0x0f) << 28)) >>> 0;
    const isTagTooLong = this.#state === 'tag' && digit === 4 && byte > 0x0f;
    if (isTagTooLong || (digit === 9 && byte > 0x7f)) {
      this.#state = 'done';
      return false;
    }
    return byte < 0x80;
  }

  #tag(field: number, wireType: WireType): void {
    const frame = this.#frames.at(-1);
    const content = frame?.layout?.fields.get(field);
    this.#inner = undefined;
    if (field === 0) {
      this.#state = 'done';
    } else if (typeof content === 'object') {
      this.#inner = content;
      this.#state = 'length';
    } else if (content !== undefined) {
      this.#skip(content);
    } else if (wireType === WireType.StartGroup) {
      this.#open({ layout: undefined, end: field });
    } else if (wireType === WireType.EndGroup && !frame?.layout && frame?.end === field) {
      this.#frames.pop();
      this.#fieldEnded();
    } else {
      this.#skip(wireType);
    }
  }

  #skip(wireType: WireType): void {
    if (wireType === WireType.Varint) this.#state = 'varint';
    else if (wireType === WireType.LengthDelimited) this.#state = 'length';
    else if (wireType === WireType.Bit64) this.#fieldEnded(8);
    else if (wireType === WireType.Bit32) this.#fieldEnded(4);
    else this.#state = 'done';
  }

  #length(length: number): void {
    if (!this.#inner) return this.#fieldEnded(length);
    if (!this.#inner.isValue) {
      if (++this.messages > MAX_JSON_NODES) throw tooManyNodes('The protobuf message');
    } else if (++this.values > MAX_VALUES) {
      throw new A2AError(
        'invalidRequest',
        `The protobuf message has more than ${MAX_VALUES} values`,
      );
    }
    this.#open({ layout: this.#inner, end: this.#position + length });
  }

  #open(frame: Frame): void {
    this.#frames.push(frame);
    this.#fieldEnded();
    if (this.#frames.length > MAX_DEPTH) this.#state = 'done';
  }

  /** Continues after a field, and after the messages that end with it. */
  #fieldEnded(skipped = 0): void {
    this.#state = 'tag';
    this.#position += skipped;
    for (;;) {
      const frame = this.#frames.at(-1);
      if (!frame?.layout || this.#position < frame.end) break;
      this.#frames.pop();
    }
    if (this.#frames.length === 0) this.#state = 'done';
  }
}
