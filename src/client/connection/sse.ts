/**
 * Parses server-sent events, one chunk at a time (WHATWG HTML, "Parsing an event stream").
 *
 * A line ends with LF, CR or CRLF. A CRLF, or the bytes of a character, may be split between two chunks. Only the new
 * chunk is searched for line ends, so that long lines do not take more time per byte than short lines. If there is no
 * empty line after the last event, the event is dropped, as the standard requires, because it may be incomplete.
 */
import { TextCollector } from '../../base/index.ts';

/** An event of a stream. */
export interface SseEvent {
  /** The type of the event. Default: `message`. */
  readonly type: string;
  readonly data: string;
  /**
   * The id of this event. Unlike in the standard, it does not apply to later events, because it may be a sequence
   * number.
   */
  readonly id: string | undefined;
}

/** Means that an event or a line exceeds the limit. */
export class SseLimitError extends Error {
  constructor(limit: number) {
    super(`an event of the stream is larger than ${limit} bytes`);
    this.name = 'SseLimitError';
  }
}

/** Takes the stream's next chunk and returns the events that this chunk completes. */
export type SseParser = (chunk: Uint8Array | string) => SseEvent[];

const SPACE = 32;
const LINE_FEED = 10;
const BYTE_ORDER_MARK = 0xfeff;

/**
 * Makes a parser for one stream. `maxEventBytes` limits the part of an unfinished event that is kept in memory. This
 * part is measured in UTF-16 units. A text never has more UTF-16 units than bytes in UTF-8, so no event of up to
 * `maxEventBytes` bytes is refused.
 */
export function createSseParser(maxEventBytes = Number.POSITIVE_INFINITY): SseParser {
  /** Created for the first chunk of bytes. Not needed if all chunks are text. */
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let started = false;
  let afterReturn = false;
  /** The start of an unfinished line. */
  const partial = new TextCollector();
  /** The data lines of an unfinished event, except for the last one, which is in `data`. */
  const collected = new TextCollector();
  let type = '';
  let id: string | undefined;
  let data: string | undefined;

  function decoded(bytes: Uint8Array): string {
    decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return decoder.decode(bytes, { stream: true });
  }

  function field(name: string, value: string): void {
    if (name === 'data') {
      if (data !== undefined) {
        collected.add(data);
        collected.add('\n');
      }
      data = value;
      if (collected.length + data.length > maxEventBytes) throw new SseLimitError(maxEventBytes);
    } else if (name === 'event') {
      type = value;
    } else if (name === 'id' && !value.includes('\0')) {
      id = value;
    }
  }

  function line(text: string, events: SseEvent[]): void {
    if (text === '') {
      if (data !== undefined) {
        const whole = collected.length === 0 ? data : collected.take() + data;
        events.push({ type: type || 'message', data: whole, id });
      }
      type = '';
      data = undefined;
      id = undefined;
      return;
    }
    const colon = text.indexOf(':');
    if (colon === 0) return;
    if (colon < 0) {
      field(text, '');
      return;
    }
    const start = text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
    field(text.slice(0, colon), text.slice(start));
  }

  return (chunk) => {
    const text = typeof chunk === 'string' ? chunk : decoded(chunk);
    const events: SseEvent[] = [];
    if (text === '') return events;
    let at = 0;
    if (!started) {
      started = true;
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) at = 1;
    }
    if (afterReturn && at < text.length) {
      afterReturn = false;
      if (text.charCodeAt(at) === LINE_FEED) at++;
    }
    let feed = text.indexOf('\n', at);
    let back = text.indexOf('\r', at);
    while (feed >= 0 || back >= 0) {
      const end = back < 0 || (feed >= 0 && feed < back) ? feed : back;
      if (partial.length + end - at > maxEventBytes) throw new SseLimitError(maxEventBytes);
      const rest = text.slice(at, end);
      line(partial.length === 0 ? rest : partial.take() + rest, events);
      at = end + 1;
      if (end === back) {
        if (at === text.length) afterReturn = true;
        else if (text.charCodeAt(at) === LINE_FEED) at++;
        back = text.indexOf('\r', at);
      }
      if (feed >= 0 && feed < at) feed = text.indexOf('\n', at);
    }
    if (at < text.length) partial.add(at === 0 ? text : text.slice(at));
    if (partial.length > maxEventBytes) throw new SseLimitError(maxEventBytes);
    return events;
  };
}

/** Returns the sequence number in an event's id, or undefined if the id does not consist of 1 to 15 digits. */
export function seqOf(id: string | undefined): number | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? Number(id) : undefined;
}
