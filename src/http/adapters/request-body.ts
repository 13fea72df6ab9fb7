/** Reads the body of a request to node:http or node:http2. */
import { ByteCollector } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { type PendingBytes, UNCOUNTED_BYTES } from '../pending-bytes.ts';
import type { HttpRequest } from './messages.ts';

export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly pending: PendingBytes;
}

export function tooLarge(limit: number): A2AError {
  return new A2AError('tooLarge', `The request body is larger than ${limit} bytes`);
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Returns the text of a body. Throws `parse` if it is not UTF-8, because replacement characters would change its
 * meaning.
 */
export function bodyText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new A2AError('parse', 'The request body is not valid UTF-8');
  }
}

/**
 * Reads the body. `clientOf` returns the client whose bytes are counted. It is called only for large bodies. If the
 * client disconnects, the promise stays pending and is garbage collected.
 */
export function readBody(
  request: HttpRequest,
  { maxBodyBytes: serverLimit, pending }: BodyLimits,
  clientOf: () => string,
  maxBytes: number = serverLimit,
): Promise<string> {
  const maxBodyBytes = Math.min(maxBytes, serverLimit);
  return new Promise((resolve, reject) => {
    if (request.readableEnded) return resolve(parsedBody(request));
    if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
      return reject(tooLarge(maxBodyBytes));
    }
    const body = new ByteCollector();
    let client = '';
    let held = 0;
    const release = () => {
      pending.give(client, held);
      held = 0;
    };
    /** Counts the bytes in steps, because a body can arrive byte by byte. */
    const count = (size: number) => {
      const steps = Math.ceil(size / UNCOUNTED_BYTES) - 1;
      const more = steps * UNCOUNTED_BYTES - held;
      if (more <= 0) return;
      if (held === 0) {
        client = clientOf();
        request.once('close', release);
      }
      pending.take(client, more);
      held += more;
    };
    const refuse = (error: unknown) => {
      request.off('data', onData);
      request.off('end', onEnd);
      release();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      const size = body.size + chunk.length;
      if (size > maxBodyBytes) return refuse(tooLarge(maxBodyBytes));
      try {
        count(size);
      } catch (error) {
        return refuse(error);
      }
      body.add(chunk);
    };
    const onEnd = () => {
      release();
      try {
        resolve(bodyText(body.bytes()));
      } catch (error) {
        reject(error);
      }
    };
    request.on('data', onData);
    request.on('end', onEnd);
  });
}

/** Returns the text of a body that a framework has already read. */
function parsedBody(request: HttpRequest): string {
  const body: unknown = Reflect.get(request, 'body');
  if (typeof body === 'string') return body;
  if (Buffer.isBuffer(body)) return bodyText(body);
  if (body !== undefined) return JSON.stringify(body);
  const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
  if (length === '0' && coding === undefined) return '';
  throw new Error('the request body was already read: the framework must keep it in request.body');
}
