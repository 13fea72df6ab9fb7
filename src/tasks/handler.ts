/**
 * Implements every operation of the protocol with a store and an executor, independently of HTTP.
 *
 * By default, `message/send` reads the task's log until the task is settled (terminal or interrupted). `message/stream`
 * and `tasks/resubscribe` stream the log. An execution belongs to its task, so it continues after the client
 * disconnects.
 */
import { defined } from '../base/index.ts';
import {
  A2AError,
  type AgentCard,
  type AgentService,
  type Call,
  isSettled,
  isTerminal,
  type ListTasksParams,
  type ListTasksResult,
  type LogEntry,
  type MessageSendParams,
  type ProtocolVersion,
  reduce,
  type SendResult,
  type SubscribeParams,
  type Task,
  type TaskIdParams,
  taskNotFound,
} from '../protocol/index.ts';
import type { LiveTask, OnState } from './log/live-task.ts';
import type { AgentExecutor } from './execution/executor.ts';
import { ClusterNode } from './cluster-node.ts';
import { deleteTask, expire, unexpired, type Expired, type ExpireOptions } from './expiry.ts';
import { accept, allStored, type IntakeOptions, type Started } from './intake.ts';
import { loadUpTo, type Loaded } from './log/load.ts';
import { consoleLogger, type Logger } from './log/logger.ts';
import { viewed, type LogView } from './log/view.ts';
import { memoryStore } from './store/memory-store.ts';
import { type DeadLetterOperations, pushOperations } from './push-operations.ts';
import type { Deliver } from './push/deliver.ts';
import { Published } from './log/published.ts';
import { mayGoOn, type Sink } from './log/reader.ts';
import { reserve, type ReserveParams } from './reserve.ts';
import { Runtime, type RuntimeLimits } from './runtime.ts';
import { scopeOf, wireOf } from './scope.ts';
import { roughSize } from './log/size.ts';
import { withUnavailableErrors } from './unavailable-store.ts';
import type { ListPage, ListQuery, SerializedEntry, TaskHead, TaskStore } from './store/store.ts';
import { opening, TaskStream, type StreamRules } from './log/task-stream.ts';

const HANDLER_LIMITS: RuntimeLimits = {
  graceMs: 5000,
  maxTaskBytes: 64 * 1024 * 1024,
  maxRunning: 20_000,
  maxPushConfigsPerTask: 32,
  pushRetryMs: 300,
  pushMaxRetryMs: 3_600_000,
  pushGiveUpMs: 24 * 3_600_000,
  keepExpiredMs: 3_600_000,
};

/** Rough maximum size of a page of tasks or log entries, in bytes. Larger pages would block the event loop. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

/** Maximum number of entries in a page of `readLog`. */
const LOG_PAGE = 500;

/** The error for a client that subscribes to a finished task without asking for a replay of its events. */
export class FinishedTaskError extends A2AError {
  constructor({ id, status }: Task) {
    const message = `The task is ${status.state}; it cannot be subscribed to`;
    super('unsupportedOperation', message, { info: { taskId: id } });
  }
}

/** The options of `createHandler`. */
export interface HandlerOptions {
  /** Default: a store in memory. */
  readonly store?: TaskStore | undefined;
  /** Default: prints warnings and errors to standard error. */
  readonly logger?: Logger | undefined;
  readonly limits?: Partial<RuntimeLimits> | undefined;
  readonly onState?: OnState | undefined;
  /**
   * Returns the time in milliseconds. Requests use it to check whether a task has expired, and webhooks use it for
   * their retries. Default: `Date.now`.
   */
  readonly now?: (() => number) | undefined;
  /** Delivers webhooks. Without it, push notifications are not supported. */
  readonly deliver?: Deliver | undefined;
  /** Whether streams are allowed. Default: true. */
  readonly streaming?: boolean | undefined;
  readonly inputModes?: IntakeOptions['inputModes'];
  /** Whether a message with a known id returns the existing task. Default: true. */
  readonly deduplicate?: boolean | undefined;
  /** Converts users for requests to another node, if users are objects of a class. */
  readonly users?: IntakeOptions['users'];
  /**
   * The extended card. `true` means that the agent declares an extended card, but none is configured. Default: the
   * agent has no extended card.
   */
  readonly extendedCard?: AgentCard | ((call: Call) => AgentCard) | true | undefined;
}

/** A page of a task's log. `next` is the value of `after` for the next page. It is missing on the last page. */
export interface LogPage {
  readonly entries: readonly LogEntry[];
  readonly next?: number;
}

/** The parameters for reading a task's log. `limit` is the maximum number of entries. */
export type ReadLogParams = SubscribeParams & { readonly limit?: number | undefined };

/**
 * The options of `listTasks`. With `total: false`, the tasks are not counted, and `totalSize` is the number of tasks on
 * the page.
 */
export interface ListOptions extends Pick<ListQuery, 'total'> {
  /**
   * Rough maximum size of a page whose tasks have a history or artifacts. Its first task may be larger. Default: 8 MiB.
   */
  readonly maxBytes?: number | undefined;
}

/**
 * The options of `subscribe`. With `oneTurn: true`, the stream of a session ends when the current turn ends or waits
 * for input.
 */
export type SubscribeOptions = Pick<Sink, 'oneTurn'>;

/** The protocol operations of one agent, and additional operations for the server that runs the agent. */
export interface RequestHandler extends AgentService, DeadLetterOperations {
  /** `seen` is the sequence number of the last event that the client received before it sent the same message again. */
  streamMessage: (params: MessageSendParams, call?: Call, seen?: number) => Promise<TaskStream>;
  subscribe: (
    params: SubscribeParams,
    call?: Call,
    options?: SubscribeOptions,
  ) => Promise<TaskStream>;
  listTasks: (
    params: ListTasksParams,
    call?: Call,
    options?: ListOptions,
  ) => Promise<ListTasksResult>;
  /** Creates a task that waits for its first message. */
  reserveTask: (params: ReserveParams, call?: Call) => Promise<Task>;
  /**
   * Returns a page of the log entries after `after`. The page has at most `limit` entries, and at most 500. It has
   * fewer if the entries are large or the caller's view does not contain all of them.
   */
  readLog: (params: ReadLogParams, call?: Call) => Promise<LogPage>;
  /**
   * Returns the time of a task's last artifact event, in milliseconds. It may be earlier than the time of the task's
   * status. Returns undefined if there is no such event, or if its time is not known.
   */
  updatedAt: (params: TaskIdParams, call?: Call) => Promise<number | undefined>;
  /**
   * Deletes a finished task and its log. If the task is being read, it is no longer found, and a sweep deletes it
   * later. Throws `unsupportedOperation` if the task is not finished.
   */
  removeTask: (params: TaskIdParams, call?: Call) => Promise<void>;
  /**
   * Ends or resumes the executions that were interrupted when the previous process ended. Call it once before the
   * server starts.
   */
  recover(): Promise<void>;
  /**
   * Ends expired tasks that are unfinished, and removes expired tasks that are finished. With `retention`, also removes
   * old tasks. Call it regularly. Never throws.
   */
  expire(options: ExpireOptions): Promise<Expired>;
  /**
   * Refuses new messages, waits up to `ms` milliseconds for executions and webhooks to end, aborts those that have not
   * ended, and closes the store. The default of `ms` is 0. Webhooks have at least one second.
   */
  close(ms?: number): Promise<void>;
  /** The number of running executions. */
  readonly running: number;
}

/**
 * Makes a handler without HTTP, for your own transport or for tests.
 *
 *   const client = createClient(local(createHandler(agent)), { card });
 */
export function createHandler(
  executor: AgentExecutor,
  options: HandlerOptions = {},
): RequestHandler {
  const logger = options.logger ?? consoleLogger;
  const store = withUnavailableErrors(options.store ?? memoryStore(), logger);
  const limits = { ...HANDLER_LIMITS, ...defined(options.limits) };
  const runtime = new Runtime(executor, {
    store,
    logger,
    limits,
    deliver: options.deliver,
    onState: options.onState,
    now: options.now,
  });
  const { log } = runtime;
  const { inputModes, deduplicate = true, users } = options;
  const intake = { inputModes, deduplicate, users };

  if (store.cluster) runtime.node = new ClusterNode(runtime, store.cluster, intake);

  /** Reads the log until the task is settled, and returns the task. */
  function settled({ live, before, created, after }: Started, signal?: AbortSignal): Promise<Task> {
    if (before && !live.running && after >= live.stored && isSettled(before.status.state)) {
      return Promise.resolve(before);
    }
    // Entry 1 of a new task is known, so it is not read from the store.
    let task = created ? reduce(undefined, created) : before;
    return new Promise((resolve, reject) => {
      const onAbort = () => reader.close();
      const reader = log.read(live, created ? after + 1 : after, {
        take({ event }) {
          task = reduce(task, event);
          return true;
        },
        end(reason) {
          signal?.removeEventListener('abort', onAbort);
          if (reason === 'final' && task) resolve(task);
          else {
            const text = 'The task continues; get it by its id';
            reject(new A2AError('unavailable', text, { retryAfterSeconds: 1 }));
          }
        },
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
      else reader.resume();
    });
  }

  async function load(live: LiveTask): Promise<Task> {
    return taskIn(await live.load(), live.taskId);
  }

  /** Returns the tasks at the start of a page that fit into `maxBytes`, but at least one. */
  async function fitting(
    heads: readonly TaskHead[],
    view: LogView | undefined,
    { historyLength = 0, includeArtifacts = false }: ListTasksParams,
    maxBytes: number,
  ): Promise<Task[]> {
    let bytes = 0;
    const tasks: Task[] = [];
    for (const { taskId, seq } of heads) {
      if (bytes > maxBytes) break;
      const loaded = await loadUpTo(seq, (after, limit) => store.read(taskId, after, limit));
      // Another node has removed the task.
      if (!loaded) continue;
      const whole = loaded.task;
      bytes += roughSize(whole);
      if (bytes > maxBytes && tasks.length > 0) break;
      const { artifacts = [], ...task } = shown(whole, view, historyLength);
      tasks.push(includeArtifacts ? { ...task, artifacts } : task);
    }
    return tasks;
  }

  /** Returns the task of a message that was accepted. */
  async function resultOf(
    accepted: Started,
    params: MessageSendParams,
    call: Call,
  ): Promise<SendResult> {
    using live = accepted.live;
    const { historyLength, blocking } = params.configuration ?? {};
    const task = await (blocking === false ? load(live) : settled(accepted, call.signal));
    const view = await runtime.viewOf(call, accepted.before && live, params, wireOf(call));
    return shown(task, view, historyLength);
  }

  function checkStreaming(): void {
    if (options.streaming !== false) return;
    throw new A2AError('unsupportedOperation', 'This agent does not support streaming');
  }

  /** Returns the stream of a client whose message was accepted. */
  function streamOf(
    accepted: Started,
    view: LogView | undefined,
    { configuration }: MessageSendParams,
    wire: ProtocolVersion,
    seen: number | undefined,
  ): TaskStream {
    const { live, before, created, after } = accepted;
    // In 1.0, a stream must start with the task (section 3.1.2 of the specification), so only clients with 0.3 get a
    // brief stream.
    if (accepted.brief && wire === '0.3') {
      return TaskStream.read(log, live, after + 1, undefined, { view });
    }
    const { historyLength } = configuration ?? {};
    if (created) {
      // Entry 1 of a new task is known, so it is not read from the store. The history of the task has only the client's
      // message.
      const task = shown(created, view, historyLength);
      const first = task === created ? new Published({ seq: 1, event: task }) : opening(task, 1);
      return TaskStream.read(log, live, 1, first, { view });
    }
    if (!before) return TaskStream.read(log, live, after, undefined, { view });
    // A task that has just got this message is not over, even if its execution has ended already.
    const over = accepted.repeated && !live.running && isSettled(before.status.state);
    if (accepted.repeated && seen !== undefined) {
      return over && seen === live.seq ? TaskStream.empty() : resume(live, seen, { view });
    }
    const task = shown(before, view, historyLength);
    if (over) return TaskStream.of(task, after);
    return TaskStream.read(log, live, after, opening(task, after), { view });
  }

  /**
   * Returns a function for `Sink.spans` if the task is a session (`rules.isSession`) that can have another turn.
   * Otherwise returns undefined.
   */
  function spansOf({ taskId, state }: LiveTask): (() => boolean) | undefined {
    const over = state !== undefined && isTerminal(state) && !mayGoOn(state);
    const spans = () => executor.rules?.isSession?.(taskId) === true;
    return !over && spans() ? spans : undefined;
  }

  /** Returns a stream of the entries after an entry that the client has already received. */
  function resume(live: LiveTask, after: number, rules: StreamRules): TaskStream {
    if (after > live.seq) {
      throw new A2AError(
        'invalidParams',
        `after: ${after} is beyond the end of the task's log (${live.seq})`,
      );
    }
    const spans = rules.oneTurn ? undefined : spansOf(live);
    const over = after >= live.seq && live.state !== undefined && isTerminal(live.state);
    return over && !spans
      ? TaskStream.empty()
      : TaskStream.read(log, live, after, undefined, { ...rules, spans });
  }

  return {
    async sendMessage(params, call = {}) {
      const accepted = await accept(runtime, params, call, intake);
      return 'kind' in accepted ? accepted : resultOf(accepted, params, call);
    },
    async streamMessage(params, call = {}, seen) {
      checkStreaming();
      const accepted = await accept(runtime, params, call, intake);
      if ('kind' in accepted) return TaskStream.of(accepted);
      const { live, before } = accepted;
      // Most streams take this path. In the program's bundle, the code for `using` is slower than `finally`.
      try {
        const chosen = runtime.viewOf(call, before && live, params);
        const view = chosen instanceof Promise ? await chosen : chosen;
        return streamOf(accepted, view, params, wireOf(call), seen);
      } finally {
        live[Symbol.dispose]();
      }
    },
    async getTask(params, call = {}) {
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      const view = await runtime.viewOf(call, live);
      return shown(await load(live), view, params.historyLength);
    },
    async listTasks(params, call = {}, { total, maxBytes = MAX_PAGE_BYTES } = {}) {
      const { historyLength = 0, includeArtifacts = false, statusTimestampAfter: since } = params;
      const pageSize = params.pageSize ?? 50;
      if (runtime.closed) throw new A2AError('unavailable', 'The server is shutting down');
      const query: ListQuery = {
        ...scopeOf(call, params.tenant),
        contextId: params.contextId,
        state: params.status,
        updatedSince: since === undefined ? undefined : Date.parse(since),
        limit: pageSize,
        cursor: params.pageToken,
        total,
      };
      const view = await runtime.viewOf(call);
      let page = await unexpired(runtime, () => store.list(query));
      const { total: count } = page;
      const isBrief = historyLength === 0 && !includeArtifacts;
      let tasks = isBrief
        ? page.heads.map(({ taskId: id, contextId, status }) =>
            shown({ kind: 'task', id, contextId, status }, view),
          )
        : await fitting(page.heads, view, params, maxBytes);
      while (tasks.length > 0 && tasks.length < page.heads.length) {
        // The store is asked for a shorter page, because the cursor must follow the last task that fits. If tasks have
        // changed in the meantime, the shorter page may contain other tasks. Then these are read, so that no task is
        // skipped. The loop ends, because each page is shorter than the one before.
        const short: ListQuery = { ...query, limit: tasks.length, total: false };
        page = await unexpired(runtime, () => store.list(short));
        if (isPageOf(tasks, page)) break;
        tasks = await fitting(page.heads, view, params, maxBytes);
      }
      const totalSize = count ?? tasks.length;
      return { tasks, nextPageToken: page.next ?? '', pageSize, totalSize };
    },
    async cancelTask(params, call = {}) {
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      const { taskId } = live;
      const stopped = await runtime.stop(live, 'cancel');
      // The end of the task must not be reported before it is stored.
      await allStored(live);
      if (stopped && live.state === 'canceled')
        return shown(await load(live), await runtime.viewOf(call, live));
      const message = `The task is already ${live.state}`;
      const info = { taskId, ...(live.state && { state: live.state }) };
      throw new A2AError('taskNotCancelable', message, { info });
    },
    async subscribe(params, call = {}, { oneTurn } = {}) {
      checkStreaming();
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      const { taskId } = live;
      const { after } = params;
      const view = await runtime.viewOf(call, live);
      if (after !== undefined) return resume(live, after, { oneTurn, view });
      const loaded = await live.load();
      if (!loaded) throw taskNotFound(taskId);
      const { task, seq } = loaded;
      const spans = spansOf(live);
      if (isTerminal(task.status.state) && !spans) throw new FinishedTaskError(task);
      const first = opening(shown(task, view), seq);
      return TaskStream.read(log, live, seq, first, {
        spans: oneTurn ? undefined : spans,
        oneTurn,
        view,
      });
    },
    ...pushOperations(runtime),
    async getExtendedCard(_params, call = {}) {
      const { extendedCard } = options;
      if (extendedCard === undefined) {
        throw new A2AError('unsupportedOperation', 'This agent has no extended card');
      }
      if (extendedCard === true) throw new A2AError('extendedCardNotConfigured');
      return typeof extendedCard === 'function' ? extendedCard(call) : extendedCard;
    },
    reserveTask: (params, call = {}) => reserve(runtime, params, call),
    async readLog(params, call = {}) {
      const limit = Math.min(params.limit ?? LOG_PAGE, LOG_PAGE);
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      const view = await runtime.viewOf(call, live);
      const read: SerializedEntry[] = [];
      let bytes = 0;
      for (let more = true; more && read.length < limit && bytes < MAX_PAGE_BYTES;) {
        const after = read.at(-1)?.seq ?? params.after ?? 0;
        const piece = await live.read(after, Math.min(16, limit - read.length));
        if (piece.length === 0 && after < live.stored) throw taskNotFound(live.taskId);
        for (const { json, event } of piece) bytes += json?.length ?? roughSize(event);
        read.push(...piece);
        more = piece.length > 0;
      }
      const last = read.at(-1)?.seq;
      const entries = view ? read.flatMap((entry) => entryIn(view, entry)) : read;
      return last !== undefined && last < live.stored ? { entries, next: last } : { entries };
    },
    async updatedAt(params, call = {}) {
      using live = await runtime.open(scopeOf(call, params.tenant), params.id);
      return live.artifactAt;
    },
    async removeTask(params, call = {}) {
      await deleteTask(runtime, scopeOf(call, params.tenant), params.id);
    },
    recover: () => runtime.recover(),
    expire: (options) => expire(runtime, options),
    close: (ms = 0) => runtime.close(ms),
    get running() {
      return runtime.executions.started.size;
    },
  };
}

function entryIn(view: LogView, { seq, event }: LogEntry): LogEntry[] {
  const seen = viewed(view, event);
  return seen ? [{ seq, event: seen }] : [];
}

function isPageOf(tasks: readonly Task[], { heads }: ListPage): boolean {
  return heads.length === tasks.length && heads.every(({ taskId }, at) => taskId === tasks[at]?.id);
}

function taskIn(loaded: Loaded | undefined, taskId: string): Task {
  if (!loaded) throw taskNotFound(taskId);
  return loaded.task;
}

/** Returns the task as the view shows it, with the last `length` messages of its history. */
function shown(task: Task, view: LogView | undefined, length?: number): Task {
  return trimHistory(view?.task(task) ?? task, length);
}

/** Keeps the last `length` messages of the history. 0 removes the field, and undefined keeps all messages. */
export function trimHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || !task.history) return task;
  const { history, ...rest } = task;
  return length === 0 ? rest : { ...rest, history: history.slice(-length) };
}
