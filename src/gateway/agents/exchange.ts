/** Sends one request to an agent. Returns the response as a whole, or as a stream of events. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import {
  ConnectionError,
  createSseParser,
  errorOfStatus,
  mediaType,
  RemoteAgentError,
  seqOf,
  SseLimitError,
  type ByteBudget,
  type EventDecoding,
  type ResponseHead,
  type SseEvent,
  type SseParser,
  type WholeResponse,
} from '../../client/index.ts';
import type { StreamItem } from '../../protocol/index.ts';
import { ByteCollector, flushAtEndOfTurn, type MaybePromise } from '../../base/index.ts';
import { ChunkReader } from './chunks.ts';
import { EventQueue } from './event-queue.ts';

/** Reads the items of a stream as they arrive (`Exchange.each`). */
export interface ItemReader {
  /**
   * Returns whether the reader takes another item now. When the reader becomes ready again, it calls `Exchange.more`.
   * This is a method, because an object with a getter takes twenty times as long to create.
   */
  isReady(): boolean;
  /** Takes an item. Returns false if the reader wants no more items. */
  take(item: StreamItem): MaybePromise<boolean>;
}

/**
 * Maximum number of unread events, and maximum total length of their text. Above either limit, reading from the agent
 * pauses.
 */
const MAX_UNREAD = 256;
const MAX_UNREAD_LENGTH = 1024 * 1024;

/** Maximum time to wait for the end of a response whose reader has stopped. */
const LINGER_MS = 250;

const ID = 'id: ';
const DATA = 'data: ';

/**
 * The number of chunks of a stream that are processed as soon as they arrive. Later chunks are collected until the end
 * of the event loop's turn.
 */
const AT_ONCE = 16;

export class Exchange implements Dispatcher.DispatchHandler, AsyncIterable<StreamItem> {
  readonly #dispatcher: Dispatcher;
  /** Limit of received bytes, which all requests for one message and its result share. */
  readonly #budget: ByteBudget;
  /** Maximum size of an event, and of a complete response. */
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  /**
   * Resolves at the end of the response, or earlier: at the first event of an expected stream, and at the start of an
   * unexpected stream. Rejects if the request fails before that.
   */
  readonly #opened = Promise.withResolvers<void>();
  #streams = false;
  #controller: Dispatcher.DispatchController | undefined;
  #head: ResponseHead | undefined;
  /** The parser of the stream, or undefined if the response is not a stream. */
  #parse: SseParser | undefined;
  /** The body of a response that is not a stream. */
  #body: ByteCollector | undefined;
  /** Number of chunks of the stream that have arrived. */
  #count = 0;
  /** The chunks that wait for the end of the event loop's turn, and their size. */
  #later: Buffer[] = [];
  #gathered = 0;
  #unread: SseEvent[] = [];
  /** The first event, which is parsed when the stream opens. */
  #first: StreamItem | undefined;
  readonly #chunks: ChunkReader;
  #at = 0;
  #length = 0;
  /** True if the last chunk may have ended in the middle of a character. */
  #cut = false;
  /** True if the last parsed text ended with a complete event. The parser then holds no partial event. */
  #between = false;
  #reader: ItemReader | undefined;
  /** Settles when the reader has got all items, wants no more, or has failed. */
  #read: PromiseWithResolvers<void> | undefined;
  /** True while the reader works on an item. */
  #busy = false;
  #over = false;
  #error: unknown;
  #lingers: NodeJS.Timeout | undefined;

  constructor(
    dispatcher: Dispatcher,
    budget: ByteBudget,
    maxBytes: number,
    signal: AbortSignal | undefined,
    decode: EventDecoding['decode'] = notExpected,
  ) {
    this.#dispatcher = dispatcher;
    this.#budget = budget;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
    this.#chunks = new ChunkReader(decode);
  }

  /** Returns the complete response. Throws if the response is a stream. */
  async whole(request: Dispatcher.DispatchOptions): Promise<WholeResponse> {
    this.#dispatch(request);
    await this.#opened.promise;
    if (!this.#parse) return this.#complete();
    const error = errorOfStatus(this.#head!);
    this.#leave(error);
    throw error;
  }

  /**
   * Waits for the first event, and returns the events. If the server does not respond with a stream, returns the
   * complete response. Throws if the first event is invalid or contains an error. With `expectsEvent`, also throws if
   * the stream ends without an event.
   */
  async stream(
    request: Dispatcher.DispatchOptions,
    expectsEvent: boolean,
  ): Promise<this | WholeResponse> {
    this.#streams = true;
    this.#dispatch(request);
    await this.#opened.promise;
    if (!this.#parse) return this.#complete();
    if (this.#hasItem) this.#first = this.#item();
    else if (expectsEvent)
      throw new ConnectionError('broken', 'it sent a stream without any event');
    return this;
  }

  /**
   * Passes each item to the reader when it arrives. This takes less time than `for await`. Resolves when there are no
   * more items, or when the reader wants no more. Rejects if the connection or the reader fails.
   */
  each(reader: ItemReader): Promise<void> {
    this.#reader = reader;
    const read = Promise.withResolvers<void>();
    this.#read = read;
    // This call may already settle the promise and clear `#read`, so the variable `read` is needed below.
    this.more();
    return read.promise;
  }

  /** Passes the items that have arrived to the reader, as long as the reader is ready. */
  more(): void {
    const reader = this.#reader;
    if (!reader) return;
    while (!this.#busy && this.#hasItem && reader.isReady()) if (!this.#pass(reader)) return;
    if (this.#over && !this.#busy && !this.#hasItem) this.#leaveReader(this.#error);
  }

  /**
   * Passes `item` to the reader, or the next unread item if `item` is undefined. Returns false if the reader is busy
   * with the item, has failed, or wants no more items.
   */
  #pass(reader: ItemReader, item?: StreamItem): boolean {
    try {
      const taken = reader.take(item ?? this.#item());
      if (typeof taken === 'boolean') {
        if (!taken) this.#leaveReader(undefined);
        return taken;
      }
      this.#busy = true;
      taken.then(
        (goesOn) => {
          this.#busy = false;
          if (goesOn) this.more();
          else this.#leaveReader(undefined);
        },
        (error: unknown) => this.#leaveReader(error),
      );
    } catch (error) {
      this.#leaveReader(error);
    }
    return false;
  }

  /** Ends `each`. */
  #leaveReader(error: unknown): void {
    const read = this.#read;
    this.#reader = this.#read = undefined;
    this.#busy = false;
    this.#linger();
    if (error === undefined) read?.resolve();
    else read?.reject(error);
  }

  #dispatch(request: Dispatcher.DispatchOptions): void {
    const signal = this.#signal;
    if (signal?.aborted === true) return this.#end(signal.reason);
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#dispatcher.dispatch(request, this);
  }

  readonly #onAbort = (): void => {
    const reason: unknown = this.#signal?.reason;
    const isClosed = reason instanceof ConnectionError && reason.reason === 'closed';
    if (isClosed && this.#parse) this.#linger();
    else this.#leave(reason);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(asError(this.#error));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText = '',
  ): void {
    if (status < 200) return;
    const get = (name: string): string | null => {
      const value = headers[name.toLowerCase()];
      return (Array.isArray(value) ? value.join(', ') : value) ?? null;
    };
    const ok = status < 300;
    this.#head = { ok, status, statusText, headers: { get } };
    if (status >= 300 && status < 400) {
      return this.#leave(
        new ConnectionError('redirect', 'it redirects, and redirects are not followed'),
      );
    }
    if (!ok || mediaType(this.#head) !== 'text/event-stream') return;
    this.#parse = createSseParser(this.#maxBytes);
    if (!this.#streams) this.#opened.resolve();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#parse || ++this.#count <= AT_ONCE) return this.#data(controller, chunk);
    this.#gathered += chunk.length;
    this.#later.push(chunk);
    if (this.#gathered > MAX_UNREAD_LENGTH) this.flush();
    else if (this.#later.length === 1) flushAtEndOfTurn(this);
  }

  /** Processes the collected chunks. */
  flush(): void {
    const controller = this.#controller;
    if (!controller || this.#later.length === 0) return;
    const chunks = this.#later;
    this.#later = [];
    this.#gathered = 0;
    for (const chunk of chunks) this.#data(controller, chunk);
  }

  #data(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      this.#budget.take(chunk.length);
    } catch (error) {
      return this.#leave(error);
    }
    if (this.#over) return;
    if (!this.#parse) {
      const maxBytes = this.#maxBytes;
      this.#body ??= new ByteCollector();
      if (this.#body.size + chunk.length <= maxBytes) this.#body.add(chunk);
      else this.#leave(tooMuch(`it sent a response of more than ${maxBytes} bytes`));
      return;
    }
    let text = this.#text(chunk);
    const reader = this.#reader;
    if (reader?.isReady() === true && !this.#busy && !this.#hasItem && typeof text === 'string') {
      const end = this.#passChunks(reader, text);
      if (end === text.length || this.#over) return;
      text = text.slice(end);
    }
    this.#between = typeof text === 'string' && text.endsWith('\n\n');
    try {
      for (const event of this.#parse(text)) {
        this.#unread.push(event);
        this.#length += event.data.length;
      }
    } catch (error) {
      return this.#leave(error instanceof SseLimitError ? tooMuch(error.message) : error);
    }
    if (this.#unread.length > 0) this.#opened.resolve();
    this.more();
    const unread = this.#unread.length - this.#at;
    if (unread > MAX_UNREAD || this.#length > MAX_UNREAD_LENGTH) controller.pause();
  }

  onResponseEnd(): void {
    this.flush();
    clearTimeout(this.#lingers);
    this.#end(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.flush();
    clearTimeout(this.#lingers);
    this.#end(
      this.#over ? undefined : explained(error, this.#controller !== undefined, this.#head),
    );
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamItem, undefined> {
    return new EventQueue<StreamItem>((out) => {
      const onLeft = () => this.#linger();
      const onWanted = () => this.more();
      out.onLeft = onLeft;
      out.onWanted = onWanted;
      return this.each({
        isReady: () => out.wanted,
        take(item) {
          out.push(item);
          return true;
        },
      });
    });
  }

  /**
   * Decodes the chunk to text. Returns a chunk unchanged if it may start or end in the middle of a character. Such a
   * chunk needs the parser's own decoder, which is slower.
   */
  #text(chunk: Buffer): Buffer | string {
    const whole = (chunk[chunk.length - 1] ?? 0) < 0x80;
    const asText = whole && !this.#cut;
    this.#cut = !whole;
    return asText ? chunk.toString() : chunk;
  }

  /**
   * Passes the events at the start of `text` to the reader without the parser, as long as ChunkReader recognizes them.
   * `isReady` is checked only before the first event. The reader gets further events until it becomes busy or wants no
   * more. Returns the position after the last event that was passed.
   */
  #passChunks(reader: ItemReader, text: string): number {
    if (!this.#between) return 0;
    let at = 0;
    while (at < text.length && text.startsWith(ID, at)) {
      const data = text.indexOf('\n', at) + 1;
      const end = text.indexOf('\n', data);
      // Only an event with exactly the lines `id: N` and `data: …` is read here.
      if (data === 0 || !text.startsWith(DATA, data) || text[end + 1] !== '\n') break;
      const seq = seqOf(text.slice(at + ID.length, data - 1));
      if (seq === undefined) break;
      const event = this.#chunks.next(text.slice(data + DATA.length, end), 'message');
      if (!event) break;
      at = end + 2;
      if (!this.#pass(reader, { event, seq })) break;
    }
    return at;
  }

  get #hasItem(): boolean {
    return this.#first !== undefined || this.#at < this.#unread.length;
  }

  /** Returns the next item. If it is invalid, aborts the request and throws. */
  #item(): StreamItem {
    const first = this.#first;
    this.#first = undefined;
    if (first) return first;
    try {
      return this.#take();
    } catch (error) {
      this.#unread = [];
      this.#at = 0;
      this.#leave(error);
      throw error;
    }
  }

  #take(): StreamItem {
    const { type, data, id } = this.#unread[this.#at++]!;
    this.#length -= data.length;
    if (this.#at === this.#unread.length) {
      this.#unread.length = this.#at = 0;
      if (this.#controller?.paused === true) this.#controller.resume();
    }
    return { event: this.#chunks.read(data, type), seq: seqOf(id) };
  }

  #complete(): WholeResponse {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#body?.bytes());
    return { head: this.#head!, text };
  }

  /**
   * Stops reading. Usually the last event has arrived, and the response is about to end. So a stream gets up to
   * LINGER_MS to end, because then its connection can be reused. If the response is not a stream, the request is
   * aborted at once.
   */
  #linger(): void {
    if (this.#over) return;
    const controller = this.#controller;
    if (!controller || !this.#parse) return this.#leave(undefined);
    this.#first = undefined;
    this.#unread = [];
    this.#at = 0;
    this.#end(undefined);
    if (controller.paused) controller.resume();
    this.#lingers = setTimeout(() => controller.abort(asError(undefined)), LINGER_MS);
  }

  /** Aborts the request. A pending read rejects with `error`, or ends if `error` is undefined. */
  #leave(error: unknown): void {
    if (this.#over) return;
    this.#end(error);
    this.#controller?.abort(asError(error));
  }

  #end(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#error = error;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    if (error === undefined) this.#opened.resolve();
    else this.#opened.reject(error);
    this.more();
  }
}

function notExpected(): never {
  throw new ConnectionError('broken', 'it sent an event instead of a response');
}

function tooMuch(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-limit', message);
}

function asError(reason: unknown): Error {
  return reason instanceof Error
    ? reason
    : new ConnectionError('closed', 'the reader closed the stream');
}

/** Converts an error of undici to a ConnectionError. `started` is true if the request may have reached the agent. */
function explained(cause: Error, started: boolean, head: ResponseHead | undefined): Error {
  const code = 'code' in cause ? cause.code : undefined;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new ConnectionError('timeout', 'it was silent for too long', { cause });
  }
  if (!started) return new ConnectionError('unreachable', 'it cannot be reached', { cause });
  const when = head ? 'in the middle of its response' : 'before its response';
  return new ConnectionError('broken', `the connection broke ${when}`, { cause });
}
