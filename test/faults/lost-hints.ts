/**
 * Loses notifications (NOTIFY) on their way from PostgreSQL to a node, for a proxy between the two. Everything else
 * passes unchanged, so the node cannot know that it was not told.
 */
import { Transform } from 'node:stream';

const NOTIFICATION = 'A'.charCodeAt(0);
/** A message of the server starts with its type and its length. The length does not count the type. */
const HEADER_BYTES = 5;
const NOTHING = Buffer.alloc(0);

/** Returns the stream for one connection. `loses` is called for each notification. */
export function losingHints(loses: () => boolean): Transform {
  let header: Buffer = NOTHING;
  /** Number of bytes of the current message that are still to come. */
  let left = 0;
  let isLost = false;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const kept: Buffer[] = [];
      for (let at = 0; at < chunk.length;) {
        if (left === 0) {
          const more = chunk.subarray(at, at + HEADER_BYTES - header.length);
          at += more.length;
          header = Buffer.concat([header, more]);
          if (header.length < HEADER_BYTES) break;
          left = header.readUInt32BE(1) + 1 - HEADER_BYTES;
          isLost = header[0] === NOTIFICATION && loses();
          if (!isLost) kept.push(header);
          header = NOTHING;
        }
        const body = chunk.subarray(at, at + left);
        at += body.length;
        left -= body.length;
        if (!isLost) kept.push(body);
      }
      done(null, Buffer.concat(kept));
    },
  });
}
