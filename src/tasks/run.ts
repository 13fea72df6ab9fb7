/**
 * One execution of an agent: from a message to the next terminal or interrupted state.
 *
 * It belongs to the task, not to the connection that started it. Whatever the executor does (returns early, throws,
 * ignores its signal, goes on after the end), the task's log gets exactly one terminal event per turn.
 */
import { waitAtMost, isObject } from '../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import {
  isInterrupted,
  isSettled,
  type Message,
  type Part,
  type TaskEvent,
  TaskState,
} from '../protocol/index.ts';
import { type EventLog, type LiveTask, LogLostError } from './event-log.ts';
import type {
  AgentExecutor,
  CancelContext,
  ExecutionContext,
  ExecutorEvent,
  StatusEvent,
} from './executor.ts';
import type { Logger } from './logger.ts';
import { timestamp } from './time.ts';
import { inOrder } from './transitions.ts';

export interface RunLimits {
  /** How long a canceled or shut-down execution may take to end by itself. */
  readonly graceMs: number;
  /** A task that outgrows this in a store that keeps it in memory is failed. */
  readonly maxTaskBytes: number;
}

export interface Run {
  /** Resolves when the executor has returned. It never rejects. */
  readonly done: Promise<void>;
  /** Ends the execution as canceled, at the latest after the grace time. Resolves when the log says so. */
  cancel(): Promise<void>;
  /** Likewise, because its time is up: as canceled before any work, else as failed. */
  expire(): Promise<void>;
  /** Ends it because the server goes down: as interrupted, or not at all if the executor resumes. */
  shutdown(): Promise<void>;
}

export interface RunOptions {
  readonly log: EventLog;
  readonly live: LiveTask;
  readonly executor: AgentExecutor;
  readonly context: Omit<ExecutionContext, 'signal'>;
  readonly limits: RunLimits;
  readonly logger: Logger;
  /** Called once, when no more events of this run are taken. */
  readonly onEnd: () => void;
}

/** After so many events in a row the event loop gets its turn, however fast the executor yields. */
const BURST = 64;

export const INTERRUPTED = 'The execution was interrupted by a restart of the server.';

/** What is worked on has failed; what is not has only been waited for. */
export function expiredStatus({ state }: LiveTask): StatusEvent {
  return {
    kind: 'status-update',
    state: state === 'working' ? 'failed' : 'canceled',
    message: 'The task expired before it was finished.',
  };
}

export function startRun(options: RunOptions): Run {
  const { log, live, executor, limits, logger } = options;
  const { rules } = executor;
  const controller = new AbortController();
  const context: ExecutionContext = { ...options.context, signal: controller.signal };
  let ended = false;
  /** Set once it was told to stop: how it ends, unless it says so itself. */
  let stopping: (() => StatusEvent | undefined) | undefined;
  /** It is canceled or has expired: whichever came first, it ends so. */
  let stopped: Promise<void> | undefined;

  /** No more events are taken. Says how it ended, unless the log knows already. */
  function end(last?: StatusEvent): void {
    if (ended) return;
    ended = true;
    try {
      if (last && !live.lost) {
        for (const event of lastEvents(executor, live, last)) void log.append(live, event);
      }
    } catch (error) {
      logger.error({ err: error, taskId: live.taskId }, 'the end of a task could not be logged');
    }
    live.running = false;
    log.release(live);
    options.onEnd();
  }

  /** Puts an event into the log, and says what to wait for before the next. `last`: no more are asked for. */
  function take(given: ExecutorEvent): Promise<void> | 'last' | undefined {
    const event = completeEvent(live, given, rules?.immutableEvents);
    // Nobody answers the question of a task that is canceled or has expired.
    if (stopped && event.kind === 'status-update' && isInterrupted(event.status.state))
      return 'last';
    const stored = log.append(live, event);
    if (event.kind === 'status-update' && event.final) {
      end();
    } else if (live.bytes > limits.maxTaskBytes && !log.store.durable) {
      const message = `The task outgrew the limit of ${limits.maxTaskBytes} bytes.`;
      end({ kind: 'status-update', state: 'failed', message });
    }
    return ended ? undefined : stored;
  }

  async function execute(): Promise<void> {
    const events = executor.execute(context)[Symbol.asyncIterator]();
    try {
      for (let count = 1; ; count++) {
        const step = await events.next();
        if (ended) return;
        if (step.done) break;
        const ordered =
          rules?.transitions && live.state && inOrder(rules.transitions, live.state, step.value);
        let stored: ReturnType<typeof take>;
        if (!ordered) stored = take(step.value);
        else for (const event of ordered) if (stored !== 'last') stored = take(event);
        if (stored === 'last') break;
        if (ended) return;
        if (stored) await stored;
        else if (count % BURST === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      end(stopping ? stopping() : { kind: 'status-update', state: 'completed' });
    } finally {
      // The executor may still hold something open; its clean-up is not the task's business.
      await events.return?.();
    }
  }

  function fail(error: unknown): void {
    if (ended) {
      logger.debug({ err: error, taskId: live.taskId }, 'an agent threw after its task had ended');
    } else if (error instanceof LogLostError) {
      end();
    } else if (stopping) {
      logger.debug({ err: error, taskId: live.taskId }, 'an agent threw when it was told to stop');
      end(stopping());
    } else {
      const correlationId = randomUUIDv7();
      logger.error({ err: error, taskId: live.taskId, correlationId }, 'the agent failed');
      const message = `The agent failed. Correlation id: ${correlationId}`;
      end({ kind: 'status-update', state: 'failed', message, metadata: { correlationId } });
    }
  }

  async function stop(
    reason: string,
    last: () => StatusEvent | undefined,
    told?: () => Promise<void>,
  ): Promise<void> {
    stopping ??= last;
    controller.abort(new DOMException(reason, 'AbortError'));
    await waitAtMost(limits.graceMs, Promise.all([told?.(), done]));
    end(stopping());
    await live.whenStored(live.seq).catch(() => {});
  }

  const tell = () => tellCanceled(executor, context, logger);

  const done = execute().catch(fail);

  live.onLost = () => {
    controller.abort();
    end();
  };
  return {
    done,
    cancel: () =>
      (stopped ??= stop('canceled', () => ({ kind: 'status-update', state: 'canceled' }), tell)),
    expire: () => (stopped ??= stop('expired', () => expiredStatus(live), tell)),
    shutdown: () =>
      stop('the server is going down', () =>
        rules?.resumes
          ? undefined
          : { kind: 'status-update', state: 'failed', message: INTERRUPTED },
      ),
  };
}

/** The events with which the runtime ends a task: `last`, and before it what the executor's transitions require. */
export function lastEvents(
  { rules }: AgentExecutor,
  live: LiveTask,
  last: StatusEvent,
): TaskEvent[] {
  const ordered = rules?.transitions && live.state && inOrder(rules.transitions, live.state, last);
  return (ordered ?? [last]).map((event) => completeEvent(live, event));
}

/** Tells the executor that a task was canceled or has expired; what it throws is logged. */
export async function tellCanceled(
  executor: AgentExecutor,
  context: CancelContext,
  logger: Logger,
): Promise<void> {
  const taskId = context.task.id;
  try {
    await executor.cancel?.(taskId, context);
  } catch (error) {
    logger.warn({ err: error, taskId }, 'an agent threw when it was told of a cancellation');
  }
}

/** The states that an agent may enter. In the other two nobody would execute, continue or recover its task. */
const STATES: ReadonlySet<unknown> = new Set(
  TaskState.options.filter((state) => state !== 'unknown' && state !== 'unspecified'),
);

/**
 * Fills in what the runtime owns: ids, the time, whether the stream ends, and that the agent is who speaks. Throws on
 * what no peer could read; the log is for ever, and so is nonsense in it.
 */
export function completeEvent(
  task: { taskId: string; contextId: string },
  event: ExecutorEvent,
  givenAway = false,
): TaskEvent {
  const { taskId, contextId } = task;
  if (event.kind === 'artifact-update') {
    const { artifact, append, lastChunk, metadata } = event;
    if (typeof artifact.artifactId !== 'string' || artifact.artifactId === '') {
      throw new TypeError('an artifact has an id');
    }
    const parts = checkedParts(artifact.parts, givenAway);
    const copy = givenAway ? artifact : { ...artifact, parts };
    // Memory holds many of these: a field that is there from the start costs nothing beside the object.
    const complete: TaskEvent =
      append === undefined
        ? { kind: 'artifact-update', taskId, contextId, artifact: copy }
        : { kind: 'artifact-update', taskId, contextId, artifact: copy, append };
    if (lastChunk !== undefined) complete.lastChunk = lastChunk;
    if (metadata) complete.metadata = metadata;
    return complete;
  }
  const { state } = event;
  if (event.kind !== 'status-update' || !STATES.has(state)) {
    throw new TypeError('an executor yields status updates with a state, and artifact updates');
  }
  const complete: TaskEvent = {
    kind: 'status-update',
    taskId,
    contextId,
    status:
      event.message === undefined
        ? { state, timestamp: timestamp() }
        : { state, timestamp: timestamp(), message: agentMessage(event.message, task) },
    final: isSettled(state),
  };
  if (event.metadata) complete.metadata = event.metadata;
  return complete;
}

/** A message from the agent, in its task or (where there is none) its context. */
export function agentMessage(
  content: string | Message,
  { taskId, contextId }: { taskId?: string; contextId: string },
): Message {
  const message: Message =
    typeof content === 'string'
      ? {
          kind: 'message',
          messageId: randomUUIDv7(),
          role: 'agent',
          parts: [{ kind: 'text', text: content }],
        }
      : { ...content, kind: 'message', role: 'agent', parts: checkedParts(content.parts) };
  message.contextId = contextId;
  if (taskId !== undefined) message.taskId = taskId;
  return message;
}

/** A copy, unless they are given away: the log keeps it, and the executor may go on with its own. */
function checkedParts(parts: Part[], givenAway = false): Part[] {
  if (!Array.isArray(parts) || parts.length === 0) throw new TypeError('there is no part');
  if (!givenAway) return [...parts].map(checkedPart);
  for (const part of parts) if (!isPart(part)) throw notAPart();
  return parts;
}

function checkedPart(part: Part): Part {
  if (!isPart(part)) throw notAPart();
  return { ...part };
}

function notAPart(): TypeError {
  return new TypeError('a part has text, a file (bytes or uri), or data');
}

function isPart(part: Part): boolean {
  switch (part?.kind) {
    case 'text':
      return typeof part.text === 'string';
    case 'file':
      return isObject(part.file) && typeof (part.file.bytes ?? part.file.uri) === 'string';
    case 'data':
      return part.data !== undefined;
    default:
      return false;
  }
}
