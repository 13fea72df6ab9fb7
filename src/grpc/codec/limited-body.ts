/** Limits the messages of a gRPC request or response: their size, and the number of messages inside them. */
import type { DescMessage } from '@bufbuild/protobuf';
import { A2AError } from '../../protocol/index.ts';
import { MessageCount } from './message-count.ts';

/** In messages up to this size, the inner messages are not counted. They are too few to block the event loop. */
const UNCHECKED_BYTES = 64 * 1024;
/** gRPC sends one byte of flags and four bytes of length before each message. */
const PREFIX_BYTES = 5;

/**
 * Passes a body on. Throws `tooLarge` at the beginning of a message that is larger than `maxBytes`. Throws
 * `invalidRequest` if a message contains too many messages, before it passes on the chunk that exceeds the limit.
 */
export async function* limitedBody<Chunk extends Uint8Array>(
  body: AsyncIterable<Chunk>,
  schema: DescMessage,
  maxBytes: number,
): AsyncGenerator<Chunk> {
  let prefixBytes = 0;
  let size = 0;
  /** The bytes of the current message that have not arrived. */
  let left = 0;
  let count: MessageCount | undefined;
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length;) {
      if (left > 0) {
        const taken = chunk.subarray(at, at + left);
        count?.read(taken);
        left -= taken.length;
        at += taken.length;
        continue;
      }
      const byte = chunk[at++]!;
      size = prefixBytes === 0 ? 0 : size * 256 + byte;
      if (++prefixBytes < PREFIX_BYTES) continue;
      prefixBytes = 0;
      if (size > maxBytes) {
        throw new A2AError('tooLarge', `The message is larger than ${maxBytes} bytes`);
      }
      left = size;
      count = size > UNCHECKED_BYTES ? new MessageCount(schema, size) : undefined;
    }
    yield chunk;
  }
}
