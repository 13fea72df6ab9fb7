/**
 * A stream of one task's events on its way to one client.
 *
 * Transports pipe it into a sink of theirs, with backpressure; programs in this process iterate over it. Either way it
 * is read once.
 */
import type { StreamEvent, StreamItem, WireCodec } from '../protocol/index.ts';
import type { EventLog, LiveTask } from './event-log.ts';
import type { Published } from './published.ts';
import type { EndReason, LogReader, Sink } from './reader.ts';

/** What is shown before the log's own entries: a snapshot of the task, or the one Message of an answer without a task. */
export interface Opening {
  readonly event: StreamEvent;
  readonly seq?: number | undefined;
  text(codec: WireCodec): string;
}

export function opening(event: StreamEvent, seq?: number): Opening {
  return { event, seq, text: (codec) => JSON.stringify(codec.encodeEvent(event)) };
}

/** Like a reader's sink, but it may also get an opening, which has no place in the log or repeats one. */
export interface StreamSink {
  take(item: Published | Opening): boolean;
  end(reason: EndReason): void;
}

export interface StreamHandle {
  /** The last entry that was taken: what the client resumes after. */
  readonly cursor: number;
  resume(): void;
  close(reason?: EndReason): void;
}

const BUFFER = 64;

export class TaskStream implements AsyncIterable<StreamItem> {
  readonly #opening: Opening | undefined;
  readonly #reader: LogReader | undefined;
  #sink: StreamSink | undefined;
  #ended: EndReason | undefined;

  /** A stream that has only an opening: a Message, or a task to which nothing more happens. */
  static of(event: StreamEvent, seq?: number): TaskStream {
    return new TaskStream(opening(event, seq));
  }

  /** A stream that is over. */
  static empty(): TaskStream {
    return new TaskStream(undefined);
  }

  /** A stream of the entries behind `after`. Its reader holds the task live from now on. */
  static read(log: EventLog, live: LiveTask, after: number, first?: Opening): TaskStream {
    return new TaskStream(first, (sink) => log.read(live, after, sink));
  }

  private constructor(first: Opening | undefined, open?: (sink: Sink) => LogReader) {
    this.#opening = first;
    this.#reader = open?.({
      take: (entry) => this.#sink!.take(entry),
      end: (reason) => {
        this.#ended ??= reason;
        this.#sink?.end(reason);
      },
    });
    if (!this.#reader) this.#ended = 'final';
  }

  /** Starts the flow into `sink`. */
  pipe(sink: StreamSink): StreamHandle {
    if (this.#sink) throw new Error('a stream is read once');
    this.#sink = sink;
    const reader = this.#reader;
    const room = this.#opening ? sink.take(this.#opening) : true;
    if (this.#ended !== undefined) sink.end(this.#ended);
    else if (room) reader?.resume();
    return {
      get cursor() {
        return reader?.cursor ?? 0;
      },
      resume: () => reader?.resume(),
      close: (reason) => reader?.close(reason),
    };
  }

  /** Gives the stream up without reading it. */
  close(): void {
    this.#reader?.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamItem> {
    const queue: StreamItem[] = [];
    let ended = false;
    let wake: (() => void) | undefined;
    const handle = this.pipe({
      take({ event, seq }) {
        queue.push({ event, seq });
        wake?.();
        return queue.length < BUFFER;
      },
      end() {
        ended = true;
        wake?.();
      },
    });
    try {
      for (;;) {
        const item = queue.shift();
        if (item) {
          yield item;
          if (queue.length === 0) handle.resume();
        } else if (ended) {
          return;
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      handle.close();
    }
  }
}
