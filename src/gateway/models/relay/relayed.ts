/**
 * Sends a relayed request and returns the answer. For speed, this file uses undici's dispatcher and no generators.
 * `fetch`, web streams and a generator for each step would take more time per event than all other work.
 *
 *   for await (const chunk of relayed(relay, target, signal)) …       // raw chunks, then `finish`
 *
 * Timeouts and vendors' errors are handled as for a converted request.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import { flushAtEndOfTurn, isObject, TextCollector } from '../../../base/index.ts';
import { type FinishReason, ModelError, type Usage } from '../../../agent/index.ts';
import { cutOff, startTimeouts, type Timeouts } from '../../../agent/internal/index.ts';
import { EventReader, parseObject } from './event-reader.ts';
import type { Relay, RelayChunk, RelayTarget } from './relay.ts';

const MAX_BYTES = 256 * 1024 * 1024;
/** Maximum length of one event of a stream, or of an answer that is not a stream, in characters. */
const MAX_EVENT_CHARS = 32_000_000;
const MAX_ERROR_CHARS = 64 * 1024;
/** Maximum length of the unread text. Above it, reading from the vendor pauses. */
const MAX_UNREAD_CHARS = 256 * 1024;
const TOO_LARGE = 'sent an answer that is too large: the call was stopped';
const CONNECT_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

/**
 * The number of chunks of a stream that are processed as soon as they arrive. Later chunks are collected until the end
 * of the event loop's turn and are processed together.
 */
const AT_ONCE = 16;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

let shared: Dispatcher | undefined;

/**
 * Returns the connections to vendors. As with `fetch`, NODE_USE_ENV_PROXY=1 makes them use the proxy in the environment
 * variables.
 */
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
): AsyncIterableIterator<RelayChunk, undefined> {
  const reader = new EventReader(relay);
  /** The text of an answer that is not a stream, or of an error response. */
  const body = new TextCollector();
  /** Needed because a chunk may end in the middle of a character. */
  const decoder = new StringDecoder('utf8');
  let timeouts: Timeouts | undefined;
  let controller: Dispatcher.DispatchController | undefined;
  /** The status and the headers of a response that is an error or a redirect. */
  let refusal: Refusal | undefined;
  let bytes = 0;
  /** Number of chunks that have arrived. */
  let arrived = 0;
  /** The chunks that wait for the end of the event loop's turn. */
  let later: Buffer[] = [];
  /** Text that has arrived, but that the reader has not taken yet. */
  let unread = '';
  let finish: RelayChunk | undefined;
  let problem: unknown;
  let isOver = false;
  let waiting: PromiseWithResolvers<IteratorResult<RelayChunk, undefined>> | undefined;

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (isOver) started.abort(new Error('the answer is no longer needed'));
    },

    onResponseStart(_controller, status, headers, statusText = '') {
      if (status < 200) return;
      if (status >= 300) refusal = { status, headers, statusText };
      const encoding = headers['content-encoding'] ?? 'identity';
      if (encoding !== 'identity') fail(failure('sent a compressed answer'));
    },

    onResponseData(_controller, chunk) {
      if (isOver) return;
      if (bytes === 0) timeouts?.clearFirst();
      // One more chunk may arrive while reading is paused. This chunk must not start the idle timeout again.
      if (controller?.paused !== true) timeouts?.expect();
      bytes += chunk.length;
      if (bytes > MAX_BYTES) return fail(failure(TOO_LARGE));
      if (!relay.stream || ++arrived <= AT_ONCE) return readData(chunk);
      later.push(chunk);
      if (later.length === 1) flushAtEndOfTurn({ flush });
    },

    onResponseEnd() {
      flush();
      controller = undefined;
      if (isOver) return;
      if (refusal) return fail(refused(refusal));
      if (!relay.stream) return complete();
      if (reader.end === undefined) return fail(cutOff(target.name));
      finished(reader.end, reader.usage);
    },

    onResponseError(_controller, error) {
      flush();
      controller = undefined;
      fail(error);
    },
  };

  /** Processes the chunks that arrived in this turn of the event loop. */
  function flush(): void {
    const [first, ...more] = later;
    if (!first) return;
    later = [];
    if (!isOver) readData(more.length === 0 ? first : Buffer.concat([first, ...more]));
  }

  function readData(chunk: Buffer): void {
    const text = decoder.write(chunk);
    if (refusal) {
      body.add(text);
      if (body.length > MAX_ERROR_CHARS) fail(refused(refusal));
      return;
    }
    if (!relay.stream) {
      body.add(text);
      if (body.length > MAX_EVENT_CHARS) fail(failure(TOO_LARGE));
      return;
    }
    const passed = reader.take(text);
    if (reader.length > MAX_EVENT_CHARS) return fail(failure(TOO_LARGE));
    if (passed !== '') pass(passed);
    if (reader.failed) fail(failure('failed during its answer', true));
  }

  function send(): void {
    const { vendor, settings, model, name, maxOutputTokens } = target;
    const { apiKey, baseURL } = settings;
    try {
      signal.throwIfAborted();
      const source = { name, secret: apiKey };
      const started = startTimeouts(source, signal, target);
      timeouts = started;
      started.signal.addEventListener('abort', () => fail(started.signal.reason));
      started.expect();
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
        handler,
      );
    } catch (error) {
      fail(error);
    }
  }

  /** Gives the text to the reader, or keeps it until the reader asks for it. */
  function pass(text: string): void {
    const read = waiting;
    if (read) {
      waiting = undefined;
      return read.resolve({ value: raw(text), done: false });
    }
    unread += text;
    if (unread.length <= MAX_UNREAD_CHARS || controller?.paused !== false) return;
    controller.pause();
    // The pause must not trigger the idle timeout.
    timeouts?.hold();
  }

  function raw(text: string): RelayChunk {
    return { kind: 'raw', text, usage: reader.usage };
  }

  /** Reads a complete answer that is not a stream. */
  function complete(): void {
    const text = body.take();
    const value = parseObject(text);
    if (!value) return fail(failure('sent an invalid response'));
    const { usage, end: reason = 'stop', failed, changed } = relay.read(value);
    if (failed === true) return fail(failure('failed', true));
    unread = changed === true ? JSON.stringify(value) : text;
    finished(reason, usage);
  }

  /**
   * Returns the error for a redirect or an error response. The error for an error response has the fields that
   * `vendorError` (agent/models/vendor-error.ts) reads.
   */
  function refused({ status, headers, statusText }: Refusal): unknown {
    if (status < 400) {
      const why = 'and redirects are not followed: check its base URL';
      return failure(`redirects (${status}), ${why}`);
    }
    const data = parseObject(body.take());
    const detail = isObject(data?.['error']) ? data['error'] : data;
    const message = detail?.['message'];
    return {
      statusCode: status,
      responseHeaders: headers,
      data,
      message: typeof message === 'string' ? message : statusText,
    };
  }

  function failure(what: string, retryable = false): ModelError {
    return new ModelError('failed', `${target.name} ${what}`, { retryable });
  }

  /** Ends the answer with an error. Text that has arrived can still be read before the error. */
  function fail(cause: unknown): void {
    if (isOver) return;
    try {
      problem = timeouts ? timeouts.reason(cause) : cause;
    } catch (reason) {
      problem = reason;
    }
    end();
  }

  function finished(reason: FinishReason, usage: Usage | undefined): void {
    finish = { kind: 'finish', reason, ...(usage && { usage }) };
    end();
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    timeouts?.end();
    controller?.abort(new Error('the answer is no longer needed'));
    const read = waiting;
    waiting = undefined;
    if (read) next().then(read.resolve, read.reject);
  }

  function next(): Promise<IteratorResult<RelayChunk, undefined>> {
    if (!timeouts && !isOver) send();
    if (unread !== '') {
      const text = unread;
      unread = '';
      if (controller?.paused === true) {
        timeouts?.expect();
        controller.resume();
      }
      return Promise.resolve({ value: raw(text), done: false });
    }
    if (finish) {
      const value = finish;
      finish = undefined;
      return Promise.resolve({ value, done: false });
    }
    if (problem !== undefined) {
      const error = problem;
      problem = undefined;
      return Promise.reject(error);
    }
    if (isOver) return Promise.resolve(DONE);
    waiting = Promise.withResolvers();
    return waiting.promise;
  }

  return {
    next,
    /** Stops reading. If the answer is incomplete, closes the connection. */
    return(): Promise<IteratorReturnResult<undefined>> {
      unread = '';
      finish = problem = undefined;
      end();
      return Promise.resolve(DONE);
    },

    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly statusText: string;
}
