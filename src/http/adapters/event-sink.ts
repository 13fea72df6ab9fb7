/**
 * Where a stream's events go: the response of node:http, with its backpressure.
 *
 * What is published at about the same time is written in one piece (pace.ts says when). node:http would send each
 * chunk as three, which costs more than all the rest of an event; here the chunk's frame is part of the text, and the
 * last event brings the end along.
 */
import type { ServerResponse } from 'node:http';
import type { Logger, Opening, Published, StreamSink } from '../../tasks/index.ts';
import type { Beating } from './heartbeat.ts';
import type { Pace, Paced } from './pace.ts';
import type { StreamReply } from '../request.ts';

const LAST_CHUNK = '0\r\n\r\n';
/** More text than this is not gathered, however fast it comes. */
const GATHER = 32 * 1024;

interface UnreadOptions {
  /** A reader that takes nothing for so long is dropped. */
  readonly stallMs: number;
  readonly logger: Logger;
}

const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * For an answer that is complete but not sent: whoever does not read it is dropped. Node's timeout of a socket does not
 * count while the system takes more of what waits, so that a slow reader has the time that it needs.
 */
export function dropUnread(
  response: ServerResponse,
  { stallMs, logger }: UnreadOptions,
  fields: object = {},
): void {
  response.setTimeout(Math.min(stallMs, LONGEST_TIMER), () => {
    logger.warn(fields, 'a reader that does not read was dropped');
    response.destroy();
  });
}

export class EventSink implements StreamSink, Beating, Paced {
  stalledAt: number | undefined;
  wroteAt = 0;
  readonly #response: ServerResponse;
  readonly #reply: StreamReply;
  readonly #options: UnreadOptions;
  readonly #pace: Pace;
  /** HTTP/1.0 knows no chunks: there the end of the connection is the end of the stream. */
  readonly #chunked: boolean;
  #gathered = '';
  /** Of what `#chunk` made last. Plain ASCII, which most of it is, is cheaper to write as such. */
  #encoding: BufferEncoding = 'utf8';
  #room = true;
  /** Nothing was to be sent yet. */
  silent = true;

  constructor(response: ServerResponse, reply: StreamReply, pace: Pace, options: UnreadOptions) {
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
    this.#response.chunkedEncoding = false;
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

  flush(): void {
    if (this.#gathered !== '' && !this.#response.writableEnded) this.#write();
  }

  end(): void {
    if (this.#response.writableEnded) return;
    const text = this.#chunk(this.#chunked ? LAST_CHUNK : '');
    this.#response.end(text, this.#encoding);
    if (this.#response.writableLength === 0) return;
    this.stalledAt = undefined;
    dropUnread(this.#response, this.#options, { resumeAfter: this.#reply.stream.cursor });
  }

  drained(): void {
    this.#room = true;
    this.stalledAt = undefined;
    this.#reply.stream.resume();
  }

  beat(): void {
    if (this.#response.writableEnded) return;
    this.#gathered += ': keep-alive\n\n';
    this.flush();
  }

  drop(): void {
    const resumeAfter = this.#reply.stream.cursor;
    this.#options.logger.warn({ resumeAfter }, 'a reader that does not read was dropped');
    this.#response.destroy();
  }

  #write(): void {
    // A socket that is corked already is not corked by node:http for one more tick: this is the end of the turn.
    const { socket } = this.#response;
    socket?.cork();
    const text = this.#chunk('');
    this.#room = this.#response.write(text, this.#encoding);
    socket?.uncork();
    if (!this.#room) this.stalledAt ??= performance.now();
  }

  /** What was gathered, in its frame, and what comes behind it. */
  #chunk(tail: string): string {
    const text = this.#gathered;
    this.#gathered = '';
    if (text === '' || !this.#chunked) return text + tail;
    const bytes = Buffer.byteLength(text);
    this.#encoding = bytes === text.length ? 'latin1' : 'utf8';
    return `${bytes.toString(16)}\r\n${text}\r\n${tail}`;
  }
}

/** Name, value, name, value: node:http takes this form as it is. */
export function flatten(headers: Readonly<Record<string, string>>): string[] {
  const flat: string[] = [];
  for (const name in headers) flat.push(name, headers[name]!);
  return flat;
}
