/** What all operations share: the log, the executions under way, and what happens to a task that nobody executes. */
import { waitAtMost } from '../base/index.ts';
import { A2AError, isTerminal, taskNotFound } from '../protocol/index.ts';
import { EventLog, type LiveTask, type OnState } from './event-log.ts';
import type { AgentExecutor, ExecutionContext, RequestContext } from './executor.ts';
import type { Logger } from './logger.ts';
import { type Deliver, PushNotifier } from './push.ts';
import {
  INTERRUPTED,
  lastEvents,
  type Run,
  type RunLimits,
  startRun,
  tellCanceled,
} from './run.ts';
import type { Scope, TaskStore } from './store.ts';

export interface RuntimeLimits extends RunLimits {
  /** Executions at a time; more are refused as unavailable. */
  readonly maxRunning: number;
  readonly maxPushConfigsPerTask: number;
}

/** However little time there is, webhooks get so much to hear how their tasks ended. */
const LAST_WORD_MS = 1000;

export class Runtime {
  readonly executor: AgentExecutor;
  readonly store: TaskStore;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly limits: RuntimeLimits;
  readonly push: PushNotifier | undefined;
  closing = false;
  /** The store is gone. */
  closed = false;
  readonly #runs = new Map<string, Run>();

  constructor(
    executor: AgentExecutor,
    options: {
      store: TaskStore;
      logger: Logger;
      limits: RuntimeLimits;
      deliver: Deliver | undefined;
      onState?: OnState | undefined;
    },
  ) {
    this.executor = executor;
    this.store = options.store;
    this.logger = options.logger;
    this.limits = options.limits;
    this.log = new EventLog(options.store, options.logger, options.onState);
    this.push =
      options.deliver &&
      new PushNotifier(this.log, options.deliver, options.logger, options.limits);
  }

  get running(): number {
    return this.#runs.size;
  }

  run(taskId: string): Run | undefined {
    return this.#runs.get(taskId);
  }

  /** Once the server is going down, it takes no more messages. */
  checkOpen(): void {
    if (this.closing) throw new A2AError('unavailable', 'The server is going down');
  }

  checkRoom(): void {
    if (this.#runs.size < this.limits.maxRunning) return;
    throw new A2AError('unavailable', 'Too many tasks are being executed', {
      retryAfterSeconds: 1,
    });
  }

  /** Starts an execution that belongs to the task, and outlives whoever asked for it. */
  start(live: LiveTask, context: Omit<ExecutionContext, 'signal'>): void {
    const { taskId } = live;
    const { log, executor, limits, logger } = this;
    // Canceled between the message and here.
    if (live.lost || (live.state && isTerminal(live.state))) {
      live.running = false;
      log.release(live);
      return;
    }
    live.running = true;
    let ended = false;
    const onEnd = () => {
      ended = true;
      if (this.#runs.get(taskId) === run) this.#runs.delete(taskId);
    };
    const run = startRun({ log, live, executor, limits, logger, context, onEnd });
    if (!ended) this.#runs.set(taskId, run);
  }

  /** The task, held, if it is the caller's. One that nobody executes any more is ended first. */
  async open(scope: Scope, taskId: string): Promise<LiveTask> {
    if (this.closed) throw new A2AError('unavailable', 'The server is going down');
    const live = await this.log.open(scope, taskId);
    if (!live) throw taskNotFound(taskId);
    try {
      if (live.stored === 0) throw taskNotFound(taskId);
      if (this.#isOrphan(live) && !(await isReserved(live)) && this.#isOrphan(live)) {
        await this.#interrupt(live);
        if (!live.lost) void this.#tellLeft(live);
      }
      return live;
    } catch (error) {
      live[Symbol.dispose]();
      throw error;
    }
  }

  /** Its execution ended with a store that was away, and so unsaid: what it left behind is no longer wanted. */
  async #tellLeft(live: LiveTask): Promise<void> {
    live.holds++;
    await this.tellCanceled(live);
    live[Symbol.dispose]();
  }

  /** Tells the executor of a task that was ended while nobody executed it. Never throws. */
  async tellCanceled(live: LiveTask): Promise<void> {
    if (!this.executor.cancel) return;
    const { taskId, contextId } = live;
    const loaded = await live.load().catch((error: unknown) => {
      this.logger.error({ err: error, taskId }, 'an agent could not be told of a cancellation');
    });
    if (!loaded) return;
    const { task, turn } = loaded;
    const context = { task, turn, contextId, ...callerOf(live) };
    await tellCanceled(this.executor, context, this.logger);
  }

  /** Ends or resumes what was being executed when the process died. */
  async recover(): Promise<void> {
    for (const head of await this.store.unfinished()) {
      using live = await this.log.open(head, head.taskId);
      if (!live || live.running || (await isReserved(live))) continue;
      if (this.executor.rules?.resumes) await this.#resume(live);
      else await this.#interrupt(live);
    }
  }

  /** Waits up to `ms` for executions to end and webhooks to hear of it, cuts off the rest, and closes everything. */
  async close(ms: number): Promise<void> {
    this.closing = true;
    const until = performance.now() + ms;
    await waitAtMost(ms, Promise.all([...this.#runs.values()].map(({ done }) => done)));
    await Promise.all([...this.#runs.values()].map((run) => run.shutdown()));
    await this.log.close();
    await this.push?.drain(Math.max(LAST_WORD_MS, until - performance.now()));
    this.push?.close();
    this.closed = true;
    await this.store.close();
  }

  /** It should be executed, and nobody does; unless it waits for its first message. */
  #isOrphan({ running, state, stored, seq }: LiveTask): boolean {
    const unfinished = state === 'working' || state === 'submitted';
    return unfinished && !running && stored === seq && !this.closing;
  }

  async #interrupt(live: LiveTask): Promise<void> {
    const failed = { kind: 'status-update', state: 'failed', message: INTERRUPTED } as const;
    const after = live.seq;
    for (const event of lastEvents(this.executor, live, failed)) void this.log.append(live, event);
    await this.push?.attach(live, after);
    await live.whenStored(live.seq).catch(() => {});
  }

  async #resume(live: LiveTask): Promise<void> {
    // From now on it is nobody's orphan.
    live.running = true;
    const loaded = await live.load();
    const message = loaded?.turn.at(-1);
    if (!loaded || !message) {
      live.running = false;
      return this.#interrupt(live);
    }
    await this.push?.attach(live, live.seq);
    this.start(live, {
      message,
      contextId: live.contextId,
      ...callerOf(live),
      extensions: message.extensions ?? [],
      metadata: undefined,
      task: loaded.task,
      turn: loaded.turn,
      resumed: true,
    });
  }
}

/** Whether nobody has said anything to the task yet: its log is the task alone, without a message. */
async function isReserved(live: LiveTask): Promise<boolean> {
  if (live.state !== 'submitted' || live.seq !== 1) return false;
  const [first] = await live.read(0, 1);
  return first?.event.kind === 'task' && (first.event.history ?? []).length === 0;
}

/** Whose task it is, as far as its log knows. */
function callerOf({ owner, tenant }: LiveTask): Pick<RequestContext, 'user' | 'tenant'> {
  return { user: owner === '' ? undefined : { id: owner, tenant }, tenant };
}
