/**
 * Writes a stream's events to a response of node:http or node:http2, with backpressure.
 *
 * Events that are published at about the same time are written together (pace.ts). node:http would write each chunk in
 * three pieces, which takes more time than all other processing of an event. So EventSink writes the framing of the
 * chunks itself, and sends the end of the response together with the last event.
 */
import { inOnePiece, MAX_TIMER_MS } from '../../base/index.ts';
import type { A2AError } from '../../protocol/index.ts';
import type { Logger, Opening, Published, StreamSink } from '../../tasks/index.ts';
import type { Beating, Heartbeat } from './heartbeat.ts';
import type { HttpResponse } from './messages.ts';
import type { Pace, Paced } from './pace.ts';
import { type PendingBytes, UNCOUNTED_BYTES } from '../pending-bytes.ts';
import type { StreamReply } from '../request.ts';

/** The end of a response in HTTP chunks. */
export const LAST_CHUNK = '0\r\n\r\n';
/** Maximum length of the gathered text. Longer text is written immediately. */
const GATHER = 32 * 1024;

/**
 * The property of a response that contains its sink. The event listeners find the sink there, so all responses share
 * the same listener functions.
 */
const SINK = Symbol('sink');

interface SinkResponse extends HttpResponse {
  [SINK]?: EventSink;
}

function onDrain(this: SinkResponse): void {
  this[SINK]?.drained();
}

function onClose(this: SinkResponse): void {
  this[SINK]?.closed();
}

interface SinkOptions extends UnreadOptions {
  readonly pending: PendingBytes;
  readonly heartbeat: Heartbeat;
}

export interface UnreadOptions {
  /** How long a client may read nothing before it is disconnected. */
  readonly stallMs: number;
  readonly logger: Logger;
  /** The responses that must still be sent before the server closes. */
  readonly unread: Set<HttpResponse>;
}

/**
 * Disconnects a client that stops reading before the end of the answer. The timeout of the socket restarts whenever the
 * system accepts more data, so a slow client that keeps reading is not disconnected.
 */
export function dropUnread(
  response: HttpResponse,
  { stallMs, logger, unread }: UnreadOptions,
  fields: object = {},
): void {
  unread.add(response);
  response.once('close', () => unread.delete(response));
  response.setTimeout(Math.min(stallMs, MAX_TIMER_MS), () => {
    logger.warn(fields, 'disconnected a client that stopped reading');
    response.destroy();
  });
}

export class EventSink implements StreamSink, Beating, Paced {
  stalledAt: number | undefined;
  wroteAt = 0;
  readonly #response: SinkResponse;
  readonly #reply: StreamReply;
  readonly #options: SinkOptions;
  readonly #pace: Pace;
  /** False for HTTP/1.0, where the end of the connection ends the stream, and for HTTP/2, which has frames. */
  readonly #chunked: boolean;
  #gathered = '';
  /** The encoding of the last chunk. Most chunks are ASCII, which is faster to write as latin1. */
  #encoding: BufferEncoding = 'utf8';
  #room = true;
  /** True until there is text for the client. The frames of some events are empty. */
  silent = true;
  /** Number of unread bytes that are counted in `pending`. */
  #unread = 0;

  constructor(response: HttpResponse, reply: StreamReply, pace: Pace, options: SinkOptions) {
    this.#response = response;
    this.#reply = reply;
    this.#pace = pace;
    this.#options = options;
    this.#chunked = response.req.httpVersion === '1.1';
  }

  writeHead(headers: Readonly<Record<string, string>>): void {
    const flat = flatten(headers);
    if (this.#chunked) flat.push('transfer-encoding', 'chunked');
    this.#response.writeHead(200, flat);
    if (this.#chunked) this.#response.chunkedEncoding = false;
    // node:http keeps the text of the header, in about 25 parts. In one piece, the text needs less memory.
    const header: unknown = Reflect.get(this.#response, '_header');
    if (typeof header === 'string') inOnePiece(header);
  }

  /** Resumes the stream when the client has read the buffered data, and closes it when the response is closed. */
  listen(): void {
    this.#response[SINK] = this;
    this.#response.on('drain', onDrain);
    this.#response.on('close', onClose);
    this.#options.heartbeat.add(this);
  }

  closed(): void {
    this.#options.heartbeat.remove(this);
    this.forget();
    this.#reply.stream.close();
    this.#reply.release();
  }

  take(item: Published | Opening, last: boolean): boolean {
    const text = this.#reply.frame(item);
    if (text !== '') {
      this.silent = false;
      if (this.#gathered === '' && !last) this.#pace.schedule(this);
      this.#gathered += text;
    }
    if (last) this.end();
    else if (this.#gathered.length > GATHER) this.flush();
    return this.#room;
  }

  fail(error: A2AError): void {
    this.#gathered += this.#reply.failure?.(error) ?? '';
  }

  flush(): void {
    if (this.#gathered !== '' && !this.#response.writableEnded) this.#write();
  }

  end(): void {
    // A closed response must not be added to `unread`, because only its event `close` removes it.
    if (this.#response.writableEnded || this.#response.destroyed) return;
    const text = this.#chunk(this.#chunked ? LAST_CHUNK : '');
    this.#response.end(text, this.#encoding);
    if (this.#response.writableLength === 0) return;
    this.stalledAt = undefined;
    dropUnread(this.#response, this.#options, { resumeAfter: this.#reply.stream.cursor });
    this.#count();
  }

  drained(): void {
    this.#room = true;
    this.stalledAt = undefined;
    this.forget();
    this.#reply.stream.resume();
  }

  beat(): void {
    if (this.#response.writableEnded) return;
    this.#gathered += ': keep-alive\n\n';
    this.flush();
  }

  drop(): void {
    this.#disconnect('disconnected a client that stopped reading');
  }

  #disconnect(message: string): void {
    this.#options.logger.warn({ resumeAfter: this.#reply.stream.cursor }, message);
    this.#response.destroy();
  }

  #write(): void {
    // node:http would cork the socket until the next tick. If the socket is corked here first, `uncork` writes the data
    // immediately.
    const socket = this.#chunked ? this.#response.socket : undefined;
    socket?.cork();
    const text = this.#chunk('');
    this.#room = this.#response.write(text, this.#encoding);
    socket?.uncork();
    if (this.#room) return;
    this.stalledAt ??= performance.now();
    this.#count();
  }

  /**
   * Counts the bytes that the client has not read, if there are more than UNCOUNTED_BYTES. Disconnects the client if
   * the bytes exceed a limit.
   */
  #count(): void {
    const bytes = this.#response.writableLength - this.#unread;
    if (bytes <= UNCOUNTED_BYTES) return;
    try {
      this.#options.pending.take(this.#reply.client, bytes);
      this.#unread += bytes;
    } catch {
      this.#disconnect('disconnected a client because too much data is in transit');
    }
  }

  /** Stops counting the unread bytes. Called when the client has read them or has disconnected. */
  forget(): void {
    this.#options.pending.give(this.#reply.client, this.#unread);
    this.#unread = 0;
  }

  /** Returns the gathered text as one HTTP chunk, followed by `tail`. */
  #chunk(tail: string): string {
    const text = this.#gathered;
    this.#gathered = '';
    if (text === '') return tail;
    const { data, encoding } = httpChunk(text, this.#chunked);
    this.#encoding = encoding;
    return data + tail;
  }
}

/**
 * Returns the text as one HTTP chunk, or unchanged if the response has no chunks. Most texts are ASCII, which is faster
 * to write as latin1.
 */
export function httpChunk(
  text: string,
  chunked: boolean,
): { readonly data: string; readonly encoding: BufferEncoding } {
  const bytes = Buffer.byteLength(text);
  const encoding = bytes === text.length ? 'latin1' : 'utf8';
  return { data: chunked ? `${bytes.toString(16)}\r\n${text}\r\n` : text, encoding };
}

/** Returns the headers as a flat list: name, value, name, value. node:http uses such a list without copying it. */
export function flatten(headers: Readonly<Record<string, string>>): string[] {
  const flat: string[] = [];
  for (const name in headers) flat.push(name, headers[name]!);
  return flat;
}
