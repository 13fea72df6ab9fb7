/**
 * Accepts a message. The message gets a direct answer, starts a task, continues an existing task, or is a repetition of
 * an earlier message.
 */
import { validTraceparent } from '../base/tracing/index.ts';
import {
  A2AError,
  type Call,
  ERRORS,
  isInterrupted,
  isTerminal,
  type Message,
  type MessageSendParams,
  type Task,
  taskNotFound,
  type TaskState,
  type TaskStatusUpdateEvent,
  uuidv7,
} from '../protocol/index.ts';
import { type LiveTask, LogFullError, LogLostError, LogMovedError } from './log/live-task.ts';
import type { Reception, RequestContext } from './execution/executor.ts';
import { checkMessage } from './check-message.ts';
import { executeElsewhere, NotOwnerError, packCall, type UserCodec } from './owner.ts';
import { foldOn, loadTask, loadUpTo, seqBefore } from './log/load.ts';
import { agentMessage } from './execution/complete-event.ts';
import { originOf } from './push-operations.ts';
import type { PushOrigin } from './push/notifier.ts';
import type { Runtime } from './runtime.ts';
import { scopeOf } from './scope.ts';
import { isUnfinished, scopeKey } from './store/store-rules.ts';
import type { Scope, TaskHead } from './store/store.ts';
import { receivedMessage, sameContent } from './stored-message.ts';
import { timestamp } from './log/time.ts';

/** The task that a message started or continued. The caller must dispose of `live`. */
export interface Started {
  readonly live: LiveTask;
  /** The task before the message. If the message is a repetition, the current task. Undefined if the task is new. */
  readonly before: Task | undefined;
  /** The new task as it was stored, which is entry 1 of its log. Undefined if the task existed before. */
  readonly created?: Task;
  /** Sequence number of the entry after which the caller reads the log. */
  readonly after: number;
  /** Whether the message was already accepted earlier. */
  readonly repeated?: boolean;
  /** Whether the caller's stream omits the task and the caller's own message. */
  readonly brief?: boolean;
}

/** Options for accepting messages. */
export interface IntakeOptions {
  /** Accepted media types of files. Default: all. */
  readonly inputModes?: readonly string[] | undefined;
  /**
   * Whether a message with a known id returns the existing task. Turn this off only for test programs that reuse ids.
   */
  readonly deduplicate: boolean;
  /** Whether another node has sent the message, because it assumes that this node executes the task. */
  readonly isForwarded?: boolean;
  /** Converts the users of messages that are sent to another node. */
  readonly users?: UserCodec | undefined;
}

/** Maximum number of attempts to accept a message. An attempt fails if another node claims the task meanwhile. */
const MAX_TRIES = 5;

/** The error for a message whose context is not the context of its task. */
export class ContextMismatchError extends A2AError {
  constructor() {
    super('invalidParams', 'message.contextId: must be the context of message.taskId');
  }
}

/** Accepts a message. Returns a direct answer, or the task that the message started or continued. */
export async function accept(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  options: IntakeOptions,
): Promise<Message | Started> {
  for (let tries = 1; ; tries++) {
    try {
      return await acceptOnce(runtime, params, call, options);
    } catch (error) {
      if (!(error instanceof LogLostError)) throw error;
      const isMoved = error instanceof LogMovedError && runtime.node;
      if (!isMoved || tries === MAX_TRIES) throw notStored(error);
    }
  }
}

/**
 * The last part of accepting a message. It runs after the turn in `arrivals`, so other copies of the message do not
 * wait for it.
 */
type Rest = () => Promise<Started>;

async function acceptOnce(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  options: IntakeOptions,
): Promise<Message | Started> {
  const scope = scopeOf(call, params.tenant);
  checkMessage(runtime, params, call, options.inputModes);
  const work = () => acceptInTurn(runtime, params, call, options, scope);
  // If a message arrives twice at the same time, the second copy waits, and then finds the task of the first one.
  const key = `${params.message.messageId}\0${scopeKey(scope)}`;
  const accepted = await (options.deduplicate ? runtime.arrivals.run(key, work) : work());
  return typeof accepted === 'function' ? accepted() : accepted;
}

async function acceptInTurn(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  options: IntakeOptions,
  scope: Scope,
): Promise<Message | Started | Rest> {
  const { store, executor } = runtime;
  const { message } = params;
  const find = () =>
    options.deduplicate ? store.findMessage(scope, message.messageId) : undefined;
  const found = find();
  const earlier = found instanceof Promise ? await found : found;
  if (earlier !== undefined && !(await runtime.removeExpired(scope, earlier))) {
    return () => repeated(runtime, params, call, scope, earlier);
  }
  const ids = options.deduplicate ? [message.messageId] : undefined;
  try {
    if (message.taskId !== undefined) {
      return await proceed(runtime, params, call, scope, ids, options);
    }
    if (message.contextId !== undefined && executor.answersByContext) {
      const answered = await answerByContext(runtime, params, call, scope, ids);
      if (answered) return answered;
    }
    const request = requestContext(runtime, params, call, scope, message.contextId ?? uuidv7());
    const asked = executor.receive?.(request);
    const reception = asked instanceof Promise ? await asked : asked;
    if (reception?.reply) return agentMessage(reception.reply, request);
    return await begin(runtime, params, call, request, reception, scope, ids);
  } catch (thrown) {
    const error = asOwn(thrown);
    const lost = error instanceof LogLostError;
    const refused = error instanceof A2AError && error.kind === 'unsupportedOperation';
    if (!lost && !refused) throw error;
    // Another node may have accepted the same message at the same time.
    const winner = await find();
    if (winner !== undefined) return () => repeated(runtime, params, call, scope, winner);
    throw error;
  }
}

/** Returns the error for a client whose task or message could not be stored. */
export function notStored(error: unknown): A2AError {
  const why = error instanceof LogFullError ? 'Too many tasks are unfinished' : undefined;
  return new A2AError('unavailable', why, { retryAfterSeconds: 1 });
}

/** Waits until all entries of the task are stored. Throws the error for the client if they cannot be stored. */
export async function allStored(live: LiveTask): Promise<void> {
  await live.whenStored(live.seq).catch((error: unknown) => {
    throw notStored(error);
  });
}

/** Converts an A2AError from another copy of this package. The executor may have loaded such a copy. */
function asOwn(error: unknown): unknown {
  if (error instanceof A2AError || !(error instanceof Error) || error.name !== 'A2AError')
    return error;
  const { kind, message, detail }: Partial<A2AError> = error;
  if (kind === undefined || !Object.hasOwn(ERRORS, kind)) return error;
  return new A2AError(kind, message, detail);
}

function requestContext(
  { executor }: Runtime,
  params: MessageSendParams,
  call: Call,
  { tenant }: Scope,
  contextId: string,
): RequestContext {
  return {
    message: params.message,
    contextId,
    user: call.user,
    tenant,
    extensions: call.extensions ?? [],
    metadata: params.metadata,
    acceptedOutputModes: params.configuration?.acceptedOutputModes,
    traceparent: executor.readsTraceparent ? validTraceparent(call.traceparent) : undefined,
  };
}

async function begin(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  request: RequestContext,
  reception: Reception | undefined,
  scope: Scope,
  messageIds: readonly string[] | undefined,
): Promise<Started> {
  const { log, push } = runtime;
  const config = push && params.configuration?.pushNotificationConfig;
  const origin = config && (await originOf(runtime, call, undefined, params));
  runtime.checkOpen();
  if (reception?.needsNoPlace !== true) runtime.executions.checkRoom(scope);
  const { contextId } = request;
  const id = uuidv7();
  const message = receivedMessage(request.message, { taskId: id, contextId });
  const turn = [message];
  const task: Task = {
    kind: 'task',
    id,
    contextId,
    status: { state: 'submitted', timestamp: timestamp() },
    history: turn,
  };
  if (reception?.metadata) task.metadata = reception.metadata;
  const live = log.create(scope, task, messageIds, reception?.expiresAt);
  const execution = runtime.executions.claim(live);
  if (live.lost || live.stored === 0) await live.whenStored(live.seq);
  const start = () => execution.start(request, { message, task, turn, resumed: false });
  if (config && origin) {
    try {
      await push.save(id, config, origin, 0);
    } catch (error) {
      using _live = live;
      if (log.cluster) {
        // Another node may already have returned the task to a client that repeated the message, so the task stays.
        start();
        throw error;
      }
      // The client requested a task with a webhook. If the webhook cannot be saved, the task is removed.
      execution.abandon();
      live.lose(new LogLostError('the task was removed'));
      try {
        await runtime.store.delete(scope, id);
      } catch {
        // The store failed again. The next request for the task ends it.
      }
      throw error;
    }
    await push.attach(live);
  }
  start();
  return { live, before: undefined, created: task, after: 0 };
}

/**
 * Handles a message with a context id but no task id. Accepts the message if it answers the only waiting task of this
 * context, and this task waits for input. Otherwise returns undefined, and the caller starts a task.
 */
async function answerByContext(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  scope: Scope,
  messageIds: readonly string[] | undefined,
): Promise<Started | Rest | undefined> {
  const { executor, store } = runtime;
  const { contextId, messageId } = params.message;
  const waiting = async (state: TaskState): Promise<readonly TaskHead[]> =>
    (await store.list({ ...scope, contextId, state, limit: 2, total: false })).heads;
  const [head, other] = await waiting('input-required');
  if (!head || other || (await waiting('auth-required')).length > 0) return undefined;
  const message = { ...params.message, taskId: head.taskId };
  const isAnswer: IsAnswer = (request, task) => executor.answersByContext?.(request, task) === true;
  try {
    return await proceed(runtime, { ...params, message }, call, scope, messageIds, { isAnswer });
  } catch (error) {
    const isOther =
      error instanceof A2AError &&
      (error.kind === 'unsupportedOperation' || error.kind === 'taskNotFound');
    if (!isOther) throw error;
    // The task no longer waits. Another node may have accepted the same message at the same time.
    const winner = messageIds && (await store.findMessage(scope, messageId));
    return winner === undefined ? undefined : repeated(runtime, params, call, scope, winner);
  }
}

/** Returns whether a message answers the task, which waits for input. */
type IsAnswer = (request: RequestContext, task: Task) => boolean;

interface ProceedOptions extends Pick<IntakeOptions, 'isForwarded' | 'users'> {
  /** If set, a message that does not answer a question is refused. */
  readonly isAnswer?: IsAnswer;
}

/**
 * Accepts a message to an existing task. The message answers a question, starts a turn, or goes to the running
 * execution, here or at another node.
 */
async function proceed(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  scope: Scope,
  messageIds: readonly string[] | undefined,
  { isAnswer, isForwarded, users }: ProceedOptions,
): Promise<Started | Rest> {
  const { log, push } = runtime;
  const { message } = params;
  using live = await runtime.open(scope, message.taskId!);
  const { taskId, contextId } = live;
  if (message.contextId !== undefined && message.contextId !== contextId) {
    throw new ContextMismatchError();
  }
  if (live.runsElsewhere && !isAnswer) {
    if (isForwarded) throw new NotOwnerError();
    const held = live.hold();
    return async () => {
      using there = held;
      return await sendElsewhere(runtime, there, params, call, users);
    };
  }
  runtime.executions.checkRoom(scope);
  const request = requestContext(runtime, params, call, scope, contextId);
  const config = push && params.configuration?.pushNotificationConfig;
  let origin: PushOrigin | undefined;
  let loaded = await live.load();
  let reception: Reception | undefined;
  for (;;) {
    // Include the entries that were appended in the meantime, even if they are not stored yet.
    while (loaded && loaded.seq !== live.seq) {
      if (live.unsent?.expected === loaded.seq) loaded = foldOn(loaded, live.unsent.entries);
      else loaded = await live.whenStored(live.seq).then(() => loadTask(live, loaded));
    }
    if (!loaded) throw taskNotFound(taskId);
    const waits = !live.running && live.state === 'input-required';
    if (isAnswer && !(waits && isAnswer(request, loaded.task))) await refuse(live);
    const asked = runtime.executor.receive?.(request, loaded.task);
    reception = asked instanceof Promise ? await asked : asked;
    if (loaded.seq !== live.seq) {
      // The task has changed while `receive` decided. If the running execution does not take the message, the message
      // is refused now. Otherwise, the task could change during each further call of `receive`.
      if (live.running && !reception?.deliver) throw refused(live);
      continue;
    }
    if (!live.running && isUnfinished(live.state) && loaded.turn.length > 0 && log.isPaused(live)) {
      const text = 'The task store failed while the task was executed; the task continues soon';
      throw new A2AError('unavailable', text, { retryAfterSeconds: 1 });
    }
    if (!takes(live, reception) || (isAnswer && live.running)) await refuse(live);
    if (config && !origin) {
      origin = await originOf(runtime, call, live, params);
      await push.checkRoom(taskId, config, origin);
      continue;
    }
    if (live.owned) break;
    // Another node may have appended entries in the meantime.
    if (!(await log.own(live))) throw new LogMovedError('another node executes the task');
  }
  runtime.checkOpen();
  runtime.executions.checkRoom(scope);
  // There is no `await` between the last check and the append, so only one of two concurrent messages finds the task
  // waiting.
  const { task: before, seq: after } = loaded;
  const deliver = live.running ? reception?.deliver : undefined;
  const opensTurn = live.state === 'completed';
  const received = receivedMessage(message, live, reception?.source);
  const status = { state: 'working', timestamp: timestamp() } as const;
  const execution = deliver ? undefined : runtime.executions.claim(live);
  const event: TaskStatusUpdateEvent = {
    kind: 'status-update',
    taskId,
    contextId,
    status: { ...status, message: received },
    final: false,
  };
  if (reception?.metadata) event.metadata = reception.metadata;
  if (!deliver) void log.append(live, event, messageIds);
  const stored = deliver ? log.deliver(live, event, messageIds) : live.whenStored(after + 1);
  deliver?.(received, stored);
  await stored;
  try {
    // If this fails, the client can repeat the message. Then its webhook still gets all events after the message.
    if (config && origin) await push.saveOnce(taskId, config, origin, () => after);
    if (execution || config) await push?.attach(live);
  } finally {
    if (execution) {
      const turn = opensTurn ? [received] : [...loaded.turn, received];
      const task = continued(before, status, received);
      execution.start(request, { message: received, task, turn, resumed: false });
    }
  }
  return { before, after, brief: reception?.brief === true, live: live.hold() };
}

/** Returns the task with the message, for the executor. It is a copy, because the caller folds events into `before`. */
function continued(before: Task, status: Task['status'], received: Message): Task {
  const { message } = before.status;
  const history = [...(before.history ?? []), ...(message ? [message] : []), received];
  const artifacts = before.artifacts?.map((artifact) => ({
    ...artifact,
    parts: [...artifact.parts],
  }));
  return { ...before, status, history, ...(artifacts && { artifacts }) };
}

/**
 * Lets the node that executes the task accept a message. If no other node executes the task any more, throws a
 * LogMovedError. Then `accept` tries again.
 */
async function sendElsewhere(
  { log }: Runtime,
  live: LiveTask,
  params: MessageSendParams,
  call: Call,
  users: UserCodec | undefined,
): Promise<Started> {
  const request = { kind: 'send', params, call: packCall(call, users) } as const;
  const result = await executeElsewhere(log, live, request, call.signal);
  if (result?.after === undefined) throw new LogMovedError('no other node executes the task');
  const { after, repeated = false, brief = false } = result;
  const before = await loadUpTo(after, (from, limit) => live.read(from, limit));
  return { live: live.hold(), before: before?.task, after, repeated, brief };
}

/** Returns whether the task accepts a message in its current state. */
function takes({ running, state }: LiveTask, reception: Reception | undefined): boolean {
  if (running) return reception?.deliver !== undefined;
  // A submitted task that is not being executed waits for its first message.
  if (state === 'submitted' || (state && isInterrupted(state))) return true;
  return state === 'completed' && reception?.continues === true;
}

/** Waits until the task's state is stored, because the error contains it. Then throws `unsupportedOperation`. */
async function refuse(live: LiveTask): Promise<never> {
  // The error is made before the wait, because the task may change during the wait.
  const error = refused(live);
  await live.whenStored(live.seq);
  throw error;
}

function refused({ taskId, state }: LiveTask): A2AError {
  const why =
    state && isTerminal(state)
      ? `The task is ${state} and accepts no more messages`
      : 'The task is being worked on; it accepts a message when it asks for input';
  const info = { taskId, ...(state && { state }) };
  return new A2AError('unsupportedOperation', why, { info });
}

/**
 * Returns the task of a repeated message. Refuses the message if its content differs from the earlier message with the
 * same id.
 */
async function repeated(
  runtime: Runtime,
  params: MessageSendParams,
  call: Call,
  scope: Scope,
  taskId: string,
): Promise<Started> {
  const { message, configuration } = params;
  using live = await runtime.open(scope, taskId);
  const loaded = await live.load();
  if (!loaded) throw taskNotFound(taskId);
  const said = loaded.task.history?.find(({ messageId }) => messageId === message.messageId);
  // Another node may own the task and have accepted the message, although this node still has the task in memory.
  if (!said && runtime.node) throw new LogMovedError('this node has not read the message yet');
  if (!said || !sameContent(message, said)) {
    throw new A2AError(
      'invalidParams',
      'message.messageId: already used for a message with different content',
    );
  }
  const config = configuration?.pushNotificationConfig;
  if (config && runtime.push) {
    const origin = await originOf(runtime, call, live, params);
    // Saving the webhook of the first copy may have failed. So a new webhook gets all events after the message.
    const isFirst = loaded.task.history?.[0] === said;
    const after = () => (isFirst ? 0 : seqBefore(live, message.messageId));
    const isNew = await runtime.push.saveOnce(taskId, config, origin, after);
    if (isNew) await runtime.push.attach(live);
  }
  return { live: live.hold(), before: loaded.task, after: loaded.seq, repeated: true };
}
