/**
 * A stream that outlives its connections.
 *
 * When the connection breaks, or the agent's side ends it before the task is settled, the task is subscribed to again.
 * Parley's servers number their events (SSE `id`): the subscription then goes on behind the last number seen, and
 * whatever comes twice is dropped, so there is neither a gap nor a repetition. Other servers begin a subscription with
 * the Task as it now is: it is passed on as an event, and whoever folds events takes it as the new beginning.
 *
 * A stream that can not be taken up again throws. It never looks like one that ended well.
 */
import { backoffMs, pause } from '../base/index.ts';
import {
  A2AError,
  isSettled,
  isTerminal,
  type AgentService,
  type Call,
  type StreamEvent,
  type StreamItem,
  type Task,
  type TaskState,
} from '../protocol/index.ts';
import { ConnectionError, StreamInterruptedError } from './errors.ts';
import { Lifetime } from './request.ts';

export interface RetryOptions {
  /** How often to try in a row without anything new coming. 5; 0: never. */
  readonly attempts?: number | undefined;
  /** The first wait; each further one is twice as long, and each is shortened by up to a half at random. 250 ms. */
  readonly delayMs?: number | undefined;
  /** The longest wait. 10 seconds. */
  readonly maxDelayMs?: number | undefined;
  /** Told before each wait: which attempt comes, and after how long. Must not throw. */
  readonly onRetry?: ((attempt: number, delayMs: number) => void) | undefined;
}

export interface ResumeOptions {
  readonly service: Pick<AgentService, 'getTask' | 'subscribe'>;
  /** Headers and extensions, for the first connection and all others. */
  readonly call: Call;
  readonly signal: AbortSignal;
  readonly retry?: RetryOptions | undefined;
  readonly from:
    | {
        /** Sends the message. Called again only with `retrySend`, because it is not known whether it arrived. */
        readonly open: (call: Call) => Promise<AsyncIterable<StreamItem>>;
        readonly retrySend: boolean;
      }
    | { readonly taskId: string; readonly after?: number | undefined };
  /** Called with each item before it is yielded. Must not throw. */
  readonly onItem?: (item: StreamItem) => void;
}

/** How long to wait for the agent to close a stream in which it has said its last word. */
const GRACE_MS = 1000;
/** The longest wait that an agent may ask for with Retry-After. */
const MAX_RETRY_AFTER_MS = 60_000;

export async function* resumable(options: ResumeOptions): AsyncGenerator<StreamItem> {
  const { service, signal, from, onItem } = options;
  const { attempts = 5 } = options.retry ?? {};
  const sent = 'open' in from;
  const open = sent ? from.open : (call: Call) => subscribe(from.taskId, call);
  let taskId = sent ? undefined : from.taskId;
  let lastSeq = sent ? undefined : from.after;
  /** Something was received, ever. */
  let started = false;
  /** What the last event leaves to wait for: more, nothing until somebody acts, or nothing at all. */
  let rest: 'more' | 'settled' | 'nothing' = 'more';
  let state: TaskState | undefined;
  /** Connections in a row that brought nothing new. */
  let failures = 0;
  let numbered = true;

  for (;;) {
    const resuming = started || !sent;
    let opened = false;
    let empty = true;
    let trouble: Error | undefined;
    const lifetime = new Lifetime([signal]);
    const call: Call = { ...options.call, signal: lifetime.signal };
    try {
      const events = await (taskId === undefined ? open(call) : subscribe(taskId, call));
      opened = true;
      /** Until the first new event, what we know already may come again. */
      let repeats = resuming;
      let first = resuming;
      for await (const item of untilLastWord(events, lifetime, sent)) {
        const { event, seq } = item;
        empty = false;
        if (seq !== undefined && numbered) {
          if (lastSeq === undefined || seq > lastSeq) {
            lastSeq = seq;
            repeats = false;
          } else if (repeats) {
            continue;
          } else {
            // Not a sequence number then, whatever else the server means by it.
            numbered = false;
            lastSeq = undefined;
          }
        }
        taskId = taskIdOf(event) ?? taskId;
        // A snapshot alone is no progress: a server that gives one and hangs up would be asked for ever.
        if (!first || event.kind !== 'task') failures = 0;
        first = false;
        started = true;
        state = stateOf(event) ?? state;
        if (event.kind !== 'artifact-update') {
          rest = isLastWord(event) ? 'nothing' : settles(event) ? 'settled' : 'more';
        }
        onItem?.(item);
        yield item;
      }
    } catch (error) {
      trouble = error instanceof Error ? error : new Error(String(error));
    } finally {
      lifetime.release();
    }
    signal.throwIfAborted();
    if (trouble === undefined && rest !== 'more') return;
    // One who watches a task wants to see its next turn too, if there is one.
    if (isConnectionTrouble(trouble) && rest === 'nothing' && sent) return;
    let whole: WholeTask | undefined;
    if (trouble !== undefined) whole = await recover(trouble, opened, resuming);
    // Behind the end of a finished task's log there is nothing, and a stream without events says so.
    else if (taskId !== undefined && empty) whole = await finished(taskId);
    if (whole !== undefined) {
      if (rest !== 'more' && whole.event.status.state === state) return;
      onItem?.(whole);
      yield whole;
      return;
    }
    failures++;
    if (failures > attempts) {
      if (state !== undefined && isTerminal(state)) return;
      const times = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
      throw interrupted(`it ended before the task did, and ${times} to resume it failed`, trouble);
    }
    const wait = delay(failures, trouble);
    options.retry?.onRetry?.(failures, wait);
    await pause(wait, signal);
  }

  /**
   * Throws where it makes no sense to try again. Returns the whole task where that is all that is left to see, and
   * undefined where to try again is the thing to do.
   */
  async function recover(
    trouble: Error,
    opened: boolean,
    resuming: boolean,
  ): Promise<WholeTask | undefined> {
    if (isConnectionTrouble(trouble)) {
      // It was silent, but it was there. To ask again now and then costs little, and may go on.
      if (opened && trouble.reason === 'timeout') failures = 0;
      if (taskId !== undefined || (sent && from.retrySend)) return undefined;
      if (trouble.reason === 'unreachable') throw trouble;
      throw interrupted('it broke before its first event: the message may have arrived', trouble);
    }
    if (opened || !resuming || taskId === undefined || !(trouble instanceof A2AError))
      throw trouble;
    if (trouble.kind === 'unavailable' || trouble.kind === 'rateLimited') return undefined;
    if (cannotSubscribe(trouble)) return finished(taskId);
    throw started ? interrupted(`it cannot be resumed: ${trouble.message}`, trouble) : trouble;
  }

  /** The task as it stands, if that is where it stays. */
  async function finished(id: string): Promise<WholeTask | undefined> {
    try {
      const event = await service.getTask({ id }, { ...options.call, signal });
      return isSettled(event.status.state) ? { event } : undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (isConnectionTrouble(error)) return undefined;
      if (!started || !(error instanceof A2AError)) throw error;
      throw interrupted(`it cannot be resumed: ${error.message}`, error);
    }
  }

  function interrupted(why: string, cause: Error | undefined): StreamInterruptedError {
    const message = `the stream was interrupted; ${why}`;
    return new StreamInterruptedError(message, { taskId, lastSeq }, { cause });
  }

  function subscribe(id: string, call: Call): Promise<AsyncIterable<StreamItem>> {
    return service.subscribe({ id, ...(numbered && { after: lastSeq }) }, call);
  }

  function delay(failure: number, trouble: unknown): number {
    const { delayMs = 250, maxDelayMs = 10_000 } = options.retry ?? {};
    const wait = backoffMs(failure, delayMs, maxDelayMs);
    const asked = trouble instanceof A2AError ? (trouble.detail.retryAfterSeconds ?? 0) * 1000 : 0;
    return Math.max(wait, Math.min(asked, MAX_RETRY_AFTER_MS));
  }
}

/**
 * The connection's items. Who sent a message need not wait for ever on an agent that has said its last word about it
 * and forgets to hang up; who watches a task does, because it may go on. An abort is obeyed at once, whether or not the
 * service minds the signal.
 */
async function* untilLastWord(
  events: AsyncIterable<StreamItem>,
  lifetime: Lifetime,
  impatient: boolean,
): AsyncGenerator<StreamItem> {
  const { signal } = lifetime;
  const iterator = events[Symbol.asyncIterator]();
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
      over = impatient && isLastWord(step.value.event);
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    if (!ended) {
      lifetime.end(new ConnectionError('closed', 'the stream was left'));
      // Not waited for: a generator that is waiting itself would return only after its next event.
      iterator.return?.().catch(() => undefined);
    }
  }
}

interface WholeTask extends StreamItem {
  readonly event: Task;
}

function stateOf(event: StreamEvent): TaskState | undefined {
  return event.kind === 'task' || event.kind === 'status-update' ? event.status.state : undefined;
}

function taskIdOf(event: StreamEvent): string | undefined {
  if (event.kind === 'message') return undefined;
  return event.kind === 'task' ? event.id : event.taskId;
}

/** Whether nothing more is due after this event, until somebody acts. */
function settles(event: StreamEvent): boolean {
  if (event.kind === 'message') return true;
  if (event.kind === 'artifact-update') return false;
  return (event.kind === 'status-update' && event.final) || isSettled(event.status.state);
}

/** A task that waits for input may be what a stream begins with, when the message is the answer: more will follow. */
function isLastWord(event: StreamEvent): boolean {
  return event.kind === 'task' ? isTerminal(event.status.state) : settles(event);
}

function isConnectionTrouble(error: unknown): error is ConnectionError {
  return (
    error instanceof ConnectionError &&
    (error.reason === 'unreachable' || error.reason === 'broken' || error.reason === 'timeout')
  );
}

/** Finished (and then this is the protocol's answer), or a server that has no subscriptions. */
function cannotSubscribe(error: A2AError): boolean {
  return error.kind === 'unsupportedOperation' || error.kind === 'methodNotFound';
}
