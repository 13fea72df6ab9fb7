/**
 * Runs executions. An execution lasts from a message to the next terminal or interrupted state of the task.
 *
 * An execution belongs to the task, not to the connection that started it. It ends with exactly one terminal or
 * interrupted state, whatever the executor does (returns early, throws, ignores its signal, yields after the end).
 * There are two exceptions: this process loses the task's log, or the server shuts down and the executor `resumes`.
 */
import { ChurnMap, raceAbort, waitAtMost } from '../../base/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  type Message,
  type Task,
  type TaskEvent,
  type User,
  uuidv7,
} from '../../protocol/index.ts';
import { completeEvent } from './complete-event.ts';
import type { EventLog } from '../log/event-log.ts';
import { type LiveTask, LogLostError, type TaskWriter } from '../log/live-task.ts';
import type {
  AgentExecutor,
  CancelContext,
  ExecutionContext,
  ExecutorEvent,
  RequestContext,
  StatusEvent,
} from './executor.ts';
import { CONTROLLER, type RuntimeContext } from './runtime-context.ts';
import type { Logger } from '../log/logger.ts';
import type { Scope } from '../store/store.ts';
import { inOrder, WORKING } from './transitions.ts';

/** The limits of executions. */
export interface ExecutionLimits {
  /** How long an execution may take to end by itself after a cancellation or at shutdown, in milliseconds. */
  readonly graceMs: number;
  /** Maximum size of a task if the store is not durable. A larger task fails. */
  readonly maxTaskBytes: number;
  /** Maximum number of concurrent executions. Further messages are refused with the error `unavailable`. */
  readonly maxRunning: number;
}

/** Number of events after which an execution yields to the event loop. */
const BURST = 64;

export const INTERRUPTED = 'The execution was interrupted by a restart of the server.';

export const CANCELED: StatusEvent = { kind: 'status-update', state: 'canceled' };

/** Returns the last status of an expired task: `failed` if the task was working, else `canceled`. */
export function expiredStatus({ state }: LiveTask): StatusEvent {
  return {
    kind: 'status-update',
    state: state === 'working' ? 'failed' : 'canceled',
    message: 'The task expired before it was finished.',
  };
}

/**
 * Maximum ratio of one user's executions to those that may still be started. With the value 3, one user can have about
 * three quarters of `maxRunning`, and fewer while other users have executions.
 */
const PER_FREE_PLACE = 3;

interface ExecutionsOptions {
  readonly log: EventLog;
  readonly executor: AgentExecutor;
  readonly limits: ExecutionLimits;
  readonly logger: Logger;
}

/** The executions of this process. */
export class Executions {
  readonly options: ExecutionsOptions;
  readonly started = new ChurnMap<string, Execution>();
  /** The claimed executions that have neither started nor been abandoned, by task id. */
  readonly claimed = new ChurnMap<string, Execution>();
  /** The number of executions of each user. */
  readonly #running = new Map<string, number>();

  constructor(options: ExecutionsOptions) {
    this.options = options;
  }

  /** Returns the task's execution, or undefined if none has started. */
  of(taskId: string): Execution | undefined {
    return this.started.get(taskId);
  }

  /** The number of executions that may still be started. */
  get room(): number {
    return this.options.limits.maxRunning - this.started.size;
  }

  /** Throws `unavailable` if too many executions are running, in total or for this user. */
  checkRoom({ owner }: Scope): void {
    const free = this.room;
    const own = this.#running.get(owner) ?? 0;
    // Without authentication, all users have the same empty name.
    if (free > 0 && (owner === '' || own < PER_FREE_PLACE * free)) return;
    const message =
      free > 0 ? 'Too many of your tasks are being executed' : 'Too many tasks are being executed';
    throw new A2AError('unavailable', message, { retryAfterSeconds: 1 });
  }

  /** Counts an execution that starts. */
  add({ taskId, owner }: LiveTask, execution: Execution): void {
    this.started.set(taskId, execution);
    this.#running.set(owner, (this.#running.get(owner) ?? 0) + 1);
  }

  /** Removes an execution that has ended, unless it was already removed. */
  remove({ taskId, owner }: LiveTask, execution: Execution): void {
    if (this.started.get(taskId) !== execution) return;
    this.started.delete(taskId);
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }

  /** Reserves the task for an execution that starts soon. From now on, `live.running` is true. */
  claim(live: LiveTask): Execution {
    const execution = new Execution(this, live);
    this.claimed.set(live.taskId, execution);
    return execution;
  }

  /** Waits until a claimed execution has started or was abandoned, at most for the grace time. */
  async whenDecided(taskId: string): Promise<void> {
    const claimed = this.claimed.get(taskId);
    if (claimed) await waitAtMost(this.options.limits.graceMs, claimed.decided);
  }

  /**
   * Returns the events that end a task, from the executor's `conclude`, after the task's entries are stored. Returns
   * only `last` if `conclude` is missing, the log is lost, an error occurs, or the grace time ends first.
   */
  async concluding(live: LiveTask, last: StatusEvent): Promise<readonly StatusEvent[]> {
    const { executor, limits, logger } = this.options;
    const { taskId, contextId } = live;
    if (!executor.conclude || live.lost) return [last];
    // The signal is aborted after half of the grace time, so that the executor can still return the events it has.
    const signal = AbortSignal.timeout(limits.graceMs / 2);
    const conclude = async () => {
      let loaded;
      // Messages may arrive while the log is read.
      do {
        await live.whenStored(live.seq);
        loaded = await live.load();
      } while (loaded && loaded.seq !== live.seq);
      if (!loaded) return [last];
      const { task, turn } = loaded;
      return executor.conclude!({ task, turn, contextId, ...taskCaller(live), signal }, last);
    };
    try {
      return await raceAbort(conclude(), AbortSignal.timeout(limits.graceMs));
    } catch (error) {
      if (!live.lost) logger.warn({ err: error, taskId }, 'an agent failed to conclude its task');
      return [last];
    }
  }

  /** Waits up to `ms` milliseconds for the executions to end. Then ends the remaining executions. */
  async close(ms: number): Promise<void> {
    await waitAtMost(ms, Promise.all([...this.started.values()].map(({ done }) => done)));
    await Promise.all([...this.started.values()].map((execution) => execution.shutdown()));
  }
}

/**
 * One execution. While it runs, nothing else writes to the task's log, except for messages from clients.
 *
 * Thousands of executions may wait at the same time, and an async function that waits needs about 500 bytes. So the
 * executor's events are read with callbacks, and promises are created only if they are needed.
 */
export class Execution implements TaskWriter {
  readonly #all: Executions;
  readonly #live: LiveTask;
  readonly #controller = new AbortController();
  // The parts of the context that the executor's `cancel` gets. The other parts are not kept, to save memory.
  #task: Task | undefined;
  #turn: readonly Message[] = [];
  #user: User | undefined;
  #events: AsyncIterator<ExecutorEvent> | undefined;
  /** The number of events for which the execution did not have to wait for the store. See BURST. */
  #count = 0;
  #ended = false;
  /** Whether the executor has returned. */
  #returned = false;
  /** The promise of `decided`, or of `done` after the execution has started. */
  #awaited: PromiseWithResolvers<void> | undefined;
  /**
   * Makes the last status of a stopped execution. It is used only if the executor does not yield a final status itself.
   */
  #lastStatus: (() => StatusEvent | undefined) | undefined;
  /** Set when the task is canceled or expires. If both happen, the first one determines the last status. */
  #stopped: Promise<void> | undefined;
  /** Resolves when the events that end the task have been appended. */
  #concluded: Promise<void> | undefined;
  // Bound functions need less memory than functions with a closure. They are made once, not for each event.
  readonly #boundOnStep = this.#onStep.bind(this);
  readonly #boundOnError = this.#onError.bind(this);

  /** Use `Executions.claim` instead of this constructor. */
  constructor(all: Executions, live: LiveTask) {
    this.#all = all;
    this.#live = live;
    live.claim(this);
  }

  /** Resolves when the execution starts or is abandoned, or when its log is lost. */
  get decided(): Promise<void> {
    return (this.#awaited ??= Promise.withResolvers()).promise;
  }

  /** Resolves when the executor has returned, or at once if the execution has not started. Never rejects. */
  get done(): Promise<void> {
    if (!this.#task || this.#returned) return Promise.resolve();
    return (this.#awaited ??= Promise.withResolvers()).promise;
  }

  /** Starts the execution, or abandons it if the task has ended or its log was lost in the meantime. */
  start(
    request: RequestContext,
    given: Pick<ExecutionContext, 'message' | 'task' | 'turn' | 'resumed'>,
  ): void {
    const { message, task, turn, resumed } = given;
    const live = this.#live;
    if (live.lost || (live.state && isTerminal(live.state))) return this.abandon();
    // Each field is named, because an object that is made with `...` needs more memory.
    const context: RuntimeContext = {
      message,
      contextId: request.contextId,
      user: request.user,
      tenant: request.tenant,
      extensions: request.extensions,
      metadata: request.metadata,
      acceptedOutputModes: request.acceptedOutputModes,
      traceparent: request.traceparent,
      task,
      turn,
      signal: this.#controller.signal,
      resumed,
      [CONTROLLER]: this.#controller,
    };
    this.#task = task;
    this.#turn = turn;
    this.#user = request.user;
    this.#all.add(live, this);
    this.#decide();
    try {
      this.#events = this.#all.options.executor.execute(context)[Symbol.asyncIterator]();
    } catch (error) {
      return this.#onError(error);
    }
    this.#next();
  }

  /** Releases the task without executing it. */
  abandon(): void {
    this.#ended = true;
    this.#live.unclaim();
    this.#decide();
  }

  /** Called when this process loses the log of the task. */
  onLost(): void {
    if (!this.#task) return this.#decide();
    this.#controller.abort();
    this.#end();
  }

  #decide(): void {
    this.#all.claimed.delete(this.#live.taskId);
    this.#awaited?.resolve();
    this.#awaited = undefined;
  }

  /** Cancels the execution, after the grace time at the latest. Resolves when its end is stored or cannot be stored. */
  cancel(): Promise<void> {
    return (this.#stopped ??= this.#stop('stopped by the user', () => CANCELED, true));
  }

  /** Ends the execution of an expired task like `cancel`, but with the status from `expiredStatus`. */
  expire(): Promise<void> {
    return (this.#stopped ??= this.#stop(
      'the task expired',
      () => expiredStatus(this.#live),
      true,
    ));
  }

  /**
   * Ends the execution because the server shuts down. The task fails, or stays unfinished if the executor `resumes`.
   */
  shutdown(): Promise<void> {
    const resumes = this.#all.options.executor.rules?.resumes;
    return this.#stop('the server is shutting down', () =>
      resumes ? undefined : { kind: 'status-update', state: 'failed', message: INTERRUPTED },
    );
  }

  /** Asks the executor for its next event. */
  #next(): void {
    try {
      Promise.resolve(this.#events!.next()).then(this.#boundOnStep, this.#boundOnError);
    } catch (error) {
      this.#onError(error);
    }
  }

  #onStep(step: IteratorResult<ExecutorEvent>): void {
    let stored: Promise<void> | 'last' | undefined;
    try {
      stored = this.#ended ? 'last' : this.#step(step);
    } catch (error) {
      return this.#onError(error);
    }
    if (stored === 'last') void this.#leave();
    else if (stored) stored.then(() => this.#next(), this.#boundOnError);
    else if (++this.#count % BURST === 0) setImmediate(() => this.#next());
    else this.#next();
  }

  #onError(error: unknown): void {
    void this.#leave({ error });
  }

  /**
   * Appends the event that the executor has yielded, or ends the execution if the executor has returned. Returns a
   * promise if the next event must wait for it, or `last` if no more events are read.
   */
  #step({ done, value }: IteratorResult<ExecutorEvent>): Promise<void> | 'last' | undefined {
    const { transitions } = this.#all.options.executor.rules ?? {};
    const { state } = this.#live;
    let stored: Promise<void> | 'last' | undefined;
    if (done) {
      stored = 'last';
    } else {
      const ordered = transitions && state && inOrder(transitions, state, value);
      if (!ordered) stored = this.#take(value);
      else if (ordered.length > 0) stored = this.#take(ordered.at(-1)!, ordered.length > 1);
    }
    if (this.#ended) return 'last';
    if (stored === 'last') {
      const last = this.#lastStatus;
      this.#end(last ? last() : { kind: 'status-update', state: 'completed' });
    }
    return stored;
  }

  /**
   * Ends the executor's iterator. If the executor has failed, the task then fails, after the grace time at the latest.
   */
  async #leave(failure?: { readonly error: unknown }): Promise<void> {
    try {
      const left = this.#events?.return?.();
      if (failure) {
        await waitAtMost(this.#all.options.limits.graceMs, Promise.resolve(left));
        this.#fail(failure.error);
      }
      await left;
    } catch (error) {
      this.#fail(error);
    }
    await this.#concluded;
    this.#returned = true;
    this.#awaited?.resolve();
  }

  /**
   * Appends an event, after `working` if `worksFirst` is true. Returns a promise if the next event must wait for it.
   * Returns `last`, and appends nothing, if the event is a question and the execution is being stopped.
   */
  #take(given: ExecutorEvent, worksFirst = false): Promise<void> | 'last' | undefined {
    const { log, executor, limits } = this.#all.options;
    const live = this.#live;
    const event = completeEvent(live, given, executor.rules?.immutableEvents);
    // After a cancellation or expiry, a question would not be answered, so it is not appended.
    if (this.#stopped && event.kind === 'status-update' && isInterrupted(event.status.state))
      return 'last';
    if (worksFirst) log.appendBefore(live, completeEvent(live, WORKING));
    const stored = log.append(live, event);
    if (event.kind === 'status-update' && event.final) {
      this.#end();
    } else if (live.bytes > limits.maxTaskBytes && !log.store.durable) {
      const message = `The task exceeded the limit of ${limits.maxTaskBytes} bytes.`;
      this.#end({ kind: 'status-update', state: 'failed', message });
    }
    return this.#ended ? undefined : stored;
  }

  #fail(error: unknown): void {
    const { logger } = this.#all.options;
    const { taskId } = this.#live;
    if (this.#ended) {
      logger.debug({ err: error, taskId }, 'an agent threw an error after its task had ended');
    } else if (error instanceof LogLostError) {
      this.#end();
    } else if (this.#lastStatus) {
      logger.debug({ err: error, taskId }, 'an agent threw an error while it was being stopped');
      this.#end(this.#lastStatus());
    } else {
      const correlationId = uuidv7();
      logger.error({ err: error, taskId, correlationId }, 'the agent failed');
      const message = `The agent failed. Correlation id: ${correlationId}`;
      this.#end({ kind: 'status-update', state: 'failed', message, metadata: { correlationId } });
    }
  }

  /** Ends the execution and ignores further events. If `last` is given, the task ends with it (see `conclude`). */
  #end(last?: StatusEvent): void {
    if (this.#ended) return;
    this.#ended = true;
    if (last && this.#all.options.executor.conclude) {
      const concluding = this.#all.concluding(this.#live, last);
      this.#concluded = concluding.then((events) => this.#close(events));
    } else {
      this.#close(last ? [last] : []);
    }
  }

  #close(last: readonly StatusEvent[]): void {
    const { log, executor, logger } = this.#all.options;
    const live = this.#live;
    const { taskId } = live;
    try {
      if (last.length > 0 && !live.lost) {
        for (const event of lastEvents(executor, live, last)) void log.append(live, event);
      }
    } catch (error) {
      logger.error({ err: error, taskId }, 'failed to append the end of a task');
    }
    live.unclaim();
    this.#all.remove(live, this);
  }

  async #stop(
    reason: string,
    last: () => StatusEvent | undefined,
    tellsExecutor = false,
  ): Promise<void> {
    const { limits } = this.#all.options;
    this.#lastStatus ??= last;
    this.#controller.abort(new DOMException(reason, 'AbortError'));
    const told = tellsExecutor && this.#tellCanceled();
    await waitAtMost(limits.graceMs, Promise.all([told, this.done]));
    this.#end(this.#lastStatus());
    await this.#concluded;
    await this.#live.whenStored(this.#live.seq).catch(() => {});
  }

  #tellCanceled(): Promise<void> | undefined {
    const { executor, logger } = this.#all.options;
    const { contextId, tenant } = this.#live;
    const task = this.#task;
    const [turn, user] = [this.#turn, this.#user];
    return task && tellCanceled(executor, { task, turn, contextId, user, tenant }, logger);
  }
}

/**
 * Returns the events with which the runtime ends a task: `last`, preceded by `working` if the executor's transitions
 * require it.
 */
export function lastEvents(
  { rules }: AgentExecutor,
  live: LiveTask,
  last: readonly StatusEvent[],
): TaskEvent[] {
  const { transitions } = rules ?? {};
  const state = last.at(-1)?.state;
  const worksFirst =
    transitions && state && live.state === 'submitted' && !transitions.submitted?.includes(state);
  return (worksFirst ? [WORKING, ...last] : last).map((event) => completeEvent(live, event));
}

/** Returns the task's owner and tenant. Nothing else about the caller is stored. */
export function taskCaller({ owner, tenant }: LiveTask): Pick<RequestContext, 'user' | 'tenant'> {
  return { user: owner === '' ? undefined : { id: owner, tenant }, tenant };
}

/** Notifies the executor that a task was canceled or has expired. Logs errors that the executor throws. */
export async function tellCanceled(
  executor: AgentExecutor,
  context: CancelContext,
  logger: Logger,
): Promise<void> {
  const taskId = context.task.id;
  try {
    await executor.cancel?.(taskId, context);
  } catch (error) {
    logger.warn(
      { err: error, taskId },
      'an agent threw an error when it was notified of a cancellation',
    );
  }
}
