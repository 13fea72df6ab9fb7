/** Sends the events of a task's stream as protobuf messages. */
import { create, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import type { StreamItem } from '../protocol/index.ts';
import type { TaskStream } from '../tasks/index.ts';
import type { ProtoCodec } from './codec/index.ts';

interface Encoded {
  readonly seq: number | undefined;
  readonly message: Message;
}

/** Encodes the events of one protocol version. */
export class EventEncoder {
  readonly #codec: ProtoCodec;
  readonly #encoded = new WeakMap<object, Encoded>();

  constructor(codec: ProtoCodec) {
    this.#codec = codec;
  }

  /**
   * Returns the message of an event. An event is serialized only once, whatever the number of readers: the returned
   * message contains the serialized fields as unknown fields, which are written unchanged.
   */
  encode({ event, seq }: StreamItem): Message {
    const known = this.#encoded.get(event);
    if (known && known.seq === seq) return known.message;
    const message = this.#serialized(this.#codec.encodeEvent(event, seq));
    this.#encoded.set(event, { seq, message });
    return message;
  }

  #serialized(whole: Message): Message {
    const { eventSchema } = this.#codec;
    const message = create(eventSchema);
    message.$unknown = fromBinary(EmptySchema, toBinary(eventSchema, whole)).$unknown;
    return message;
  }

  /**
   * Iterates over the messages of a stream, which reads its next events from the log when the client has taken these.
   * This is not a generator, because `return` must take effect immediately, even while `next` waits for an event.
   */
  messages(stream: TaskStream): AsyncIterableIterator<Message> {
    const items = stream[Symbol.asyncIterator]();
    const messages: AsyncIterableIterator<Message> = {
      next: async () => {
        const { done, value } = await items.next();
        return done ? { done, value: undefined } : { value: this.encode(value) };
      },
      return: async () => {
        await items.return?.();
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]: () => messages,
    };
    return messages;
  }
}
