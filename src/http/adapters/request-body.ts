/** Reads the body of a request to node:http or node:http2. */
import { ByteCollector } from '../../base/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { type PendingBytes, UNCOUNTED_BYTES } from '../pending-bytes.ts';
import { type BodySink, isDirect } from './direct-request.ts';
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
 * Reads the body. `clientOf` returns the client whose bytes are counted. `clientOf` is called only for large bodies. If
 * the client disconnects, the promise stays pending and is garbage collected.
 */
export function readBody(
  request: HttpRequest,
  { maxBodyBytes, pending }: BodyLimits,
  clientOf: () => string,
  maxBytes: number = maxBodyBytes,
): Promise<string> {
  const limit = Math.min(maxBytes, maxBodyBytes);
  return new Promise((resolve, reject) => {
    if (!isArriving(request) && request.readableEnded) return resolve(parsedBody(request));
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit));
    new BodyReader(request, { limit, pending, clientOf, resolve, reject }).start();
  });
}

/**
 * Returns whether one of our own listeners is still receiving the body. This check is faster than a check of
 * `readableEnded`.
 */
function isArriving(request: HttpRequest): boolean {
  return !request.complete && isDirect(request);
}

interface BodyReaderOptions {
  readonly limit: number;
  readonly pending: PendingBytes;
  readonly clientOf: () => string;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

/** This is a class, because functions inside `readBody` would be created for every request. */
class BodyReader implements BodySink {
  readonly #request: HttpRequest;
  readonly #options: BodyReaderOptions;
  readonly #body = new ByteCollector();
  #client = '';
  /** Number of bytes that are counted in `pending`. */
  #held = 0;
  /** Set if the body was refused. The rest of it is ignored. */
  #isOver = false;

  constructor(request: HttpRequest, options: BodyReaderOptions) {
    this.#request = request;
    this.#options = options;
  }

  start(): void {
    const request = this.#request;
    if (isDirect(request) && request.takeBody(this)) return;
    request.on('data', (chunk: Buffer) => this.data(chunk));
    request.on('end', () => this.end());
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return;
    const { limit } = this.#options;
    const size = this.#body.size + chunk.length;
    if (size > limit) return this.#refuse(tooLarge(limit));
    try {
      if (size > UNCOUNTED_BYTES) this.#count(size);
    } catch (error) {
      return this.#refuse(error);
    }
    this.#body.add(chunk);
  }

  end(): void {
    if (this.#isOver) return;
    this.#release();
    try {
      this.#options.resolve(bodyText(this.#body.bytes()));
    } catch (error) {
      this.#options.reject(error);
    }
  }

  /** Counts the bytes in steps of UNCOUNTED_BYTES, because a body can arrive byte by byte. */
  #count(size: number): void {
    const steps = Math.ceil(size / UNCOUNTED_BYTES) - 1;
    const more = steps * UNCOUNTED_BYTES - this.#held;
    if (more <= 0) return;
    if (this.#held === 0) {
      this.#client = this.#options.clientOf();
      this.#request.once('close', () => this.#release());
    }
    this.#options.pending.take(this.#client, more, this.#held);
    this.#held += more;
  }

  #refuse(error: unknown): void {
    this.#isOver = true;
    if (isDirect(this.#request)) this.#request.leaveBody();
    this.#release();
    this.#options.reject(error);
  }

  #release(): void {
    this.#options.pending.give(this.#client, this.#held);
    this.#held = 0;
  }
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
