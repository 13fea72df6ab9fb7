/** What `stream` and `resubscribe` return: the events of a task, and what they add up to. */
import {
  reduce,
  type Message,
  type StreamItem,
  type Task,
  type TaskEvent,
} from '../protocol/index.ts';
import { ConnectionError } from './connection/errors.ts';
import { Lifetime } from './connection/request.ts';
import { followTask, type FollowOptions } from './follow/follower.ts';
import { answerText, createTextTracker } from './text.ts';

export type StreamStart = Omit<FollowOptions, 'signal'>;

/**
 * Nothing is sent before somebody reads, and there is one reader: `for await`, `text()` and `textChunks()` all take
 * from the same stream. To leave the loop closes the connection at once; the agent works on.
 */
export class AgentStream implements AsyncIterable<StreamItem> {
  readonly #start: StreamStart;
  readonly #signals: readonly (AbortSignal | undefined)[];
  #iterator: AsyncIterator<StreamItem> | undefined;
  #task: Task | undefined;
  #message: Message | undefined;
  #lastSeq: number | undefined;

  /** @internal */
  constructor(start: StreamStart, signals: readonly (AbortSignal | undefined)[]) {
    this.#start = start;
    this.#signals = signals;
  }

  /** The task as the events so far make it. Undefined before the first, and when the agent answers with a Message. */
  get task(): Task | undefined {
    return this.#task;
  }

  /** The Message that the agent answered with instead of a task. */
  get message(): Message | undefined {
    return this.#message;
  }

  /** The place in the task's log of the last event, where the agent says it. */
  get lastSeq(): number | undefined {
    return this.#lastSeq;
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamItem> {
    return (this.#iterator ??= this.#open());
  }

  /** Reads to the end and returns the whole answer's text. */
  async text(): Promise<string> {
    for await (const _ of this);
    return answerText(this.#message ?? this.#task);
  }

  /** The answer's text as it comes. */
  async *textChunks(): AsyncGenerator<string> {
    const added = createTextTracker();
    let any = false;
    for await (const { event } of this) {
      const text = added(event);
      if (text === '') continue;
      any = true;
      yield text;
    }
    // Without artifacts the answer is what the last status says; before the end nobody knows which is the last.
    const rest = any ? '' : answerText(this.#message ?? this.#task);
    if (rest !== '') yield rest;
  }

  /** Leaves the stream, also while somebody waits for its next event (who is then told so). */
  async close(): Promise<void> {
    await this.#iterator?.return?.();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #open(): AsyncIterator<StreamItem> {
    const lifetime = new Lifetime(this.#signals);
    const items = followTask({ ...this.#start, signal: lifetime.signal });
    return {
      next: async () => {
        try {
          const step = await items.next();
          if (step.done === true) lifetime.release();
          else this.#note(step.value);
          return step;
        } catch (error) {
          lifetime.release();
          throw error;
        }
      },
      async return() {
        lifetime.end(new ConnectionError('closed', 'the stream was closed'));
        lifetime.release();
        await items.return(undefined);
        return { value: undefined, done: true };
      },
    };
  }

  #note({ event, seq }: StreamItem): void {
    this.#lastSeq = seq ?? this.#lastSeq;
    if (event.kind === 'message') this.#message = event;
    // A whole task in the middle of a stream is a snapshot, and the new beginning.
    else if (event.kind === 'task') this.#task = reduce(undefined, event);
    else this.#task = reduce(this.#task ?? beginning(event), event);
  }
}

/** Some servers never send the task itself: the first that is heard of it has to do. */
function beginning(event: Exclude<TaskEvent, Task>): Task | undefined {
  return reduce(undefined, {
    kind: 'task',
    id: event.taskId,
    contextId: event.contextId,
    status: { state: 'submitted' },
  });
}
