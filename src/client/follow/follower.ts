/**
 * Follows a remote task across connections.
 *
 * When a connection breaks, or the agent closes it before the task is settled, the follower subscribes to the task
 * again. Parley's servers number their events (SSE `id`): a new subscription then continues after the last number, and
 * events that arrive twice are dropped, so there is neither a gap nor a repetition. Other servers start a subscription
 * with the Task as it now is. That snapshot is passed on as an event.
 *
 * A task that cannot be followed to its end throws. It never looks like one that ended well.
 */
import { backoffMs, pause } from '../../base/index.ts';
import {
  A2AError,
  isInterrupted,
  isSettled,
  isTerminal,
  type AgentService,
  type Call,
  type MessageSendParams,
  type StreamEvent,
  type StreamItem,
  type TaskState,
} from '../../protocol/index.ts';
import { ConnectionError, StreamInterruptedError } from '../connection/errors.ts';
import { Lifetime } from '../connection/request.ts';
import {
  DEFAULT_ATTEMPTS,
  isConnectionFailure,
  isOverload,
  isTransient,
  retryDelay,
  retrying,
  type RetryOptions,
} from './retry.ts';

/** The operations that following a task needs, over any connection. */
export type FollowedService = Pick<
  AgentService,
  'sendMessage' | 'streamMessage' | 'getTask' | 'subscribe'
>;

export interface FollowOptions {
  readonly service: FollowedService;
  /** Headers and extensions for every request. */
  readonly call: Call;
  readonly signal: AbortSignal;
  /** Whether the agent streams. */
  readonly streams: boolean;
  readonly from: MessageStart | TaskStart;
  readonly retry?: RetryOptions | undefined;
  /** Fetch the task repeatedly when its events are unavailable. Without it the follower throws. */
  readonly polls?: boolean | undefined;
}

/** Sends a message and follows the task that results. */
export interface MessageStart {
  readonly params: MessageSendParams;
  /** Whether the message may be sent again after this error. `failures`: the number of failures in a row before it. */
  readonly resend: (error: ConnectionError, failures: number) => boolean;
  /**
   * If it is unclear whether a message to an existing task arrived, or the agent refuses it because the task has ended,
   * fetch the task and continue from it. Without it the follower throws, so that the caller can send the message again.
   */
  readonly checksTask?: boolean;
}

/** Follows a task that exists. `after`: the last sequence number seen. */
export interface TaskStart {
  readonly taskId: string;
  readonly after?: number | undefined;
}

export type Items = AsyncIterable<StreamItem> | Iterable<StreamItem>;

/** How long to wait for the agent to close a stream after its last event. */
const GRACE_MS = 1000;
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 5000;

/** The items of a task, across as many connections as it takes. */
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
 * Hands out one connection at a time. The caller reads it, reports each item with `accepts` and an error with `failed`.
 * The gateway uses it directly, because one more generator around the items would double the cost of an event.
 */
export class TaskFollower {
  readonly #options: FollowOptions;
  #step: 'send' | 'subscribe' | 'poll' | 'end';
  #taskId: string | undefined;
  #lastSeq: number | undefined;
  /** False once the server's event ids have proved not to be sequence numbers. */
  #numbered = true;
  #state: TaskState | undefined;
  /** What may follow the last event: more, nothing until the user acts, or nothing at all. */
  #rest: 'more' | 'settled' | 'nothing' = 'more';
  #started = false;
  /** An answer to a question was sent, and no event shows yet that the agent has received it. */
  #unconfirmed = false;
  /** Connections in a row that brought nothing new. */
  #failures = 0;
  // These describe the current connection.
  #connection: 'none' | 'opening' | 'open' = 'none';
  #empty = true;
  #first = false;
  /** Until the first new event, known events may arrive again. */
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
  }

  /** The next connection's items. Undefined at the end; throws if the task cannot be followed any further. */
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
        const items = await this.#open({ ...this.#options.call, signal });
        this.#connection = 'open';
        return items;
      } catch (error) {
        this.failed(error);
      }
    }
  }

  /** Takes note of an item. False: it is known already and must be dropped. */
  accepts({ event, seq }: StreamItem): boolean {
    this.#empty = false;
    if (seq !== undefined && this.#numbered) {
      if (this.#lastSeq === undefined || seq > this.#lastSeq) {
        this.#lastSeq = seq;
        this.#repeats = false;
      } else if (this.#repeats) {
        return false;
      } else {
        this.#numbered = false;
        this.#lastSeq = undefined;
      }
    }
    this.#started = true;
    // A snapshot alone is no progress: a server that sends one and hangs up would be asked forever.
    if (!this.#first || event.kind !== 'task') this.#failures = 0;
    this.#first = false;
    if (event.kind === 'artifact-update') {
      this.#taskId ??= event.taskId;
      this.#unconfirmed = false;
      return true;
    }
    this.#rest = isLastEvent(event) ? 'nothing' : settles(event) ? 'settled' : 'more';
    if (event.kind === 'message') return true;
    this.#taskId = event.kind === 'task' ? event.id : event.taskId;
    this.#state = event.status.state;
    if (event.kind !== 'task' || !isInterrupted(this.#state)) this.#unconfirmed = false;
    return true;
  }

  /** The current connection failed. Throws if a new one would not help. */
  failed(error: unknown): void {
    this.#options.signal.throwIfAborted();
    const refused = error instanceof A2AError && (this.#step !== 'send' || this.#mayHaveEnded());
    if (this.#step === 'poll' || !(isConnectionFailure(error) || refused)) throw error;
    this.#error = error;
  }

  /** How the task is followed after the message was sent. */
  #following(): 'subscribe' | 'poll' {
    return this.#options.polls === true && !this.#options.streams ? 'poll' : 'subscribe';
  }

  /** Whether to check if a refused message came after the end of its task. */
  #mayHaveEnded(): boolean {
    const { from } = this.#options;
    const checks = 'params' in from && from.checksTask === true;
    return checks && this.#connection === 'opening' && this.#taskId !== undefined;
  }

  async #open(call: Call & { readonly signal: AbortSignal }): Promise<Items> {
    const { service, from, streams } = this.#options;
    const id = this.#taskId;
    if (this.#step === 'send' && 'params' in from) {
      if (streams) return service.streamMessage(from.params, call);
      return [{ event: await service.sendMessage(from.params, call) }];
    }
    if (id === undefined) throw new TypeError('only a task can be followed');
    if (this.#step === 'poll') return this.#poll(id, call);
    if (this.#unconfirmed) {
      // A subscription to a task that still waits for the answer would wait with it.
      this.#unconfirmed = false;
      const event = await retrying(
        () => service.getTask({ id, historyLength: 0 }, call),
        call.signal,
      );
      return [{ event }];
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

  /** Waits until the next connection is due. If none is, returns the last item, or undefined. */
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
        : // A subscriber also wants the task's next turn, if there is one.
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

  /** Chooses the next step. Returns the task if it is all that is left to deliver. */
  async #recover(error: Error | undefined): Promise<StreamItem | undefined> {
    const id = this.#taskId;
    const opened = this.#connection === 'open';
    if (this.#step === 'send') {
      const { from } = this.#options;
      if (isConnectionFailure(error) && !this.#started && 'params' in from) {
        if (from.resend(error, this.#failures)) return undefined;
        if (id === undefined) {
          if (error.reason === 'unreachable') throw error;
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
      // The agent was silent but reachable. It may be asked again any number of times.
      if (opened && error.reason === 'timeout') this.#failures = 0;
      return undefined;
    }
    if (id === undefined) return undefined;
    // A stream without events may mean that nothing follows the end of a finished task.
    if (error === undefined) return this.#empty ? this.#settledTask(id) : undefined;
    if (opened) return this.#giveUp(error);
    if (error instanceof A2AError && isOverload(error)) return undefined;
    if (error instanceof A2AError && cannotSubscribe(error)) {
      const last = await this.#settledTask(id);
      return last ?? (this.#options.polls === true ? this.#giveUp(error) : undefined);
    }
    return this.#giveUp(
      this.#started ? this.#interrupted(`it cannot be resumed: ${error.message}`, error) : error,
    );
  }

  /** Events are no longer available: poll, or throw. */
  #giveUp(error: Error): undefined {
    if (this.#options.polls !== true || this.#taskId === undefined) throw error;
    this.#step = 'poll';
  }

  /** The task, if it has ended. Otherwise throws the refusal. */
  async #endedTask(refused: A2AError): Promise<StreamItem> {
    const { service, call, signal } = this.#options;
    const params = { id: this.#taskId ?? '', historyLength: 0 };
    const event = await service.getTask(params, { ...call, signal }).catch(() => undefined);
    if (event && isTerminal(event.status.state)) return { event };
    throw refused;
  }

  /** The task, if it is settled. */
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

/**
 * One connection's items. A caller that sent a message leaves an agent that does not close the stream after the last
 * event; a subscriber stays, because the task may continue. An abort ends the wait at once, even if the service ignores
 * the signal.
 */
async function* untilLastEvent(
  items: Items,
  lifetime: Lifetime,
  leaves: boolean,
): AsyncGenerator<StreamItem> {
  if (!(Symbol.asyncIterator in items)) {
    yield* items;
    return;
  }
  const { signal } = lifetime;
  const iterator = items[Symbol.asyncIterator]();
  let over = false;
  let ended = false;
  let leave: (() => void) | undefined;
  const onAbort = (): void => leave?.();
  signal.addEventListener('abort', onAbort);

  function next(): Promise<IteratorResult<StreamItem> | undefined> {
    return new Promise((resolve, reject) => {
      const timer = over ? setTimeout(resolve, GRACE_MS, undefined) : undefined;
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(error);
      };
      leave = () => fail(signal.reason);
      iterator.next().then((step) => {
        clearTimeout(timer);
        resolve(step);
      }, fail);
      if (signal.aborted) leave();
    });
  }

  try {
    for (;;) {
      const step = await next();
      ended = step?.done === true;
      if (step === undefined || step.done === true) return;
      over = leaves && isLastEvent(step.value.event);
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!ended) {
      lifetime.end(new ConnectionError('closed', 'the reader left the stream'));
      // Not awaited: a generator that is waiting would return only after its next event.
      iterator.return?.().catch(() => undefined);
    }
  }
}

function stateOf(event: StreamEvent): TaskState | undefined {
  return event.kind === 'task' ? event.status.state : undefined;
}

/** Whether nothing follows this event until the user acts. */
function settles(event: StreamEvent): boolean {
  if (event.kind === 'message') return true;
  if (event.kind === 'artifact-update') return false;
  return (event.kind === 'status-update' && event.final) || isSettled(event.status.state);
}

/** A stream for an answer may start with the task as it waited for it: then more events follow. */
function isLastEvent(event: StreamEvent): boolean {
  return event.kind === 'task' ? isTerminal(event.status.state) : settles(event);
}

/** The task has finished (this is then the protocol's response), or the server has no subscriptions. */
function cannotSubscribe(error: A2AError): boolean {
  return error.kind === 'unsupportedOperation' || error.kind === 'methodNotFound';
}
