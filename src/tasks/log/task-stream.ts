/**
 * A stream of one task's events for one client.
 *
 * HTTP adapters pipe it into a sink with backpressure. Programs in this process iterate over it. It can be read only
 * once.
 */
import { lineSafe } from '../../base/index.ts';
import type { A2AError, StreamEvent, StreamItem, WireCodec } from '../../protocol/index.ts';
import type { EventLog } from './event-log.ts';
import type { LiveTask } from './live-task.ts';
import { Published } from './published.ts';
import type { EndReason, LogReader, Sink } from './reader.ts';
import type { LogView } from './view.ts';

/**
 * The first item of a stream, before the log entries: a snapshot of the task, or a Message that is the whole answer.
 */
export interface Opening {
  readonly event: StreamEvent;
  readonly seq?: number | undefined;
  text(codec: WireCodec): string;
}

export function opening(event: StreamEvent, seq?: number): Opening {
  return { event, seq, text: (codec) => lineSafe(JSON.stringify(codec.encodeEvent(event))) };
}

/** A sink like `Sink` that may also get an opening. */
export interface StreamSink {
  take(item: Published | Opening, last: boolean): boolean;
  /** Called before `end` if the stream of a queued message cannot start (`TaskStream.later`). */
  fail?(error: A2AError): void;
  end(reason: EndReason): void;
}

/** Options of `TaskStream.later`. */
export interface LaterOptions {
  /** The first item, which is sent immediately. */
  readonly first?: Opening | undefined;
  /** Called once, when the stream has ended. */
  readonly onEnd?: (() => void) | undefined;
}

/** How a stream reads the log. */
export interface StreamRules extends Pick<Sink, 'spans' | 'oneTurn'> {
  /** The view that the client sees. Default: the log as it is. */
  readonly view?: LogView | undefined;
}

const NO_RULES: StreamRules = {};

/** The state of a stream that continues with another stream (`TaskStream.later`). */
interface Later {
  readonly onEnd: (() => void) | undefined;
  next: TaskStream | undefined;
  failure: A2AError | undefined;
}

/** Number of items that an iterator buffers. When the buffer is full, the stream pauses until the buffer is empty. */
const BUFFER = 64;

/** A stream of the events of one task. It can be read only once, by iteration or by `pipe`. */
export class TaskStream implements AsyncIterable<StreamItem>, Sink {
  readonly #rules: StreamRules;
  #opening: Opening | undefined;
  /** Undefined for most streams, so that they need less memory. */
  readonly #later: Later | undefined;
  #reader: LogReader | undefined;
  #sink: StreamSink | undefined;
  #ended: EndReason | undefined;

  /** Makes a stream that has only an opening: a Message, or a settled task. */
  static of(event: StreamEvent, seq?: number): TaskStream {
    return TaskStream.#over(opening(event, seq));
  }

  /** Makes a stream without events. */
  static empty(): TaskStream {
    return TaskStream.#over(undefined);
  }

  /**
   * Makes a stream of the entries after `after`. From now on, its reader keeps the task in memory. The caller must
   * already have applied the view of `rules` to `first`.
   * @internal
   */
  static read(
    log: EventLog,
    live: LiveTask,
    after: number,
    first?: Opening,
    rules?: StreamRules,
  ): TaskStream {
    const stream = new TaskStream(first, rules);
    stream.#reader = log.read(live, after, stream);
    return stream;
  }

  /**
   * Makes a stream that continues with the stream `next`, which opens later, for example when a queued message is sent.
   * If `next` is rejected, the consumer of this stream gets the error.
   * @internal
   */
  static later(next: Promise<TaskStream>, { first, onEnd }: LaterOptions = {}): TaskStream {
    const later: Later = { onEnd, next: undefined, failure: undefined };
    const stream = new TaskStream(first, undefined, later);
    next.then(
      (opened) => stream.#continue(later, opened),
      (error: A2AError) => stream.#break(error),
    );
    return stream;
  }

  static #over(first: Opening | undefined): TaskStream {
    const stream = new TaskStream(first);
    stream.#ended = 'final';
    return stream;
  }

  private constructor(first: Opening | undefined, rules = NO_RULES, later?: Later) {
    this.#opening = first;
    this.#rules = rules.view || rules.spans || rules.oneTurn ? rules : NO_RULES;
    this.#later = later;
  }

  get spans(): Sink['spans'] {
    return this.#rules.spans;
  }

  get oneTurn(): Sink['oneTurn'] {
    return this.#rules.oneTurn;
  }

  /**
   * The sequence number after which the client can resume: the number of the last entry that was sent or that the view
   * skipped. 0 if the stream reads no log.
   */
  get cursor(): number {
    return this.#reader?.cursor ?? this.#later?.next?.cursor ?? 0;
  }

  /** Why the stream has ended, or undefined if it has not. */
  get ended(): EndReason | undefined {
    return this.#ended;
  }

  /** Starts to send the stream to `sink`. */
  pipe(sink: StreamSink): void {
    if (this.#sink) throw new Error('a task stream can be read only once');
    this.#sink = sink;
    const failure = this.#later?.failure;
    const over = this.#ended !== undefined && !failure;
    const room = this.#opening ? sink.take(this.#opening, over) : true;
    // The opening contains a copy of the task, which should not stay in memory.
    this.#opening = undefined;
    if (failure) sink.fail?.(failure);
    if (this.#ended !== undefined) sink.end(this.#ended);
    else if (room) this.resume();
  }

  /** Continues sending. Called when the sink has room again. */
  resume(): void {
    this.#reader?.resume();
    const next = this.#later?.next;
    if (!next) return;
    if (next.#sink) next.resume();
    else next.pipe(this);
  }

  /** Ends the stream. */
  close(reason: EndReason = 'closed'): void {
    if (this.#reader) this.#reader.close(reason);
    else if (this.#later?.next) this.#later.next.close(reason);
    else if (this.#ended === undefined) this.end(reason);
  }

  /** Called by the reader, or by the stream with which this stream continues. */
  take(entry: Published | Opening, last: boolean): boolean {
    const { view } = this.#rules;
    const shown = view && entry instanceof Published ? entry.in(view) : entry;
    // An entry that the view does not contain takes no room in the sink.
    return shown ? this.#sink!.take(shown, last) : true;
  }

  /** Called by the stream with which this stream continues. */
  fail(error: A2AError): void {
    if (this.#later) this.#later.failure = error;
    this.#sink?.fail?.(error);
  }

  /** Called by the reader, or by the stream with which this stream continues. */
  end(reason: EndReason): void {
    if (this.#ended === undefined) this.#later?.onEnd?.();
    this.#ended ??= reason;
    this.#sink?.end(reason);
  }

  #continue(later: Later, next: TaskStream): void {
    if (this.#ended !== undefined) return next.close();
    later.next = next;
    // Without a sink, this stream continues when it is piped.
    if (this.#sink) this.resume();
  }

  #break(error: A2AError): void {
    if (this.#ended !== undefined) return;
    this.fail(error);
    this.end('final');
  }

  /** This is not a generator, because `return` must take effect immediately, even while `next` waits for an event. */
  [Symbol.asyncIterator](): AsyncIterator<StreamItem, undefined> {
    const queue: StreamItem[] = [];
    let ended = false;
    let failure: A2AError | undefined;
    let waiting: PromiseWithResolvers<IteratorResult<StreamItem, undefined>> | undefined;
    const end = () => {
      ended = true;
      if (failure) waiting?.reject(failure);
      else waiting?.resolve({ done: true, value: undefined });
      waiting = undefined;
    };
    this.pipe({
      take({ event, seq }) {
        if (!waiting) return queue.push({ event, seq }) < BUFFER;
        waiting.resolve({ done: false, value: { event, seq } });
        waiting = undefined;
        return true;
      },
      fail: (error) => {
        failure = error;
      },
      end,
    });
    return {
      next: async () => {
        const item = queue.shift();
        if (item && queue.length === 0) this.resume();
        if (item) return { done: false, value: item };
        if (ended && failure) throw failure;
        if (ended) return { done: true, value: undefined };
        waiting = Promise.withResolvers();
        return waiting.promise;
      },
      return: async () => {
        queue.length = 0;
        this.close();
        end();
        return { done: true, value: undefined };
      },
    };
  }
}
