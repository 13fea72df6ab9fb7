/**
 * Sends a relayed request and returns the answer. It uses undici's dispatcher and no generators. `fetch`, web streams
 * and a generator for each step would take more time per event than all the other work.
 *
 *   for await (const chunk of relayed(relay, target, signal)) …       // raw chunks, then `finish`
 *
 * Timeouts, limits and errors are the same as for a converted request.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { flushAtEndOfTurn, isObject, TextCollector } from '../../../base/index.ts';
import { ModelError } from '../../../agent/index.ts';
import { cutOff, startTimeouts, type Timeouts } from '../../../agent/internal/index.ts';
import { EventReader, parseObject } from './event-reader.ts';
import type { Relay, RelayChunk, RelayTarget } from './relay.ts';

const MAX_BYTES = 256 * 1024 * 1024;
/** Maximum length of one event of a stream, or of an answer that is not a stream, in characters. */
const MAX_EVENT_CHARS = 32_000_000;
const MAX_ERROR_CHARS = 64 * 1024;
/** Maximum length of the unread text. Above it, reading from the vendor pauses. */
const MAX_UNREAD_CHARS = 256 * 1024;
const TOO_LARGE = 'sent an answer that is too large and was stopped';
const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

/**
 * The number of chunks of a stream that are processed as soon as they arrive. Later chunks are collected until the end
 * of the event loop's turn and are processed together.
 */
const AT_ONCE = 16;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

let shared: Dispatcher | undefined;

/** Returns the connections to vendors. Like the connections of `fetch`, they use a proxy if NODE_USE_ENV_PROXY is 1. */
function connections(): Dispatcher {
  const options = { keepAliveTimeout: KEEP_ALIVE_MS, connect: { timeout: CONNECT_MS } };
  const usesProxy = process.env['NODE_USE_ENV_PROXY'] === '1';
  return (shared ??= usesProxy ? new EnvHttpProxyAgent(options) : new Agent(options));
}

/**
 * Returns the chunks of the answer. The request is sent when the first chunk is read. Reading may throw a ModelError.
 * After an abort, it throws the signal's reason.
 */
export function relayed(
  relay: Relay,
  target: RelayTarget,
  signal: AbortSignal,
): AsyncIterableIterator<RelayChunk> {
  return new RelayedAnswer(relay, target, signal);
}

class RelayedAnswer
  implements Dispatcher.DispatchHandler, AsyncIterableIterator<RelayChunk, undefined>
{
  readonly #relay: Relay;
  readonly #target: RelayTarget;
  readonly #signal: AbortSignal;
  readonly #reader: EventReader;
  #timeouts: Timeouts | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** The status and the headers of a response that is an error or a redirect. */
  #refusal: Refusal | undefined;
  /** The text of an answer that is not a stream, or of an error response. */
  readonly #body = new TextCollector();
  #bytes = 0;
  /** Number of chunks that have arrived. */
  #count = 0;
  /** The chunks that wait for the end of the event loop's turn. */
  #later: Buffer[] = [];
  /** Needed because a chunk may end in the middle of a character. */
  readonly #decoder = new StringDecoder('utf8');
  /** The text that has arrived and was not read. */
  #unread = '';
  #finish: RelayChunk | undefined;
  #error: unknown;
  #over = false;
  #waiting: PromiseWithResolvers<IteratorResult<RelayChunk, undefined>> | undefined;

  constructor(relay: Relay, target: RelayTarget, signal: AbortSignal) {
    this.#relay = relay;
    this.#target = target;
    this.#signal = signal;
    this.#reader = new EventReader(relay);
  }

  next(): Promise<IteratorResult<RelayChunk, undefined>> {
    if (!this.#timeouts && !this.#over) this.#send();
    if (this.#unread !== '') {
      const text = this.#unread;
      this.#unread = '';
      if (this.#controller?.paused === true) this.#resume(this.#controller);
      return Promise.resolve({ value: this.#raw(text), done: false });
    }
    if (this.#finish) {
      const value = this.#finish;
      this.#finish = undefined;
      return Promise.resolve({ value, done: false });
    }
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      return Promise.reject(error);
    }
    if (this.#over) return Promise.resolve(DONE);
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** Stops reading. If the answer is incomplete, closes the connection. */
  return(): Promise<IteratorReturnResult<undefined>> {
    this.#unread = '';
    this.#finish = this.#error = undefined;
    this.#end();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('the answer is no longer needed'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText = '',
  ): void {
    if (status < 200) return;
    if (status >= 300) this.#refusal = { status, headers, statusText };
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') this.#fail(this.#failure('sent a compressed answer'));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return;
    if (this.#bytes === 0) this.#timeouts?.clearFirst();
    this.#timeouts?.expect();
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BYTES) return this.#fail(this.#failure(TOO_LARGE));
    if (!this.#relay.stream || ++this.#count <= AT_ONCE) return this.#data(chunk);
    this.#later.push(chunk);
    if (this.#later.length === 1) flushAtEndOfTurn(this);
  }

  /** Processes the chunks that arrived in this turn of the event loop. */
  flush(): void {
    const [first, ...more] = this.#later;
    if (!first) return;
    this.#later = [];
    if (!this.#over) this.#data(more.length === 0 ? first : Buffer.concat([first, ...more]));
  }

  #data(chunk: Buffer): void {
    const text = this.#decoder.write(chunk);
    if (this.#refusal) {
      this.#body.add(text);
      if (this.#body.length > MAX_ERROR_CHARS) this.#fail(this.#refused(this.#refusal));
      return;
    }
    if (!this.#relay.stream) {
      this.#body.add(text);
      if (this.#body.length > MAX_EVENT_CHARS) this.#fail(this.#failure(TOO_LARGE));
      return;
    }
    const reader = this.#reader;
    const passed = reader.take(text);
    if (reader.length > MAX_EVENT_CHARS) return this.#fail(this.#failure(TOO_LARGE));
    if (passed !== '') this.#pass(passed);
    if (reader.failed) this.#fail(this.#failure('failed during its answer', true));
  }

  onResponseEnd(): void {
    this.flush();
    this.#controller = undefined;
    if (this.#over) return;
    if (this.#refusal) return this.#fail(this.#refused(this.#refusal));
    if (!this.#relay.stream) return this.#complete();
    const { end, usage } = this.#reader;
    if (end === undefined) return this.#fail(cutOff(this.#target.name));
    this.#finish = { kind: 'finish', reason: end, ...(usage && { usage }) };
    this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.flush();
    this.#controller = undefined;
    this.#fail(error);
  }

  #send(): void {
    const { vendor, settings, model, name, maxOutputTokens } = this.#target;
    const { apiKey, baseURL } = settings;
    const relay = this.#relay;
    try {
      this.#signal.throwIfAborted();
      const source = { name, secret: apiKey };
      const timeouts = startTimeouts(source, this.#signal, this.#target);
      this.#timeouts = timeouts;
      timeouts.signal.addEventListener('abort', () => this.#fail(timeouts.signal.reason));
      timeouts.expect();
      const url = new URL(baseURL.replace(/\/$/, '') + relay.path(model));
      connections().dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: 'POST',
          headers: {
            'user-agent': 'parley-gateway',
            ...(apiKey !== undefined && vendor.keyHeaders(apiKey)),
            ...relay.headers,
            'content-type': 'application/json',
            accept: relay.stream ? 'text/event-stream' : 'application/json',
            'accept-encoding': 'identity',
          },
          body: JSON.stringify(relay.body(model, maxOutputTokens)),
          // The timeouts in the provider's configuration apply instead.
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        this,
      );
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Gives the text to the reader, or keeps it until the reader asks for it. */
  #pass(text: string): void {
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      return waiting.resolve({ value: this.#raw(text), done: false });
    }
    this.#unread += text;
    const controller = this.#controller;
    if (this.#unread.length <= MAX_UNREAD_CHARS || controller?.paused !== false) return;
    controller.pause();
    // While reading is paused, no data arrives from the vendor. So this time does not count as silence of the vendor.
    this.#timeouts?.hold();
  }

  #raw(text: string): RelayChunk {
    return { kind: 'raw', text, usage: this.#reader.usage };
  }

  #resume(controller: Dispatcher.DispatchController): void {
    this.#timeouts?.expect();
    controller.resume();
  }

  /** Reads an answer that is not a stream, when it is complete. */
  #complete(): void {
    const text = this.#body.take();
    const value = parseObject(text);
    if (!value) return this.#fail(this.#failure('sent an invalid response'));
    const { usage, end = 'stop', failed, changed } = this.#relay.read(value);
    if (failed === true) return this.#fail(this.#failure('failed', true));
    this.#unread = changed === true ? JSON.stringify(value) : text;
    this.#finish = { kind: 'finish', reason: end, ...(usage && { usage }) };
    this.#end();
  }

  /**
   * Returns the error for a redirect or an error response. The error for an error response has the fields that
   * `vendorError` reads.
   */
  #refused({ status, headers, statusText }: Refusal): unknown {
    if (status < 400) {
      const why = 'and redirects are not followed: check its base URL';
      return this.#failure(`redirects (${status}), ${why}`);
    }
    const data = parseObject(this.#body.take());
    const problem = isObject(data?.['error']) ? data['error'] : data;
    const message = problem?.['message'];
    return {
      statusCode: status,
      responseHeaders: headers,
      data,
      message: typeof message === 'string' ? message : statusText,
    };
  }

  #failure(what: string, retryable = false): ModelError {
    return new ModelError('failed', `${this.#target.name} ${what}`, { retryable });
  }

  /** Ends the answer with an error. Text that has arrived can still be read before the error. */
  #fail(cause: unknown): void {
    if (this.#over) return;
    try {
      this.#error = this.#timeouts ? this.#timeouts.reason(cause) : cause;
    } catch (reason) {
      this.#error = reason;
    }
    this.#end();
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#timeouts?.end();
    this.#controller?.abort(new Error('the answer is no longer needed'));
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.next().then(waiting.resolve, waiting.reject);
  }
}

interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly statusText: string;
}
