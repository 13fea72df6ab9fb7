/**
 * Executes a task by sending it to a remote agent. The remote agent's events become events of our task, with our ids,
 * in our log. So a client can resume its stream at the gateway even if the remote agent does not support resumption,
 * and also after a restart of the gateway.
 *
 * Normally a message is sent only once. After a crash, the gateway follows the remote task again if it has the remote
 * task's id. It compares the remote task with our log to find the events that it missed. If the remote task's id is
 * unknown, the message may or may not have arrived. It is sent again only if the agent recognizes repeated messages by
 * their id (`deduplicates`). For all other agents the task fails.
 */
import { raceAbort, waitAtMost } from '../../base/index.ts';
import {
  Lifetime,
  limitTime,
  RemoteAgentError,
  retrying,
  TaskFollower,
  type FollowedService,
} from '../../client/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  SOURCE_KEY,
  type Call,
  type Message,
  type MessageSendParams,
  type Metadata,
  type Task,
} from '../../protocol/index.ts';
import {
  type AgentExecutor,
  type CancelContext,
  type ExecutionContext,
  type ExecutorEvent,
  type Logger,
  type RequestContext,
} from '../../tasks/index.ts';
import { agentOfTenant, Caller } from '../api/caller.ts';
import { reportedUsage } from '../budgets/reported-usage.ts';
import type { CallUse, Reservation, Spending } from '../budgets/spending.ts';
import { requestMetadata } from '../tasks/executor.ts';
import { type Attribution, logFields, spanAttributes } from '../telemetry/attribution.ts';
import { GEN_AI, GEN_AI_OPERATIONS } from '../telemetry/gen-ai.ts';
import type { Meter, Span, Tracer } from '../telemetry/telemetry.ts';
import { notFound, type Agents } from './agents.ts';
import { noUse, plannedCall, usualUse } from './call-budget.ts';
import { failureWord } from './failure.ts';
import { Reading } from './reading.ts';
import type { RemoteAgent } from './remote.ts';

export interface ProxyOptions {
  readonly agents: Agents;
  readonly spending: Pick<Spending, 'check' | 'reserve'>;
  readonly logger: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

export type ProxyExecutor = Required<Pick<AgentExecutor, 'receive' | 'execute' | 'cancel'>>;

/** An execution in this process. */
interface Running {
  readonly agent: RemoteAgent;
  /** Resolves with the id of the remote task, or with undefined if there is none. */
  readonly remoteTask: PromiseWithResolvers<string | undefined>;
  /** True from the moment when the message may have reached the remote agent. */
  sent: boolean;
}

/** How long a cancellation waits for the id of the remote task. */
const TASK_ID_MS = 3000;
const HISTORY = 100;
const MAX_FRESH = 10_000;
const RETRY = { delayMs: 100, attempts: 6 };

export function proxyExecutor(options: ProxyOptions): ProxyExecutor {
  const { agents, spending, logger, meter, tracer } = options;
  const { links } = agents;
  const runs = new Map<string, Running>();
  /** The ids of new contexts. They have no links yet, so the database does not have to be read for them. */
  const fresh = new Set<string>();

  function agentOf(tenant: string, metadata: Metadata | undefined): string {
    const name = agentOfTenant(tenant) ?? metadata?.['agent'];
    return typeof name === 'string' ? name : '';
  }

  /** Returns the message to send. Our ids in it are replaced by the ids of the remote agent. */
  function paramsFor(context: ExecutionContext, name: string): MessageSendParams {
    const { message, task, turn, contextId } = context;
    const workspace = ownerOf(context);
    const taskId = turn.length > 1 ? links.task(workspace, name, task.id) : undefined;
    const remoteContext = fresh.delete(contextId)
      ? undefined
      : links.context(workspace, name, contextId);
    const references = message.referenceTaskIds
      ?.map((id) => links.task(workspace, name, id))
      .filter((id) => id !== undefined);
    const { referenceTaskIds: _, contextId: _context, taskId: _task, ...rest } = message;
    const sent: Message = { ...rest, messageId: sentId(context) };
    if (taskId !== undefined) sent.taskId = taskId;
    if (remoteContext !== undefined) sent.contextId = remoteContext;
    if (references && references.length > 0) sent.referenceTaskIds = references;
    if (message.metadata?.[SOURCE_KEY] !== undefined) {
      const { [SOURCE_KEY]: _source, ...metadata } = message.metadata;
      sent.metadata = metadata;
    }
    return {
      message: sent,
      configuration: { historyLength: 0 },
      ...(context.metadata && { metadata: context.metadata }),
    };
  }

  /**
   * Returns the message to send after a crash, or undefined if the remote agent already has it. Throws UnknownOutcome
   * if it is unknown whether the agent has it.
   */
  async function outgoing(
    context: ExecutionContext,
    agent: RemoteAgent,
    service: FollowedService,
    call: Call & { readonly signal: AbortSignal },
  ): Promise<MessageSendParams | undefined> {
    const params = paramsFor(context, agent.name);
    const id = links.task(ownerOf(context), agent.name, context.task.id);
    if (id === undefined) {
      if (agent.settings.deduplicates === true) return params;
      throw new UnknownOutcome();
    }
    if (context.turn.length === 1) return undefined;
    // The process died while it was sending an answer. If the remote task still waits for the answer, the answer did
    // not arrive.
    const task = await retrying(
      () => service.getTask({ id, historyLength: HISTORY }, call),
      call.signal,
    );
    return waitsStill(task, context) ? params : undefined;
  }

  /** Connects to the agent, and creates the follower and the reader of its events. */
  async function prepare(
    context: ExecutionContext,
    agent: RemoteAgent,
    signal: AbortSignal,
    span: Span | undefined,
  ) {
    // A resumed task can wait until its agent is available again, so the connection is retried. A new task fails at
    // once.
    const found = context.resumed ? retrying(() => agent.connect(), signal) : agent.connect();
    const { open, streams, extensions } = found instanceof Promise ? await found : found;
    const service = open();
    const active = context.extensions.filter((uri) => extensions.includes(uri));
    const traceparent = span?.traceparent ?? traceOf(context);
    const call = {
      ...(active.length > 0 && { extensions: active }),
      ...(traceparent !== undefined && { headers: { traceparent } }),
      signal,
    };
    const params = context.resumed
      ? await outgoing(context, agent, service, call)
      : paramsFor(context, agent.name);
    const { name, limits, settings } = agent;
    const workspace = ownerOf(context);
    const known = context.resumed ? links.task(workspace, name, context.task.id) : undefined;
    const remoteTaskId = params?.message.taskId ?? known;
    const isAnswer = params?.message.taskId !== undefined;
    const reading = new Reading(limits, {
      task: context.task,
      remoteTaskId,
      remoteContextId: params
        ? params.message.contextId
        : links.context(workspace, name, context.contextId),
      sends: !params ? 'nothing' : isAnswer ? 'answer' : 'message',
    });
    const resends = streams && settings.deduplicates === true;
    const follower = new TaskFollower({
      service,
      call,
      signal,
      streams,
      polls: true,
      retry: RETRY,
      from: params
        ? {
            params: streams ? params : notBlocking(params),
            checksTask: true,
            // An answer is sent again if the agent is unreachable, because the agent may be restarting.
            resend: ({ reason }, failures) =>
              isAnswer
                ? reason === 'unreachable'
                : resends && (failures > 0 || reason !== 'unreachable'),
          }
        : { taskId: remoteTaskId ?? '' },
    });
    signal.throwIfAborted();
    return { reading, follower, service, call, sends: params !== undefined };
  }

  // This is deliberately a single generator. Each nested generator would add as much time per event as all other work
  // together.
  async function* execute(context: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const { task, contextId, signal } = context;
    const workspace = ownerOf(context);
    const name = agentOf(context.tenant, task.metadata);
    const agent = agents.find(workspace, name);
    if (!agent) {
      yield failed(`The agent ${name} no longer exists.`);
      return;
    }
    let reservation: Reservation;
    try {
      reservation = await spending.reserve(plannedCall(context, agent, task.id));
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      yield failed(error.message);
      return;
    }
    let used: CallUse | undefined;
    const running: Running = { agent, remoteTask: Promise.withResolvers(), sent: false };
    const lifetime = new Lifetime();
    const onAbort = () => {
      if (!running.sent) return lifetime.end(signal.reason);
      void waitAtMost(TASK_ID_MS, running.remoteTask.promise).then(() =>
        lifetime.end(signal.reason),
      );
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    limitTime(lifetime, agent.limits);
    const attribution = attributionOf(context);
    const span = startSpan(tracer, context, name);
    const begun = performance.now();
    runs.set(task.id, running);
    let outcome = 'ok';
    let remoteTaskId: string | undefined;
    try {
      const prepared = await prepare(context, agent, lifetime.signal, span);
      const { reading, follower, service, call, sends } = prepared;
      let remoteContextId = reading.contextId;
      remoteTaskId = reading.taskId;
      if (remoteTaskId !== undefined) running.remoteTask.resolve(remoteTaskId);
      running.sent = sends;
      let answered = false;
      let resumed = !sends;
      for (let items = await follower.next(); items; items = await follower.next()) {
        if (resumed) reading.doubt();
        resumed = true;
        try {
          for await (const item of items) {
            if (!follower.accepts(item)) continue;
            const events = reading.take(item.event);
            if (!answered) {
              answered = true;
              const seconds = (performance.now() - begun) / 1000;
              meter?.observe('parley_agent_call_duration_seconds', {}, seconds);
            }
            if (reading.taskId !== remoteTaskId || reading.contextId !== remoteContextId) {
              remoteTaskId = reading.taskId;
              remoteContextId = reading.contextId;
              // Save the link before a client sees an event, so that the remote task can be found again after a crash.
              await links
                .save({
                  taskId: task.id,
                  workspace,
                  agent: name,
                  contextId,
                  remoteTaskId,
                  remoteContextId,
                })
                .catch((cause: unknown) => {
                  throw new LinkNotSaved('', { cause });
                });
              running.remoteTask.resolve(remoteTaskId);
            }
            if (events.length === 0) continue;
            lifetime.wait(true);
            if (reading.settled && reading.doubtful && remoteTaskId !== undefined) {
              const whole = await wholeTask(service, remoteTaskId, call);
              if (whole) for (const missed of reading.compare(whole)) yield missed;
            }
            for (const each of events) used = reportedUsage(each) ?? used;
            if (events.length === 1) yield events[0]!;
            else for (const each of events) yield each;
            if (reading.settled) return;
          }
        } catch (error) {
          follower.failed(error);
        }
        for (const each of reading.finish()) yield each;
        if (reading.settled) return;
      }
      throw new RemoteAgentError('remote-invalid', 'its stream ended, but its task has not ended');
    } catch (error) {
      if (signal.aborted) {
        outcome = 'canceled';
        throw error;
      }
      const why: unknown = lifetime.signal.aborted ? lifetime.signal.reason : error;
      outcome = failureWord(why);
      span?.fail(outcome);
      logger.warn(
        { ...logFields(attribution), err: why, agent: name },
        'a remote agent failed to execute a task',
      );
      // Our task fails, so the remote agent's work is no longer needed.
      void cancelRemote(agent, remoteTaskId);
      yield failed(why instanceof OwnFailure ? why.line(name) : agent.explain(why));
    } finally {
      lifetime.release();
      signal.removeEventListener('abort', onAbort);
      running.remoteTask.resolve(undefined);
      if (runs.get(task.id) === running) runs.delete(task.id);
      const failed = outcome !== 'ok' && outcome !== 'canceled';
      if (running.sent || used) reservation.settle({ ...(used ?? usualUse(agent)), failed });
      else if (failed) reservation.settle({ ...noUse(agent), failed });
      else reservation.release();
      span?.end();
      meter?.count('parley_agent_calls_total', { outcome });
      const ms = Math.round(performance.now() - begun);
      logger.info({ ...logFields(attribution), agent: name, outcome, ms, ...used }, 'agent call');
    }
  }

  /** Returns the remote task, or undefined if it is unavailable. In that case, our log is not compared with it. */
  async function wholeTask(
    service: FollowedService,
    id: string,
    call: Call & { readonly signal: AbortSignal },
  ): Promise<Task | undefined> {
    try {
      return await retrying(() => service.getTask({ id, historyLength: 0 }, call), call.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      logger.warn({ err: error }, "failed to compare our log with a remote agent's task");
      return undefined;
    }
  }

  async function cancelRemote(agent: RemoteAgent, id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const signal = AbortSignal.timeout(agent.limits.cancelMs);
    try {
      const { open } = await raceAbort(agent.connect(), signal);
      await open().cancelTask({ id }, { signal });
    } catch (error) {
      if (error instanceof A2AError && error.kind === 'taskNotCancelable') return;
      logger.warn({ err: error, agent: agent.name }, "failed to cancel a remote agent's task");
    }
  }

  function checkAnswer(context: RequestContext, task: Task, name: string): undefined {
    const workspace = ownerOf(context);
    const { state } = task.status;
    // No check is needed, because the runtime refuses messages to a finished task.
    if (isTerminal(state)) return;
    if (!agents.find(workspace, name)) {
      throw new A2AError('unavailable', `The agent ${name} no longer exists`);
    }
    // If another agent now has this name, it would treat the answer as a new request.
    if (isInterrupted(state) && links.task(workspace, name, task.id) === undefined) {
      throw new A2AError(
        'unsupportedOperation',
        `The agent that is now registered as ${name} did not ask this question. Cancel the task and start a new one`,
      );
    }
  }

  return {
    receive(context, task) {
      const name = agentOf(context.tenant, task ? task.metadata : requestMetadata(context));
      if (context.user instanceof Caller) context.user.need('agents:use');
      if (task) return checkAnswer(context, task, name);
      if (name === '')
        throw new A2AError('invalidParams', 'metadata.agent must be the name of an agent');
      const agent = agents.find(ownerOf(context), name);
      if (!agent) throw notFound(name);
      if (context.message.contextId === undefined) {
        if (fresh.size >= MAX_FRESH) fresh.clear();
        fresh.add(context.contextId);
      }
      return spending.check(plannedCall(context, agent)).then(() => undefined);
    },
    execute,
    async cancel(taskId, context) {
      const workspace = ownerOf(context);
      const running = runs.get(taskId);
      let id: string | undefined;
      if (running) {
        await waitAtMost(
          TASK_ID_MS,
          running.remoteTask.promise.then((found) => (id = found)),
        );
      }
      const name = agentOf(context.tenant, context.task.metadata);
      // A running task belongs to the agent that it started with, even if this agent has since been removed.
      const agent = running?.agent ?? agents.find(workspace, name);
      if (agent) await cancelRemote(agent, id ?? links.task(workspace, name, taskId));
    },
  };
}

/** A failure of the gateway itself, not of the agent. */
abstract class OwnFailure extends Error {
  abstract line(agent: string): string;
}

class LinkNotSaved extends OwnFailure {
  line(agent: string): string {
    return `The gateway could not store the id of the task at the agent ${agent}, so it stopped this task. Try again later.`;
  }
}

/** Thrown if it is unknown whether the agent received the message. */
class UnknownOutcome extends OwnFailure {
  line(agent: string): string {
    return `The gateway was restarted before the agent ${agent} answered. The message may have arrived, so it was not sent again.`;
  }
}

function failed(message: string): ExecutorEvent {
  return { kind: 'status-update', state: 'failed', message };
}

/** Returns the workspace that owns the task. In the gateway, the user's id is the workspace. */
function ownerOf({ user }: Pick<CancelContext, 'user'>): string {
  return user?.id ?? '';
}

/**
 * Returns the id of the message to the agent. It is the same for each attempt. The caller's own id is not used: two
 * workspaces may use the same id, and the agent would treat the second message as a repetition of the first.
 */
function sentId({ task, turn }: Pick<ExecutionContext, 'task' | 'turn'>): string {
  return turn.length === 1 ? task.id : `${task.id}.${turn.length}`;
}

/** Whether the remote task still waits for the answer to the last question in our log. */
function waitsStill(remote: Task, context: ExecutionContext): boolean {
  const { state, message } = remote.status;
  const asked = context.task.history?.findLast(({ role }) => role === 'agent');
  const got = remote.history?.some(({ messageId }) => messageId === sentId(context)) === true;
  return isInterrupted(state) && !got && message?.messageId === asked?.messageId;
}

/**
 * Returns parameters that make the agent respond at once with the task's id. The id is needed to resume or cancel the
 * task.
 */
function notBlocking(params: MessageSendParams): MessageSendParams {
  return { ...params, configuration: { ...params.configuration, blocking: false } };
}

function traceOf({ user }: Pick<ExecutionContext, 'user'>): string | undefined {
  return user instanceof Caller ? user.traceparent : undefined;
}

function attributionOf({ user, task, contextId }: ExecutionContext): Attribution {
  const caller = user instanceof Caller ? user : { workspace: user?.id ?? '' };
  return { caller, contextId, taskId: task.id };
}

function startSpan(
  tracer: Tracer | undefined,
  context: ExecutionContext,
  name: string,
): Span | undefined {
  return tracer?.start(`${GEN_AI_OPERATIONS.invokeAgent} ${name}`, {
    kind: 'client',
    parent: traceOf(context),
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.invokeAgent,
      [GEN_AI.provider]: 'a2a',
      [GEN_AI.agentName]: name,
      ...spanAttributes(attributionOf(context)),
    },
  });
}
