/** The parts that all operations share: the log, the executions, webhooks, and the handling of interrupted tasks. */
import { Turns, type MaybePromise } from '../base/index.ts';
import {
  A2AError,
  isTerminal,
  taskNotFound,
  type Call,
  type Message,
  type MessageSendParams,
} from '../protocol/index.ts';
import { EventLog } from './log/event-log.ts';
import type { LiveTask, OnState } from './log/live-task.ts';
import type { AgentExecutor, StatusEvent } from './execution/executor.ts';
import type { Logger } from './log/logger.ts';
import type { LogView, ViewRequest } from './log/view.ts';
import type { Deliver } from './push/deliver.ts';
import { PushNotifier, type PushLimits } from './push/notifier.ts';
import {
  CANCELED,
  expiredStatus,
  taskCaller,
  type ExecutionLimits,
  Executions,
  INTERRUPTED,
  lastEvents,
  tellCanceled,
} from './execution/execution.ts';
import { executeElsewhere, type StopKind } from './owner.ts';
import { expireTask, hasExpired } from './expiry.ts';
import type { ClockCheck } from './retention.ts';
import { isUnfinished } from './store/store-rules.ts';
import type { Scope, TaskStore } from './store/store.ts';

/** The limits of executions and tasks. */
export interface RuntimeLimits extends ExecutionLimits, PushLimits {
  /** How long a task is kept after it was ended because it expired, in milliseconds. Default: one hour. */
  readonly keepExpiredMs: number;
}

/** Maximum number of times that the end of a task is delayed because a message is about to start an execution. */
const MAX_TRIES = 10;
/** At shutdown, webhooks have at least this time to deliver the last events. */
const LAST_WORD_MS = 1000;

export class Runtime {
  readonly executor: AgentExecutor;
  readonly store: TaskStore;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly executions: Executions;
  /** Copies of a message that arrive at the same time are handled one after the other. */
  readonly arrivals = new Turns();
  readonly push: PushNotifier | undefined;
  /**
   * This process as one of the nodes that share the store, if the store has a cluster. Set before `recover` is called.
   */
  node: { join(): Promise<void>; leave(): Promise<void> } | undefined;
  /** How long a task is kept after it was ended because it expired. */
  keepExpiredMs: number;
  /** The clock for webhooks, and for the expiry of tasks that requests find, in milliseconds. */
  readonly now: () => number;
  /** The result of the clock check at the last sweep, for `removeOldTasks`. */
  clock: ClockCheck | undefined;
  closing = false;
  /** True when the store is being closed or is closed. */
  closed = false;

  constructor(
    executor: AgentExecutor,
    options: {
      store: TaskStore;
      logger: Logger;
      limits: RuntimeLimits;
      deliver: Deliver | undefined;
      onState?: OnState | undefined;
      now?: (() => number) | undefined;
    },
  ) {
    this.executor = executor;
    this.store = options.store;
    this.logger = options.logger;
    this.now = options.now ?? Date.now;
    this.keepExpiredMs = options.limits.keepExpiredMs;
    this.log = new EventLog(options.store, options.logger, options.onState);
    this.executions = new Executions({ ...options, log: this.log, executor });
    this.push =
      options.deliver &&
      new PushNotifier(this.log, {
        deliver: options.deliver,
        logger: options.logger,
        limits: options.limits,
        views: executor.views,
        now: this.now,
      });
  }

  /** Throws `unavailable` if the server is shutting down, or if this node of a cluster has no lease. */
  checkOpen(): void {
    if (this.closing) throw new A2AError('unavailable', 'The server is shutting down');
    // A task that is created or continued without a lease would be interrupted at once.
    if (this.log.cluster?.hasLease === false) {
      throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
    }
  }

  /**
   * Returns the view in which a request sees tasks, or undefined if the agent has no views. `live` is the existing task
   * of the request, if there is one.
   */
  viewOf(
    call: Call,
    live?: LiveTask,
    { message, metadata }: Partial<MessageSendParams> = {},
    result?: ViewRequest['result'],
  ): MaybePromise<LogView | undefined> {
    const { views } = this.executor;
    const { extensions = [], version } = call;
    const choose = (first: Message | undefined): LogView | undefined =>
      views?.choose({ extensions, version, message, metadata, first, result });
    return live && views?.byFirstMessage ? this.#firstMessage(live).then(choose) : choose(message);
  }

  /**
   * Returns the first message of a task. Returns undefined for a session, whose first message may come from another
   * client.
   */
  async #firstMessage(live: LiveTask): Promise<Message | undefined> {
    const isShared = this.executor.rules?.isSession?.(live.taskId) === true;
    return isShared ? undefined : firstMessage(live);
  }

  /**
   * Opens a task in the scope. The caller must dispose of it. If the task has expired, or if its execution was
   * interrupted and will not be continued, ends the task first. Throws `taskNotFound` if the scope has no such task, or
   * if the task is finished and has expired.
   */
  async open(scope: Scope, taskId: string): Promise<LiveTask> {
    if (this.closed) throw new A2AError('unavailable', 'The server is shutting down');
    const live = await this.log.open(scope, taskId);
    if (!live) throw taskNotFound(taskId);
    try {
      if (live.stored === 0) throw taskNotFound(taskId);
      if (hasExpired(this, live)) await this.#expire(live);
      if (live.runsElsewhere) await this.#endAbandoned(live);
      if (this.#isOrphan(live) && !(await isReserved(live)) && this.#isOrphan(live)) {
        await this.interrupt(live);
        // The executor may still hold resources for the task, for example if the execution has ended but its last event
        // could not be stored. So the executor is notified.
        if (!live.lost) void this.tellCanceled(live.hold()).then(() => live[Symbol.dispose]());
      }
      return live;
    } catch (error) {
      live[Symbol.dispose]();
      throw error;
    }
  }

  /** Removes a finished task that has expired. Returns whether it was removed. */
  async removeExpired(scope: Scope, taskId: string): Promise<boolean> {
    const head = this.log.isLive(taskId) ? undefined : await this.store.head(scope, taskId);
    if (!head || !hasExpired(this, head) || !isTerminal(head.status.state)) return false;
    return (await expireTask(this, head, head.status.state)) === 'removed';
  }

  /**
   * Ends an expired task that is unfinished. If the task is finished, throws `taskNotFound`. A sweep removes the task
   * when it is no longer used.
   */
  async #expire(live: LiveTask): Promise<void> {
    const { taskId, state } = live;
    if (state === undefined) return;
    if (isTerminal(state)) {
      await live.whenStored(live.seq);
      throw taskNotFound(taskId);
    }
    await expireTask(this, live, state);
  }

  /**
   * Ends a task that was canceled or has expired, whether it is being executed or not, here or by another node. Returns
   * false if it has ended already.
   */
  async stop(live: LiveTask, how: StopKind): Promise<boolean> {
    const { taskId } = live;
    if (!live.owned && !live.running) {
      const { tenant, owner } = live;
      const request = { kind: how, task: { tenant, owner, taskId } };
      do {
        const result = await executeElsewhere(this.log, live, request);
        if (result) return result.stopped === true;
        if (live.state === undefined || isTerminal(live.state)) return false;
      } while (!(await this.log.own(live)));
    }
    // An execution may be about to start, or another caller may be ending the task. If the executor has `conclude`,
    // only one of them may append events at a time, so this call waits. There is no `await` between the last check and
    // the end.
    const isPending = () => live.running && !this.executions.of(taskId);
    for (let tries = 0; this.executor.conclude && isPending() && tries < MAX_TRIES; tries++) {
      await this.executions.whenDecided(taskId);
    }
    if (live.state === undefined || isTerminal(live.state)) return false;
    const execution = this.executions.of(taskId);
    if (execution) {
      await (how === 'cancel' ? execution.cancel() : execution.expire());
    } else {
      await this.end(live, how === 'cancel' ? CANCELED : expiredStatus(live));
      await this.tellCanceled(live);
    }
    return true;
  }

  /**
   * Ends a task that is not being executed, and notifies its webhooks. Does not call `cancel` of the executor. For
   * that, use `tellCanceled`.
   */
  async end(live: LiveTask, last: StatusEvent): Promise<void> {
    if (this.executor.conclude && !live.running) {
      // Until the task has ended, no message may start an execution.
      const claim = this.executions.claim(live);
      try {
        this.#append(live, await this.executions.concluding(live, last));
      } finally {
        claim.abandon();
      }
    } else {
      this.#append(live, [last]);
    }
    await this.push?.attach(live);
  }

  #append(live: LiveTask, last: readonly StatusEvent[]): void {
    for (const event of lastEvents(this.executor, live, last)) void this.log.append(live, event);
  }

  /** Notifies the executor that a task ended while it was not being executed. Never throws. */
  async tellCanceled(live: LiveTask): Promise<void> {
    if (!this.executor.cancel) return;
    const { taskId, contextId } = live;
    const loaded = await live.load().catch((error: unknown) => {
      this.logger.error({ err: error, taskId }, 'failed to notify an agent of a cancellation');
    });
    if (!loaded) return;
    const { task, turn } = loaded;
    const context = { task, turn, contextId, ...taskCaller(live) };
    await tellCanceled(this.executor, context, this.logger);
  }

  /**
   * Ends or resumes the executions that were interrupted when the previous process ended. Then starts to deliver the
   * events that webhooks have not got.
   */
  async recover(): Promise<void> {
    const { resumes } = this.executor.rules ?? {};
    await this.node?.join();
    // The nodes of a cluster take over the tasks of all nodes, unless the executor resumes only its own tasks.
    const isShared = this.node && typeof resumes !== 'function';
    for (const head of isShared ? [] : await this.store.unfinished()) {
      if (typeof resumes === 'function' && !resumes(head.taskId)) continue;
      using live = await this.log.open(head, head.taskId);
      if (!live || live.running || (await isReserved(live))) continue;
      if (live.owned || (await this.log.ownInterrupted(live))) await this.continue(live);
    }
    this.push?.start();
  }

  /** Continues an execution that was interrupted, or ends its task if the executor does not resume it. */
  async continue(live: LiveTask): Promise<void> {
    if (this.executor.rules?.resumes) await this.#resume(live);
    else await this.interrupt(live);
  }

  /**
   * Ends a task whose node is gone, if `resumes` is a function that returns false for the task. Other nodes do not take
   * over such a task.
   */
  async #endAbandoned(live: LiveTask): Promise<void> {
    const { resumes } = this.executor.rules ?? {};
    if (typeof resumes !== 'function' || resumes(live.taskId) || (await isReserved(live))) return;
    if (await this.log.ownInterrupted(live)) await this.interrupt(live);
  }

  /** Like `continue`, but ends the task if `resumes` is a function that returns false for the task. */
  async continueOwn(live: LiveTask): Promise<void> {
    const { resumes } = this.executor.rules ?? {};
    if (typeof resumes === 'function' && !resumes(live.taskId)) await this.interrupt(live);
    else await this.continue(live);
  }

  /**
   * Waits up to `ms` milliseconds for executions to end and for webhooks to be delivered. Webhooks have at least
   * LAST_WORD_MS. Aborts the remaining executions and deliveries, and closes the store.
   */
  async close(ms: number): Promise<void> {
    this.closing = true;
    const until = performance.now() + ms;
    await this.executions.close(ms);
    await this.log.close();
    await this.push?.drain(Math.max(LAST_WORD_MS, until - performance.now()));
    await this.push?.close();
    this.closed = true;
    await this.node?.leave();
    await this.store.close();
  }

  /**
   * Returns whether the task is unfinished, but not being executed. Also true for a task that waits for its first
   * message. Always false at shutdown and in a cluster.
   */
  #isOrphan({ running, state, stored, seq }: LiveTask): boolean {
    // The nodes of a cluster take over such tasks.
    return isUnfinished(state) && !running && stored === seq && !this.closing && !this.node;
  }

  async interrupt(live: LiveTask): Promise<void> {
    await this.end(live, { kind: 'status-update', state: 'failed', message: INTERRUPTED });
    await live.whenStored(live.seq).catch(() => {});
  }

  async #resume(live: LiveTask): Promise<void> {
    const execution = this.executions.claim(live);
    const loaded = await live.load().catch((error: unknown) => {
      // `releaseLater` starts a pause. So `abandon` does not release the task, and it is released after the pause.
      this.log.releaseLater(live, error);
      execution.abandon();
      throw error;
    });
    const message = loaded?.turn.at(-1);
    if (!loaded || !message) {
      execution.abandon();
      return this.interrupt(live);
    }
    await this.push?.attach(live);
    const request = {
      message,
      contextId: live.contextId,
      ...taskCaller(live),
      extensions: message.extensions ?? [],
      metadata: undefined,
    };
    execution.start(request, { message, task: loaded.task, turn: loaded.turn, resumed: true });
  }
}

/**
 * Returns the first message of a task, or undefined if it has none yet. If the task was reserved, the message is in the
 * entry after the task.
 */
async function firstMessage(live: LiveTask): Promise<Message | undefined> {
  for (const { event } of await live.read(0, 2)) {
    const message = event.kind === 'task' ? event.history?.[0] : undefined;
    if (message) return message;
    if (event.kind === 'status-update' && event.status.message?.role === 'user')
      return event.status.message;
  }
  return undefined;
}

/** Returns whether the task still waits for its first message. */
export async function isReserved(live: LiveTask): Promise<boolean> {
  if (live.state !== 'submitted' || live.seq !== 1) return false;
  const [first] = await live.read(0, 1);
  return first?.event.kind === 'task' && (first.event.history ?? []).length === 0;
}
