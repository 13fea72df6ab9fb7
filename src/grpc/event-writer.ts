/**
 * Writes the events of a task to an HTTP/2 response, with backpressure.
 *
 * The gRPC library `connect` would pass each event through a chain of generators, which takes more time than all other
 * processing of an event. EventWriter bypasses the chain. An event is framed once for all readers that share it. Events
 * that are published at about the same time are written together. The library still handles the request, errors and the
 * status at the end.
 */
import { constants, type Http2ServerResponse } from 'node:http2';
import {
  type Beating,
  type GrpcContext,
  type Pace,
  type Paced,
  peerError,
  UNCOUNTED_BYTES,
} from '../http/index.ts';
import type { A2AError, StreamItem } from '../protocol/index.ts';
import type { StreamSink, TaskStream } from '../tasks/index.ts';

/** Maximum number of gathered bytes. If it is exceeded, all gathered bytes are written immediately. */
const GATHER = 32 * 1024;

interface WriterOptions {
  readonly stream: TaskStream;
  /** Returns the bytes of an event, with the prefix that gRPC requires. */
  readonly frame: (item: StreamItem) => Uint8Array;
  /** The name under which unread bytes are counted. */
  readonly client: string;
  readonly pace: Pace;
  readonly context: GrpcContext;
}

export class EventWriter implements StreamSink, Beating, Paced {
  stalledAt: number | undefined;
  wroteAt = 0;
  readonly #response: Http2ServerResponse;
  readonly #options: WriterOptions;
  readonly #done = Promise.withResolvers<void>();
  #gathered: Uint8Array[] = [];
  #size = 0;
  #room = true;
  #ended = false;
  #failure: A2AError | undefined;
  /** Number of unread bytes that are counted in `pending`. */
  #unread = 0;

  constructor(response: Http2ServerResponse, options: WriterOptions) {
    this.#response = response;
    this.#options = options;
  }

  /**
   * Writes all events. Resolves when all events have been sent, or when the client has disconnected. Rejects if the
   * stream fails, or if an event cannot be framed.
   */
  async run(headers: Headers): Promise<void> {
    const response = this.#response;
    const { stream, context } = this.#options;
    if (response.stream.destroyed) return stream.close();
    response.writeHead(200, Object.fromEntries(headers));
    const onDrain = () => this.#drained();
    const onClose = () => this.#done.resolve();
    response.on('drain', onDrain);
    response.stream.once('close', onClose);
    context.heartbeat.add(this);
    try {
      stream.pipe(this);
      await this.#done.promise;
    } finally {
      context.heartbeat.remove(this);
      response.off('drain', onDrain);
      response.stream.off('close', onClose);
      this.#forget();
      stream.close();
    }
    if (this.#failure) throw this.#failure;
  }

  take(item: StreamItem): boolean {
    const bytes = this.#framed(item);
    if (!bytes) return false;
    if (this.#gathered.length === 0) this.#options.pace.schedule(this);
    this.#gathered.push(bytes);
    this.#size += bytes.length;
    if (this.#size > GATHER) this.flush();
    return this.#room;
  }

  /**
   * Returns the bytes of an event. If the event cannot be encoded, ends this stream and returns undefined. The error
   * must not reach the task, whose other readers may use another binding.
   */
  #framed(item: StreamItem): Uint8Array | undefined {
    const { frame, context } = this.#options;
    try {
      return frame(item);
    } catch (error) {
      this.fail(peerError(context.app, error));
      this.end();
      return undefined;
    }
  }

  fail(error: A2AError): void {
    this.#failure = error;
  }

  end(): void {
    this.#ended = true;
    this.flush();
    // If the client still has to read events, `run` waits, and the status is sent after them. During this wait, a
    // client that stops reading may be disconnected (`drop`).
    if (this.#room) this.#done.resolve();
  }

  flush(): void {
    const [first] = this.#gathered;
    if (!first || this.#response.stream.destroyed) return;
    const bytes = this.#gathered.length === 1 ? first : Buffer.concat(this.#gathered, this.#size);
    this.#gathered = [];
    this.#size = 0;
    this.#room = this.#response.write(bytes);
    if (this.#room) return;
    this.stalledAt ??= performance.now();
    this.#count();
  }

  #drained(): void {
    this.#room = true;
    this.stalledAt = undefined;
    this.#forget();
    if (this.#ended) this.#done.resolve();
    else this.#options.stream.resume();
  }

  /**
   * Counts the bytes that the client has not read, if there are more than UNCOUNTED_BYTES. Disconnects the client if
   * the bytes exceed a limit.
   */
  #count(): void {
    const bytes = this.#response.stream.writableLength - this.#unread;
    if (bytes <= UNCOUNTED_BYTES) return;
    const { client, context } = this.#options;
    try {
      context.app.pending.take(client, bytes);
      this.#unread += bytes;
    } catch {
      this.#disconnect('disconnected a client because too much data is in transit');
    }
  }

  #forget(): void {
    const { client, context } = this.#options;
    context.app.pending.give(client, this.#unread);
    this.#unread = 0;
  }

  /**
   * Does nothing, because gRPC has no message that clients ignore. Clients can keep the connection alive with HTTP/2
   * pings.
   */
  beat(): void {}

  drop(): void {
    this.#disconnect('disconnected a client that stopped reading');
  }

  #disconnect(message: string): void {
    const { stream, context } = this.#options;
    context.app.logger.warn({ resumeAfter: stream.cursor }, message);
    this.#response.stream.close(constants.NGHTTP2_CANCEL);
  }
}
