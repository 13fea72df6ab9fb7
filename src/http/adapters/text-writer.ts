/**
 * Writes an answer of text in chunks, as fast as the client reads it. Like event-sink.ts, it writes the framing of the
 * HTTP chunks itself, because node:http would write each chunk in three pieces.
 */
import type { TextReply } from '../request.ts';
import { dropUnread, flatten, httpChunk, LAST_CHUNK, type UnreadOptions } from './event-sink.ts';
import type { HttpResponse } from './messages.ts';

/** Starts to write the chunks, and returns. The writing ends after the last chunk, or when the client disconnects. */
export function sendText(
  response: HttpResponse,
  reply: TextReply,
  cors: Record<string, string> | undefined,
  options: UnreadOptions,
): void {
  new TextWriter(response, reply, options).start(cors);
}

class TextWriter {
  readonly #response: HttpResponse;
  readonly #reply: TextReply;
  readonly #options: UnreadOptions;
  /** False for HTTP/1.0, where the end of the connection ends the answer, and for HTTP/2, which has frames. */
  readonly #chunked: boolean;
  #over = false;
  #stalled: NodeJS.Timeout | undefined;

  constructor(response: HttpResponse, reply: TextReply, options: UnreadOptions) {
    this.#response = response;
    this.#reply = reply;
    this.#options = options;
    this.#chunked = response.req.httpVersion === '1.1';
  }

  start(cors: Record<string, string> | undefined): void {
    const response = this.#response;
    const flat = flatten(cors ? { ...this.#reply.headers, ...cors } : this.#reply.headers);
    if (this.#chunked) flat.push('transfer-encoding', 'chunked');
    const { unread } = this.#options;
    unread.add(response);
    response.once('close', () => {
      unread.delete(response);
      this.#end();
    });
    response.on('drain', () => this.#drained());
    response.writeHead(200, flat);
    if (this.#chunked) response.chunkedEncoding = false;
    response.flushHeaders();
    this.#read();
  }

  #read(): void {
    this.#reply.chunks.next().then(this.#onStep, this.#onError);
  }

  readonly #onStep = ({ value, done }: IteratorResult<string>): void => {
    if (this.#over) return;
    const response = this.#response;
    if (done === true) {
      response.end(this.#chunked ? LAST_CHUNK : '', 'latin1');
      if (response.writableLength > 0) dropUnread(response, this.#options);
      return this.#end();
    }
    if (value === '' || this.#write(value)) return this.#read();
    this.#stalled = setTimeout(() => this.#drop(), this.#options.stallMs);
  };

  #write(text: string): boolean {
    const { data, encoding } = httpChunk(text, this.#chunked);
    // node:http would cork the socket until the next tick. If the socket is corked here first, `uncork` writes the data
    // immediately.
    const socket = this.#chunked ? this.#response.socket : undefined;
    socket?.cork();
    const hasRoom = this.#response.write(data, encoding);
    socket?.uncork();
    return hasRoom;
  }

  #drained(): void {
    if (this.#stalled === undefined) return;
    clearTimeout(this.#stalled);
    this.#stalled = undefined;
    this.#read();
  }

  readonly #onError = (error: unknown): void => {
    if (this.#over) return;
    this.#options.logger.error({ err: error }, 'an answer failed before it was complete');
    this.#response.destroy();
    this.#end();
  };

  #drop(): void {
    this.#options.logger.warn({}, 'disconnected a client that stopped reading');
    this.#response.destroy();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#stalled);
    this.#reply.chunks.return?.().catch(() => undefined);
    this.#reply.release();
  }
}
