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
  { headers, chunks, release }: TextReply,
  cors: Record<string, string> | undefined,
  options: UnreadOptions,
): void {
  const { unread, stallMs, logger } = options;
  /** False for HTTP/1.0, where the end of the connection ends the answer, and for HTTP/2, which has frames. */
  const chunked = response.req.httpVersion === '1.1';
  let isOver = false;
  let stalled: NodeJS.Timeout | undefined;

  const flat = flatten(cors ? { ...headers, ...cors } : headers);
  if (chunked) flat.push('transfer-encoding', 'chunked');
  unread.add(response);
  response.once('close', () => {
    unread.delete(response);
    end();
  });
  response.on('drain', drained);
  response.writeHead(200, flat);
  if (chunked) response.chunkedEncoding = false;
  response.flushHeaders();
  read();

  function read(): void {
    chunks.next().then(onStep, onError);
  }

  function onStep({ value, done }: IteratorResult<string>): void {
    if (isOver) return;
    if (done === true) {
      response.end(chunked ? LAST_CHUNK : '', 'latin1');
      if (response.writableLength > 0) dropUnread(response, options);
      return end();
    }
    if (value === '' || write(value)) return read();
    stalled = setTimeout(drop, stallMs);
  }

  function write(text: string): boolean {
    const { data, encoding } = httpChunk(text, chunked);
    // node:http would cork the socket until the next tick. If the socket is corked here first, `uncork` writes the data
    // immediately.
    const socket = chunked ? response.socket : undefined;
    socket?.cork();
    const hasRoom = response.write(data, encoding);
    socket?.uncork();
    return hasRoom;
  }

  function drained(): void {
    if (stalled === undefined) return;
    clearTimeout(stalled);
    stalled = undefined;
    read();
  }

  function onError(error: unknown): void {
    if (isOver) return;
    logger.error({ err: error }, 'an answer failed before it was complete');
    response.destroy();
    end();
  }

  function drop(): void {
    logger.warn({}, 'disconnected a client that stopped reading');
    response.destroy();
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(stalled);
    chunks.return?.().catch(() => undefined);
    release();
  }
}
