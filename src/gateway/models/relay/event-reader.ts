/**
 * Reads a vendor's stream of events. Events that the relay does not watch are returned without being parsed. Watched
 * events are parsed, and may be changed or dropped.
 */
import { isObject, TextCollector } from '../../../base/index.ts';
import type { FinishReason, Usage } from '../../../agent/index.ts';
import type { Relay, RelayReading } from './relay.ts';

const EVENT_END = /\r?\n\r?\n/;
/**
 * Number of characters that are kept for the next search. The longest separator of events (`\r\n\r\n`) has four
 * characters. The first three may arrive before the fourth.
 */
const KEPT_CHARS = 3;
const DATA_LINE = /^data: ?/;

type Reading = Pick<Relay, 'rewrite' | 'watched' | 'read'>;

export class EventReader {
  /** The token counts that were reported last. */
  usage: Usage | undefined;
  /** The reason why the answer ended, or undefined if no event with the reason has arrived. */
  end: FinishReason | undefined;
  /** True if the vendor reported a failure. Later events are not read. */
  failed = false;
  readonly #relay: Reading;
  /** The start of an event whose end has not arrived. */
  readonly #rest = new TextCollector();
  /** The last characters of `#rest`. They may be the first characters of a separator that the next chunk completes. */
  #tail = '';

  constructor(relay: Reading) {
    this.#relay = relay;
  }

  /** Length of the incomplete event. */
  get length(): number {
    return this.#rest.length;
  }

  /** Takes the next text of the stream. Returns the complete events for the client as one text, which may be empty. */
  take(text: string): string {
    if (this.#rest.length === 0 && text.endsWith('\n\n')) return this.#read(text);
    // Only the new text and the kept characters are searched. For an event that arrives in small chunks, a search of
    // the whole text would take quadratic time.
    const recent = this.#tail + text;
    const at = endOfLastEvent(recent) - this.#tail.length;
    if (at <= 0) {
      this.#rest.add(text);
      this.#tail = recent.slice(-KEPT_CHARS);
      return '';
    }
    this.#rest.add(text.slice(0, at));
    const complete = this.#rest.take();
    this.#rest.add(text.slice(at));
    this.#tail = text.slice(at).slice(-KEPT_CHARS);
    return this.#read(complete);
  }

  #read(text: string): string {
    const relay = this.#relay;
    const complete = relay.rewrite?.(text) ?? text;
    if (!relay.watched.test(complete)) return complete;
    let passed = '';
    for (const event of complete.split(EVENT_END)) {
      if (event === '') continue;
      const reading = relay.watched.test(event) ? readEvent(event, relay) : undefined;
      if (reading?.failed === true) {
        this.failed = true;
        return passed;
      }
      this.usage = reading?.usage ?? this.usage;
      this.end = reading?.end ?? this.end;
      if (reading?.dropped !== true) passed += `${reading?.text ?? event}\n\n`;
    }
    return passed;
  }
}

/** Parses a JSON object. Returns undefined if the text is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the index after the last complete event in the text, or 0 if the text contains no separator. */
function endOfLastEvent(text: string): number {
  const plain = text.lastIndexOf('\n\n');
  const windows = text.lastIndexOf('\r\n\r\n');
  return Math.max(plain < 0 ? 0 : plain + 2, windows < 0 ? 0 : windows + 4);
}

/**
 * Reads one event. The result has `text` only if the event was changed. Returns undefined if the data is not a JSON
 * object.
 */
function readEvent(
  event: string,
  relay: Reading,
): (RelayReading & { readonly text?: string }) | undefined {
  const lines = event.split(/\r?\n/);
  const isData = (line: string): boolean => DATA_LINE.test(line);
  const data = lines.filter(isData).map((line) => line.replace(DATA_LINE, ''));
  const value = parseObject(data.join('\n'));
  if (value === undefined) return undefined;
  const reading = relay.read(value);
  if (reading.changed !== true) return reading;
  const others = lines.filter((line) => !isData(line));
  return { ...reading, text: [...others, `data: ${JSON.stringify(value)}`].join('\n') };
}
