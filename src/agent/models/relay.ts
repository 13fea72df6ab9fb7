/**
 * Relays a request in a vendor's own format to this vendor. The answer is returned in the vendor's format, with few
 * changes such as the model's name, so that the client also gets fields that this program does not support. Only the
 * events with the token counts, the name of the model or the end of the answer are parsed.
 *
 * Timeouts, limits and errors are the same as for a translated request (provider.ts).
 */
import { isObject, TextCollector } from '../../base/index.ts';
import type { Usage } from '../event.ts';
import { ModelError, type FinishReason, type ModelChunk } from '../model.ts';
import { startTimeouts, type TimeoutOptions } from './timeouts.ts';
import { cutOff, type ErrorSource } from './vendor-error.ts';
import type { Vendor, VendorSettings } from './vendors.ts';

/** A request in a vendor's own format, and functions that read the vendor's answer. */
export interface Relay {
  /** Returns whether a vendor of this type accepts the format. Example of a type: `anthropic`. */
  accepts(type: string): boolean;
  /** Whether the answer is a stream of server-sent events. Otherwise it is one JSON object. */
  readonly stream: boolean;
  /** Returns the path to append to the vendor's base URL, for example `/messages`. */
  path(model: string): string;
  /**
   * Returns the body of the request, with the vendor's name of the model. `maxOutputTokens` replaces the client's
   * limit.
   */
  body(model: string, maxOutputTokens: number | undefined): unknown;
  /** Headers of the client that are forwarded to the vendor, for example `anthropic-beta`. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Changes the text of a stream before its events are parsed, for example to replace the model's name. It must be
   * fast.
   */
  rewrite?(text: string): string;
  /**
   * The pattern for events that must be passed to `read`. Other events are forwarded without parsing. The pattern
   * must not have the flag g or y.
   */
  readonly watched: RegExp;
  /**
   * Reads an event or the complete answer. May change it, for example to replace the model's name. The events arrive
   * in order, so the function may keep state in its closure. For this reason, each request needs its own Relay.
   */
  read(event: Record<string, unknown>): RelayReading;
}

export interface RelayReading {
  /** The token counts up to now. They replace the earlier counts. */
  readonly usage?: Usage | undefined;
  /** The reason why the answer ended. Only the last event of the answer sets it. */
  readonly end?: FinishReason | undefined;
  /**
   * Whether the event reports a failure. Such an event is not forwarded. The client gets an error in our format
   * instead.
   */
  readonly failed?: boolean;
  /** Whether `read` has changed the event. */
  readonly changed?: boolean;
  /** Whether the event must not be forwarded to the client. */
  readonly dropped?: boolean;
}

/** A chunk of an answer in the vendor's format: complete events, or the complete JSON object. */
export interface RawChunk {
  readonly kind: 'raw';
  readonly text: string;
}

/** The vendor and the model to which a request is relayed. */
export interface RelayTarget extends TimeoutOptions {
  readonly vendor: Vendor;
  readonly settings: VendorSettings;
  /** The vendor's name of the model. */
  readonly model: string;
  /** The name in error messages. */
  readonly name: string;
  readonly maxOutputTokens?: number | undefined;
}

type RelayChunk = RawChunk | Extract<ModelChunk, { kind: 'finish' }>;

const MAX_BYTES = 256 * 1024 * 1024;
/** Maximum length of one event or of a complete answer, in characters. */
const MAX_EVENT_CHARS = 32_000_000;
const MAX_ERROR_CHARS = 64 * 1024;
const EVENT_END = /\r?\n\r?\n/;
/**
 * Number of characters to keep for the next search: the longest end of an event (`\r\n\r\n`) without its last
 * character.
 */
const LONGEST_END = 3;
const DATA_LINE = /^data: ?/;

/** Sends the request and yields the answer. May throw a ModelError. After an abort, throws the signal's reason. */
export async function* relayed(
  request: Relay,
  target: RelayTarget,
  signal: AbortSignal,
): AsyncGenerator<RelayChunk> {
  signal.throwIfAborted();
  const { name, settings } = target;
  const source: ErrorSource = { name, secret: settings.apiKey };
  const timeouts = startTimeouts(source, signal, target);
  try {
    const response = await timeouts.step(send(request, target, timeouts.signal));
    if (!response.ok) throw await failed(response);
    const reader = response.body?.getReader();
    if (!reader) throw cutOff(name);
    async function* texts(from: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
      const decoder = new TextDecoder();
      let bytes = 0;
      for (;;) {
        const { done, value } = await timeouts.step(from.read());
        if (done) return;
        timeouts.clearFirst();
        bytes += value.byteLength;
        if (bytes > MAX_BYTES) throw tooLarge(name);
        yield decoder.decode(value, { stream: true });
      }
    }
    try {
      yield* request.stream
        ? events(texts(reader), request, name)
        : complete(texts(reader), request, name);
    } finally {
      reader.cancel().catch(() => undefined);
    }
  } catch (error) {
    throw timeouts.reason(error);
  } finally {
    timeouts.end();
  }
}

function send(
  request: Relay,
  { vendor, settings, model, maxOutputTokens }: RelayTarget,
  signal: AbortSignal,
): Promise<Response> {
  const { apiKey, baseURL } = settings;
  return fetch(baseURL.replace(/\/$/, '') + request.path(model), {
    method: 'POST',
    headers: {
      ...(apiKey !== undefined && vendor.keyHeaders(apiKey)),
      ...request.headers,
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
    },
    body: JSON.stringify(request.body(model, maxOutputTokens)),
    // The key must not be sent to another address.
    redirect: 'error',
    signal,
  });
}

async function* events(
  texts: AsyncIterable<string>,
  request: Relay,
  name: string,
): AsyncGenerator<RelayChunk> {
  const rest = new TextCollector();
  /** The last characters of `rest`. They may be the start of an event's end, which the next chunk completes. */
  let tail = '';
  let usage: Usage | undefined;
  let end: FinishReason | undefined;
  for await (const text of texts) {
    // Only the new text is searched. Searching the whole text would take quadratic time for an event that arrives in
    // small chunks.
    const recent = tail + text;
    const at = endOfLastEvent(recent) - tail.length;
    if (at <= 0) {
      rest.add(text);
      tail = recent.slice(-LONGEST_END);
      if (rest.length > MAX_EVENT_CHARS) throw tooLarge(name);
      continue;
    }
    rest.add(text.slice(0, at));
    const complete = rest.take();
    const whole = request.rewrite?.(complete) ?? complete;
    rest.add(text.slice(at));
    tail = text.slice(at).slice(-LONGEST_END);
    if (!request.watched.test(whole)) {
      yield { kind: 'raw', text: whole };
      continue;
    }
    let passed = '';
    for (const event of whole.split(EVENT_END)) {
      if (event === '') continue;
      const reading = request.watched.test(event) ? readEvent(event, request) : undefined;
      if (reading?.failed === true) {
        if (passed !== '') yield { kind: 'raw', text: passed };
        throw new ModelError('failed', `${name} failed during its answer`, { retryable: true });
      }
      usage = reading?.usage ?? usage;
      end = reading?.end ?? end;
      if (reading?.dropped !== true) passed += `${reading?.text ?? event}\n\n`;
    }
    if (passed !== '') yield { kind: 'raw', text: passed };
  }
  if (end === undefined) throw cutOff(name);
  yield { kind: 'finish', reason: end, ...(usage && { usage }) };
}

/** Returns the index after the last complete event, or 0 if there is none. */
function endOfLastEvent(text: string): number {
  const plain = text.lastIndexOf('\n\n');
  const windows = text.lastIndexOf('\r\n\r\n');
  return Math.max(plain < 0 ? 0 : plain + 2, windows < 0 ? 0 : windows + 4);
}

/** Reads one event. The result has `text` only if the event was changed. */
function readEvent(
  event: string,
  request: Relay,
): (RelayReading & { readonly text?: string }) | undefined {
  const lines = event.split(/\r?\n/);
  const isData = (line: string): boolean => DATA_LINE.test(line);
  const data = lines.filter(isData).map((line) => line.replace(DATA_LINE, ''));
  const value = parse(data.join('\n'));
  if (value === undefined) return undefined;
  const reading = request.read(value);
  if (reading.changed !== true) return reading;
  const others = lines.filter((line) => !isData(line));
  return { ...reading, text: [...others, `data: ${JSON.stringify(value)}`].join('\n') };
}

async function* complete(
  texts: AsyncIterable<string>,
  request: Relay,
  name: string,
): AsyncGenerator<RelayChunk> {
  const collector = new TextCollector();
  for await (const piece of texts) {
    collector.add(piece);
    if (collector.length > MAX_EVENT_CHARS) throw tooLarge(name);
  }
  const text = collector.take();
  const value = parse(text);
  if (value === undefined) throw new ModelError('failed', `${name} sent an invalid response`);
  const { usage, end = 'stop', failed: broken, changed } = request.read(value);
  if (broken === true) throw new ModelError('failed', `${name} failed`, { retryable: true });
  yield { kind: 'raw', text: changed === true ? JSON.stringify(value) : text };
  yield { kind: 'finish', reason: end, ...(usage && { usage }) };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns an error with the fields that `vendorError` reads. */
async function failed(response: Response): Promise<unknown> {
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString('utf8');
    if (text.length > MAX_ERROR_CHARS) break;
  }
  const data = parse(text);
  const problem = isObject(data?.['error']) ? data['error'] : data;
  const message = problem?.['message'];
  return {
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    data,
    message: typeof message === 'string' ? message : response.statusText,
  };
}

function tooLarge(name: string): ModelError {
  return new ModelError('failed', `${name} sent an answer that is too large and was stopped`);
}
