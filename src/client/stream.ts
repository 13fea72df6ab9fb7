/** The result of `stream` and `resubscribe`: the events of a task, and the task that results from them. */
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
import { isFailedUpdate } from './follow/last-event.ts';
import { createTextTracker, questionAfterText, SEPARATOR, successfulText } from './text.ts';

export type StreamStart = Omit<FollowOptions, 'signal'>;

/**
 * A stream of the events of a task. Nothing is sent before the first read. `for await`, `text()` and `textChunks()` all
 * read the same stream. Leaving a `for await` loop closes the connection immediately, but the agent continues its work.
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

  /**
   * The task that results from the events so far. Undefined before the first event, and if the agent answers with a
   * Message.
   */
  get task(): Task | undefined {
    return this.#task;
  }

  /** The agent's Message, if it answers with a Message instead of a task. */
  get message(): Message | undefined {
    return this.#message;
  }

  /** The sequence number of the last event, if the agent numbers its events. */
  get lastSeq(): number | undefined {
    return this.#lastSeq;
  }

  [Symbol.asyncIterator](): AsyncIterator<StreamItem> {
    return (this.#iterator ??= this.#open());
  }

  /** Reads to the end and returns the text of the result. Throws a TaskFailedError if the task ends without success. */
  async text(): Promise<string> {
    for await (const _ of this);
    return successfulText(this.#message ?? this.#task);
  }

  /**
   * Yields the text of the result as it arrives. If the task then waits for the user, its question is the last text,
   * unless the earlier text already ends with the question. Throws a TaskFailedError at the end if the task ends
   * without success.
   */
  async *textChunks(): AsyncGenerator<string> {
    const added = createTextTracker();
    let any = false;
    for await (const { event } of this) {
      const text = added(event);
      if (text === '') continue;
      any = true;
      yield text;
    }
    // Without artifacts, the result is the text of the last status, which is known only at the end.
    const text = successfulText(this.#message ?? this.#task);
    const question = this.#task ? questionAfterText(this.#task) : '';
    if (!any && text !== '') yield text;
    else if (question !== '') yield SEPARATOR + question;
  }

  /** Closes the stream. A pending read rejects. */
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
    // A task in the middle of a stream is a snapshot, which replaces the earlier task.
    else if (event.kind === 'task') this.#task = reduce(undefined, event);
    else this.#task = this.#changedBy(event);
  }

  /** Returns the task that results from an event. */
  #changedBy(event: Exclude<TaskEvent, Task>): Task | undefined {
    const task = this.#task;
    if (task?.id === event.taskId) return reduce(task, event);
    if (task && isFailedUpdate(event)) return reduce(task, { ...event, taskId: task.id });
    // The stream does not begin with the task, or a queued prompt of a live session runs in another task.
    return reduce(initialTask(event), event);
  }
}

/** Makes a task for an event if the agent has not sent the event's task. */
function initialTask(event: Exclude<TaskEvent, Task>): Task | undefined {
  return reduce(undefined, {
    kind: 'task',
    id: event.taskId,
    contextId: event.contextId,
    status: { state: 'submitted' },
  });
}
