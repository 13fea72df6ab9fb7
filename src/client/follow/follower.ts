/**
 * Follows a remote task across connections.
 *
 * When a connection breaks, or the agent closes it before the task is settled, the follower subscribes to the task
 * again. Parley's servers number their events (SSE `id`). With such a server, a new subscription continues after the
 * last number, and events that arrive twice are dropped. So no event is missing or repeated. Other servers start a
 * subscription with the current Task. This snapshot is passed on as an event.
 *
 * If a task cannot be followed to its end, the follower throws. So such a task is never mistaken for a completed task.
 */
import { backoffMs, type MaybePromise, pause } from '../../base/index.ts';
import {
  A2AError,
  EXECUTION_PREFIX,
  isInterrupted,
  isSettled,
  isTerminal,
  QUEUED_KEY,
  type AgentService,
  type Call,
  type MessageSendParams,
  type StreamEvent,
  type StreamItem,
  type TaskState,
} from '../../protocol/index.ts';
import { ConnectionError, StreamInterruptedError } from '../connection/errors.ts';
import { Lifetime } from '../connection/request.ts';
import { isFailedUpdate, isLastEvent, type Items, settles, untilLastEvent } from './last-event.ts';
import {
  DEFAULT_ATTEMPTS,
  isConnectionFailure,
  isDenied,
  isOverload,
  isTransient,
  retryDelay,
  retrying,
  type RetryOptions,
} from './retry.ts';

/** The operations that are needed to follow a task. */
export type FollowedService = Pick<
  AgentService,
  'sendMessage' | 'streamMessage' | 'getTask' | 'subscribe'
>;

export interface FollowOptions {
  readonly service: FollowedService;
  /** Headers and extensions for every request. */
  readonly call: Call;
  readonly signal: AbortSignal;
  /** Whether the agent supports streaming. */
  readonly streams: boolean;
  readonly from: MessageStart | TaskStart;
  readonly retry?: RetryOptions | undefined;
  /**
   * Whether to fetch the task repeatedly when its events are unavailable. If false, the follower throws in this case.
   */
  readonly polls?: boolean | undefined;
}

/** Sends a message and follows the resulting task. */
export interface MessageStart {
  readonly params: MessageSendParams;
  /**
   * Returns whether the message may be sent again after this error. `failures` is the number of consecutive failures
   * before this error.
   */
  readonly resend: (error: ConnectionError, failures: number) => boolean;
  /**
   * Whether the follower fetches the existing task that the message is for, to continue from it. Used in two cases:
   *
   * - The connection fails before the first event, and `resend` returns false. The message may have arrived.
   * - The agent refuses the message. The task may have ended.
   *
   * If false (the default), the follower throws in both cases, so that the caller can send the message again.
   */
  readonly checksTask?: boolean;
}

/** Follows an existing task. `after` is the sequence number of the last event that was received. */
export interface TaskStart {
  readonly taskId: string;
  readonly after?: number | undefined;
}

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 5000;

/** Yields the items of a task, over as many connections as necessary. */
export async function* followTask(options: FollowOptions): AsyncGenerator<StreamItem> {
  const follower = new TaskFollower(options);
  for (;;) {
    const lifetime = new Lifetime([options.signal]);
    try {
      const items = await follower.next(lifetime.signal);
      if (!items) return;
      try {
        const sent = 'params' in options.from;
        for await (const item of untilLastEvent(items, lifetime, sent)) {
          if (follower.accepts(item)) yield item;
        }
      } catch (error) {
        follower.failed(error);
      }
    } finally {
      lifetime.release();
    }
  }
}

/**
 * Opens one connection at a time. The caller reads the items of the connection, passes each item to `accepts`, and
 * reports an error with `failed`. The gateway uses this class without `followTask`, because a further generator would
 * double the time per event.
 */
export class TaskFollower {
  readonly #options: FollowOptions;
  #step: 'send' | 'subscribe' | 'poll' | 'end';
  /** The id of the task in the follower's requests. */
  #taskId: string | undefined;
  /**
   * Whether `#taskId` is the execution id of a live session's message. The events have the session's task id instead.
   */
  readonly #isExecution: boolean;
  /** The task id of the events. Undefined if it is not known yet. */
  #source: string | undefined;
  /** Whether the task id of the next event may differ from `#source` (see `QUEUED_KEY` and `EXECUTION_PREFIX`). */
  #mayMove = false;
  #lastSeq: number | undefined;
  /** False if an event has shown that the server's event ids are not sequence numbers. */
  #numbered = true;
  #state: TaskState | undefined;
  /**
   * The events that may follow the last received one. `more`: further events. `settled`: none until the user acts.
   * `nothing`: none in the same stream.
   */
  #rest: 'more' | 'settled' | 'nothing' = 'more';
  #started = false;
  /** True if an answer to a question was sent, and it is not known yet whether the agent has received the answer. */
  #unconfirmed = false;
  /** Number of consecutive connections that delivered nothing new. */
  #failures = 0;
  // The following fields describe the current connection.
  #connection: 'none' | 'opening' | 'open' = 'none';
  /** True until the first item. */
  #empty = true;
  /** True if the next event is the first one of a subscription. This event may be a snapshot. */
  #first = false;
  /** True until the first new event of the connection. Until then, known events may arrive again. */
  #repeats = false;
  #error: Error | undefined;

  constructor(options: FollowOptions) {
    const { from } = options;
    this.#options = options;
    if ('params' in from) {
      this.#step = 'send';
      this.#taskId = from.checksTask === true ? from.params.message.taskId : undefined;
      this.#unconfirmed = this.#taskId !== undefined;
    } else {
      this.#taskId = from.taskId;
      this.#lastSeq = from.after;
      this.#step = this.#following();
    }
    this.#isExecution = this.#taskId?.startsWith(EXECUTION_PREFIX) === true;
    if (!this.#isExecution) this.#source = this.#taskId;
  }

  /**
   * Opens the next connection. Returns its items, or undefined at the end. Throws if the task cannot be followed any
   * further.
   */
  async next(signal = this.#options.signal): Promise<Items | undefined> {
    if (this.#step === 'end') return undefined;
    for (;;) {
      const after = this.#connection === 'none' ? 'connect' : await this.#afterConnection();
      if (after !== 'connect') {
        this.#step = 'end';
        return after && [after];
      }
      this.#connection = 'opening';
      this.#first = this.#repeats = this.#started || this.#step !== 'send';
      this.#empty = true;
      this.#error = undefined;
      try {
        const opening = this.#open({ ...this.#options.call, signal });
        const items = opening instanceof Promise ? await opening : opening;
        this.#connection = 'open';
        return items;
      } catch (error) {
        this.failed(error);
      }
    }
  }

  /**
   * Records an item. Returns false if the item is already known and must be dropped. Throws if the event belongs to
   * another task.
   */
  accepts({ event, seq }: StreamItem): boolean {
    this.#empty = false;
    const taskId = event.kind === 'task' ? event.id : event.taskId;
    if (taskId !== this.#source && taskId !== undefined) this.#enter(taskId, event);
    if (seq !== undefined && this.#numbered) {
      if (this.#lastSeq === undefined || seq > this.#lastSeq) {
        this.#lastSeq = seq;
        this.#repeats = false;
      } else if (this.#repeats && !(this.#first && event.kind === 'task')) {
        return false;
      } else {
        // The ids are not sequence numbers. For example, a server that numbers the events of each connection starts a
        // subscription with the Task and a small number. A server with sequence numbers continues after the last one.
        this.#numbered = false;
        this.#lastSeq = undefined;
      }
    }
    this.#started = true;
    // A snapshot alone does not count as progress. If it did, the follower would reconnect forever to a server that
    // always sends a snapshot and disconnects.
    if (!this.#first || event.kind !== 'task') this.#failures = 0;
    this.#first = false;
    if (event.kind === 'artifact-update') {
      this.#mayMove = this.#unconfirmed = false;
      return true;
    }
    this.#mayMove =
      event.kind === 'task' && (this.#isExecution || event.metadata?.[QUEUED_KEY] === true);
    this.#rest = isLastEvent(event) ? 'nothing' : settles(event) ? 'settled' : 'more';
    if (event.kind === 'message') return true;
    this.#state = event.status.state;
    if (event.kind !== 'task' || !isInterrupted(this.#state)) this.#unconfirmed = false;
    return true;
  }

  /** Records the task id of an event. Throws if the events so far belong to another task. */
  #enter(taskId: string, event: StreamEvent): void {
    if (this.#source !== undefined && !this.#mayMove) {
      if (isFailedUpdate(event)) return;
      // A new connection would not help.
      this.#step = 'end';
      throw new A2AError('invalidAgentResponse', 'The agent sent an event of another task');
    }
    this.#source = taskId;
    if (!this.#isExecution) this.#taskId = taskId;
  }

  /** Records that the current connection failed. Throws if a new connection would not help. */
  failed(error: unknown): void {
    this.#options.signal.throwIfAborted();
    const refused = error instanceof A2AError && (this.#step !== 'send' || this.#mayHaveEnded());
    const isFinal = this.#step === 'poll' || this.#step === 'end';
    if (isFinal || !(isConnectionFailure(error) || refused)) throw error;
    this.#error = error;
  }

  /** Returns the step with which an existing task is followed. */
  #following(): 'subscribe' | 'poll' {
    return this.#options.polls === true && !this.#options.streams ? 'poll' : 'subscribe';
  }

  /** Returns whether a message may have been refused because its task has ended. */
  #mayHaveEnded(): boolean {
    const { from } = this.#options;
    const checks = 'params' in from && from.checksTask === true;
    return checks && this.#connection === 'opening' && this.#taskId !== undefined;
  }

  #open(call: Call & { readonly signal: AbortSignal }): MaybePromise<Items> {
    const { service, from, streams } = this.#options;
    const id = this.#taskId;
    if (this.#step === 'send' && 'params' in from) {
      if (streams) return service.streamMessage(from.params, call);
      return service.sendMessage(from.params, call).then((event) => [{ event }]);
    }
    if (id === undefined) throw new TypeError('only a task can be followed');
    if (this.#step === 'poll') return this.#poll(id, call);
    if (this.#unconfirmed) {
      // If the answer did not arrive, the task still waits for it, and a subscription would wait too. So fetch the
      // task.
      this.#unconfirmed = false;
      const found = retrying(() => service.getTask({ id, historyLength: 0 }, call), call.signal);
      return found.then((event) => [{ event }]);
    }
    return service.subscribe({ id, ...(this.#numbered && { after: this.#lastSeq }) }, call);
  }

  async *#poll(
    id: string,
    call: Call & { readonly signal: AbortSignal },
  ): AsyncGenerator<StreamItem> {
    let failures = 0;
    for (let asked = 1; ; asked++) {
      await pause(backoffMs(asked, FIRST_POLL_MS, MAX_POLL_MS), call.signal);
      try {
        const event = await this.#options.service.getTask({ id, historyLength: 0 }, call);
        failures = 0;
        yield { event };
        if (isSettled(event.status.state)) return;
      } catch (error) {
        if (!isTransient(error) || ++failures > DEFAULT_ATTEMPTS) throw error;
      }
    }
  }

  /**
   * Waits until the next connection may be opened, and returns `connect`. If no further connection is needed, returns
   * the last item to yield, or undefined if there is no such item.
   */
  async #afterConnection(): Promise<StreamItem | 'connect' | undefined> {
    const { signal, retry = {}, from, polls = false } = this.#options;
    const { attempts = DEFAULT_ATTEMPTS } = retry;
    const polled = this.#step === 'poll';
    signal.throwIfAborted();
    if (this.#step === 'send' && this.#empty && this.#connection === 'open') {
      this.#error ??= new ConnectionError('broken', 'the stream had no event');
    }
    const error = this.#error;
    const settled = this.#state === undefined || isSettled(this.#state);
    const over =
      error === undefined
        ? this.#rest !== 'more' && (settled || !polls)
        : // A follower of an existing task (`TaskStart`) reconnects, because the task may have another turn.
          this.#rest === 'nothing' &&
          (settled || !polls) &&
          'params' in from &&
          isConnectionFailure(error);
    if (over || polled) return undefined;
    const last = await this.#recover(error);
    if (last)
      return this.#rest !== 'more' && stateOf(last.event) === this.#state ? undefined : last;
    if (this.#step === 'poll') return 'connect';
    this.#failures++;
    if (this.#failures > attempts) {
      if (this.#state !== undefined && isTerminal(this.#state)) return undefined;
      const times = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
      const why = `it ended before the task did, and ${times} to resume it failed`;
      this.#giveUp(this.#interrupted(why, error));
      return 'connect';
    }
    const delay = retryDelay(this.#failures, retry, error);
    retry.onRetry?.(this.#failures, delay);
    await pause(delay, signal);
    return 'connect';
  }

  /**
   * Chooses the next step after a connection. Returns the task as the last item if the task is settled. Throws if the
   * task cannot be followed any further.
   */
  async #recover(error: Error | undefined): Promise<StreamItem | undefined> {
    const id = this.#taskId;
    const opened = this.#connection === 'open';
    const subscribed = this.#step === 'subscribe';
    if (this.#step === 'send') {
      const { from } = this.#options;
      if (isConnectionFailure(error) && !this.#started && 'params' in from) {
        if (from.resend(error, this.#failures)) return undefined;
        if (id === undefined) {
          if (error.reason === 'unreachable') throw error;
          await this.#checkTask(from.params.message.taskId);
          throw this.#interrupted(
            'it broke before its first event: the message may have arrived',
            error,
          );
        }
      }
      if (error instanceof A2AError) return this.#endedTask(error);
      this.#step = this.#following();
    }
    if (isConnectionFailure(error)) {
      // The agent was silent, but reachable, so the number of attempts is not limited.
      if (opened && error.reason === 'timeout') this.#failures = 0;
      // The server of the Python SDK opens a stream for an unknown or finished task, and then breaks the connection. A
      // server that numbers its events does not do this, and its task may have another turn.
      const doubtful = subscribed && this.#empty && error.reason === 'broken';
      return doubtful && id !== undefined && this.#lastSeq === undefined
        ? this.#settledTask(id)
        : undefined;
    }
    if (id === undefined) return undefined;
    // A stream without events may mean that the task had already ended.
    if (error === undefined) return this.#empty ? this.#settledTask(id) : undefined;
    if (opened) return this.#giveUp(error);
    if (error instanceof A2AError && isOverload(error)) return undefined;
    if (error instanceof A2AError && !isDenied(error)) {
      // Servers refuse a subscription to a finished task with various errors, even with "task not found".
      const last = await this.#settledTask(id);
      if (last || this.#step === 'poll') return last;
      if (cannotSubscribe(error)) {
        return this.#options.polls === true ? this.#giveUp(error) : undefined;
      }
    }
    return this.#giveUp(
      this.#started ? this.#interrupted(`it cannot be resumed: ${error.message}`, error) : error,
    );
  }

  /**
   * Continues with polling when events are no longer available. Throws the error if polling is not allowed, or if the
   * task's id is unknown.
   */
  #giveUp(error: Error): undefined {
    if (this.#options.polls !== true || this.#taskId === undefined) throw error;
    this.#step = 'poll';
  }

  /** Returns the task if it has ended. Throws the refusal if the task has not ended or cannot be fetched. */
  async #endedTask(refused: A2AError): Promise<StreamItem> {
    const { service, call, signal } = this.#options;
    const params = { id: this.#taskId ?? '', historyLength: 0 };
    const event = await service.getTask(params, { ...call, signal }).catch(() => undefined);
    if (event && isTerminal(event.status.state)) return { event };
    throw refused;
  }

  /** Throws if the task does not exist on the server, because a message to such a task cannot have arrived. */
  async #checkTask(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const { service, call, signal } = this.#options;
    await service.getTask({ id, historyLength: 0 }, { ...call, signal }).catch((error: unknown) => {
      if (error instanceof A2AError && error.kind === 'taskNotFound') throw error;
    });
  }

  /**
   * Returns the task if it is settled. Returns undefined if it is not settled, or if the agent cannot be reached. If
   * the agent refuses the request, continues with polling or throws.
   */
  async #settledTask(id: string): Promise<StreamItem | undefined> {
    const { service, call, signal } = this.#options;
    try {
      const event = await service.getTask({ id }, { ...call, signal });
      return isSettled(event.status.state) ? { event } : undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (isConnectionFailure(error)) return undefined;
      if (!this.#started || !(error instanceof A2AError)) throw error;
      return this.#giveUp(this.#interrupted(`it cannot be resumed: ${error.message}`, error));
    }
  }

  #interrupted(why: string, cause: Error | undefined): StreamInterruptedError {
    const at = { taskId: this.#taskId, lastSeq: this.#lastSeq };
    return new StreamInterruptedError(`the stream was interrupted; ${why}`, at, { cause });
  }
}

function stateOf(event: StreamEvent): TaskState | undefined {
  return event.kind === 'task' ? event.status.state : undefined;
}

/** Returns whether the error may mean that the task has ended, or that the server does not support subscriptions. */
function cannotSubscribe(error: A2AError): boolean {
  return error.kind === 'unsupportedOperation' || error.kind === 'methodNotFound';
}
