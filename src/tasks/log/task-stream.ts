/**
 * A stream of one task's events for one client.
 *
 * HTTP adapters pipe it into a sink with backpressure. Programs in this process iterate over it. It can be read only
 * once.
 */
import type { StreamEvent, StreamItem, WireCodec } from '../../protocol/index.ts';
import type { EventLog, LiveTask } from './event-log.ts';
import type { Published } from './published.ts';
import type { EndReason, LogReader, Sink } from './reader.ts';

/**
 * The first item of a stream, before the log entries: a snapshot of the task, or a Message that is the whole answer.
 */
export interface Opening {
  readonly event: StreamEvent;
  readonly seq?: number | undefined;
  text(codec: WireCodec): string;
}

export function opening(event: StreamEvent, seq?: number): Opening {
  return { event, seq, text: (codec) => JSON.stringify(codec.encodeEvent(event)) };
}

/** A sink like `Sink` that may also get an opening. */
export interface StreamSink {
  take(item: Published | Opening, last: boolean): boolean;
  end(reason: EndReason): void;
}

const BUFFER = 64;

/** A stream of the events of one task. It can be read only once, by iteration or by `pipe`. */
export class TaskStream implements AsyncIterable<StreamItem>, Sink {
  readonly spans: Sink['spans'];
  readonly #opening: Opening | undefined;
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
   * Makes a stream of the entries after `after`. From now on, its reader keeps the task in memory.
   * @internal
   */
  static read(
    log: EventLog,
    live: LiveTask,
    after: number,
    first?: Opening,
    spans?: Sink['spans'],
  ): TaskStream {
    const stream = new TaskStream(first, spans);
    stream.#reader = log.read(live, after, stream);
    return stream;
  }

  static #over(first: Opening | undefined): TaskStream {
    const stream = new TaskStream(first);
    stream.#ended = 'final';
    return stream;
  }

  private constructor(first: Opening | undefined, spans?: Sink['spans']) {
    this.#opening = first;
    this.spans = spans;
  }

  /** Sequence number of the last entry that the sink took. The client can resume after it. */
  get cursor(): number {
    return this.#reader?.cursor ?? 0;
  }

  /** Starts to send the stream to `sink`. */
  pipe(sink: StreamSink): void {
    if (this.#sink) throw new Error('a task stream can be read only once');
    this.#sink = sink;
    const room = this.#opening ? sink.take(this.#opening, this.#ended !== undefined) : true;
    if (this.#ended !== undefined) sink.end(this.#ended);
    else if (room) this.#reader?.resume();
  }

  /** Called when the sink has room again. */
  resume(): void {
    this.#reader?.resume();
  }

  /** Ends the stream. */
  close(reason?: EndReason): void {
    this.#reader?.close(reason);
  }

  /** Called by the reader. */
  take(entry: Published, last: boolean): boolean {
    return this.#sink!.take(entry, last);
  }

  /** Called by the reader. */
  end(reason: EndReason): void {
    this.#ended ??= reason;
    this.#sink?.end(reason);
  }

  /** This is not a generator, because `return` must take effect immediately, even while `next` waits for an event. */
  [Symbol.asyncIterator](): AsyncIterator<StreamItem, undefined> {
    const queue: StreamItem[] = [];
    let ended = false;
    let waiting: ((result: IteratorResult<StreamItem, undefined>) => void) | undefined;
    const end = () => {
      ended = true;
      waiting?.({ done: true, value: undefined });
      waiting = undefined;
    };
    this.pipe({
      take({ event, seq }) {
        if (!waiting) return queue.push({ event, seq }) < BUFFER;
        waiting({ done: false, value: { event, seq } });
        waiting = undefined;
        return true;
      },
      end,
    });
    return {
      next: async () => {
        const item = queue.shift();
        if (item && queue.length === 0) this.resume();
        if (item) return { done: false, value: item };
        if (ended) return { done: true, value: undefined };
        return new Promise((resolve) => (waiting = resolve));
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
