/**
 * Executes a task by sending it to a remote agent. The remote agent's events become events of our task, with our ids,
 * in our log. So a client can resume its stream at the gateway, even if the remote agent does not support resumption,
 * and even after a restart of the gateway.
 *
 * Normally a message is sent only once. After a crash or a broken connection, the gateway follows the remote task again
 * if it has the remote task's id. It compares the remote task with our log to find the events that are missing. If the
 * remote task's id is unknown, the message may or may not have arrived. It is sent again only if the agent recognizes
 * repeated messages by their id (`deduplicates`). For all other agents the task fails. A later message of a task, such
 * as the answer to a question, is also sent again in two cases: the agent was unreachable, or the remote task still
 * waits for this message after a crash.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  andThen,
  ChurnMap,
  Later,
  type MaybePromise,
  raceAbort,
  waitAtMost,
} from '../../base/index.ts';
import {
  ConnectionError,
  Lifetime,
  limitTime,
  RemoteAgentError,
  retrying,
  type FollowedService,
  type Items,
} from '../../client/index.ts';
import {
  A2AError,
  isInterrupted,
  isTerminal,
  type Call,
  type Metadata,
  type Task,
} from '../../protocol/index.ts';
import {
  type AgentExecutor,
  type ExecutionContext,
  type ExecutorEvent,
  type Logger,
  type RequestContext,
} from '../../tasks/index.ts';
import { agentOfTenant, Caller } from '../api/caller.ts';
import { reportedUsage } from '../budgets/reported-usage.ts';
import type { Reservation, Spending } from '../budgets/spending.ts';
import type { CallUse } from '../budgets/calls.ts';
import { requestMetadata } from '../tasks/executor.ts';
import { type Attribution, logFields, spanAttributes } from '../telemetry/attribution.ts';
import { GEN_AI, GEN_AI_OPERATIONS } from '../../base/tracing/index.ts';
import type { Meter, Span, Tracer } from '../telemetry/telemetry.ts';
import type { Agents } from './agents.ts';
import { noUse, plannedCall, usualUse } from './call-budget.ts';
import { failureReason, failureWord, isBeforeWork, LinkNotSaved, OwnFailure } from './failure.ts';
import { EventQueue } from './event-queue.ts';
import { Exchange, type ItemReader } from './exchange.ts';
import { createOutgoing } from './outgoing.ts';
import { callOf, createPrepare, ownerOf, traceOf } from './prepare.ts';
import type { RemoteAgent } from './remote.ts';
import type { Link } from './task-links.ts';
import { callerOf, checkPassedOn, type Sender } from './sender.ts';

export interface ProxyOptions {
  readonly agents: Agents;
  readonly spending: Pick<Spending, 'check' | 'reserve' | 'resume'>;
  readonly logger: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

export type ProxyExecutor = Required<Pick<AgentExecutor, 'receive' | 'execute' | 'cancel'>>;

/** An execution in this process. */
interface Running {
  readonly agent: RemoteAgent;
  /** Resolves with the id of the remote task, or with undefined if there is none. */
  readonly remoteTask: Later<string | undefined>;
  /**
   * Whether this process has begun to send the message. Reset if the agent has certainly done no work for this message.
   */
  sent: boolean;
  /** The headers and extensions of the requests to the agent, once they are known. */
  call?: Pick<Call, 'headers' | 'extensions'>;
  /**
   * True if the task was canceled or has expired. Stays false when the gateway shuts down, because the next process
   * resumes the task.
   */
  canceled: boolean;
}

/** How long a cancellation or a shutdown waits for the id of the remote task. */
const TASK_ID_MS = 3000;

export function proxyExecutor(options: ProxyOptions): ProxyExecutor {
  const { agents, spending, logger, meter, tracer } = options;
  const { links } = agents;
  const runs = new ChurnMap<string, Running>();
  const outgoing = createOutgoing(links);
  const prepare = createPrepare(links, outgoing);

  function agentOf(tenant: string, metadata: Metadata | undefined): string {
    const name = agentOfTenant(tenant) ?? metadata?.['agent'];
    return typeof name === 'string' ? name : '';
  }

  async function run(context: ExecutionContext, out: EventQueue<ExecutorEvent>): Promise<void> {
    const { task, contextId, signal } = context;
    const workspace = ownerOf(context);
    const name = agentOf(context.tenant, task.metadata);
    const agent = agents.find(workspace, name);
    if (!agent) {
      return out.push(failed(name, 'AGENT_REMOVED', `The agent ${name} no longer exists.`));
    }
    let before: Sender | undefined;
    let caller: Attribution['caller'];
    let reservation: Reservation;
    try {
      if (context.resumed || context.turn.length > 1) {
        before = await links.sender(workspace, name, task.id);
      }
      caller = callerOf(context, before);
      const planned = plannedCall(caller, agent, contextId, task.id);
      const made = context.resumed ? spending.resume(planned) : spending.reserve(planned);
      reservation = made instanceof Promise ? await made : made;
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      const reason = error.detail.reason ?? 'GATEWAY_UNAVAILABLE';
      return out.push(failed(name, reason, error.message));
    }
    let used: CallUse | undefined;
    const running: Running = {
      agent,
      remoteTask: new Later(),
      sent: false,
      canceled: false,
    };
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
    const attribution = { caller, contextId, taskId: task.id };
    const span = startSpan(tracer, attribution, name, traceOf(context));
    const begun = performance.now();
    runs.set(task.id, running);
    let outcome = 'ok';
    let answered = false;
    /** True if the remote task has settled before the reader of `out` left. Our log then gets the settling event. */
    let hasEnded = false;
    let remoteTaskId: string | undefined;
    try {
      const preparing = prepare(context, agent, before, lifetime.signal, span);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      const { reading, follower, service, call, sends, sender } = prepared;
      const link = { taskId: task.id, workspace, agent: name, contextId, sender };
      running.call = call;
      let remoteContextId = reading.contextId;
      remoteTaskId = reading.taskId;
      if (remoteTaskId !== undefined) running.remoteTask.resolve(remoteTaskId);

      const onLeft = () => {
        if (reading.settled) return;
        lifetime.end(new ConnectionError('closed', 'the execution has ended'));
      };
      out.onLeft = onLeft;
      const pass = (events: readonly ExecutorEvent[]): MaybePromise<boolean> => {
        if (events.length === 0) return true;
        lifetime.wait(true);
        hasEnded ||= reading.settled && !out.isOver;
        for (const each of events) used = reportedUsage(each) ?? used;
        if (reading.settled && reading.doubtful && remoteTaskId !== undefined) {
          return wholeTask(service, remoteTaskId, call).then((whole) => {
            if (whole) for (const missed of reading.compare(whole)) out.push(missed);
            for (const each of events) out.push(each);
            return false;
          });
        }
        for (const each of events) out.push(each);
        return !reading.settled;
      };
      const reader: ItemReader = {
        isReady: () => out.wanted,
        take(item) {
          if (!follower.accepts(item)) return true;
          const events = reading.take(item.event);
          if (!answered) {
            answered = true;
            const seconds = (performance.now() - begun) / 1000;
            meter?.observe('parley_agent_call_duration_seconds', {}, seconds);
          }
          if (reading.taskId === remoteTaskId && reading.contextId === remoteContextId) {
            return pass(events);
          }
          remoteTaskId = reading.taskId;
          remoteContextId = reading.contextId;
          // Save the link between our task and the remote task before a client sees an event. So the remote task can be
          // found after a crash.
          const isOver = reading.hasEnded;
          return saved({ ...link, remoteTaskId, remoteContextId, isOver }).then(() => {
            running.remoteTask.resolve(remoteTaskId);
            return pass(events);
          });
        },
      };

      if (prepared.savesFirst) await saved({ ...link, remoteTaskId, remoteContextId });
      running.sent = sends;
      let resumed = !sends;
      for (let items = await follower.next(); items; items = await follower.next()) {
        if (resumed) reading.doubt();
        resumed = true;
        try {
          await readAll(items, reader, out);
        } catch (error) {
          follower.failed(error);
        }
        if (reading.settled || out.isOver) return;
        const rest = reading.finish();
        hasEnded ||= reading.settled && !out.isOver;
        for (const each of rest) out.push(each);
        if (reading.settled) return;
      }
      throw new RemoteAgentError('remote-invalid', 'its stream ended, but its task has not ended');
    } catch (error) {
      if (signal.aborted) {
        outcome = 'canceled';
        throw error;
      }
      if (out.isOver) return;
      const why: unknown = lifetime.signal.aborted ? lifetime.signal.reason : error;
      outcome = failureWord(why);
      if (!answered && isBeforeWork(why)) running.sent = false;
      span?.fail(outcome);
      logger.warn(
        { ...logFields(attribution), err: why, agent: name },
        'a remote agent failed to execute a task',
      );
      // Our task fails, so the remote agent's work is no longer needed.
      void cancelRemote(agent, remoteTaskId, running.call);
      const line = why instanceof OwnFailure ? why.line(name) : agent.explain(why);
      out.push(failed(name, failureReason(why), line));
    } finally {
      lifetime.release();
      signal.removeEventListener('abort', onAbort);
      running.remoteTask.resolve(undefined);
      if (runs.get(task.id) === running) runs.delete(task.id);
      // An earlier process made the call of a resumed task. If the gateway shuts down before the remote task has
      // settled, the call is not counted here, even if the agent has already reported usage: the next process continues
      // the call and counts it.
      const made = running.sent || context.resumed;
      const hasFailed = outcome !== 'ok' && outcome !== 'canceled';
      const isLeft = made && signal.aborted && !running.canceled && !hasEnded;
      if (made && !isLeft) {
        reservation.settle({ ...(used ?? usualUse(agent)), failed: hasFailed });
      } else if (hasFailed) reservation.settle({ ...noUse(agent), failed: true });
      else if (!isLeft) reservation.release();
      span?.end();
      meter?.count('parley_agent_calls_total', { outcome });
      const ms = Math.round(performance.now() - begun);
      logger.info({ ...logFields(attribution), agent: name, outcome, ms, ...used }, 'agent call');
    }
  }

  /** Returns the remote task for the comparison with our log, or undefined if the remote task is unavailable. */
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

  function saved(link: Link): Promise<void> {
    return links.save(link).catch((cause: unknown) => {
      throw new LinkNotSaved('', { cause });
    });
  }

  async function cancelRemote(
    agent: RemoteAgent,
    id: string | undefined,
    call: Pick<Call, 'headers' | 'extensions'> | undefined,
  ): Promise<void> {
    if (id === undefined) return;
    const signal = AbortSignal.timeout(agent.limits.cancelMs);
    try {
      const { service } = await raceAbort(agent.connect(), signal);
      const { headers, extensions } = call ?? {};
      await service.cancelTask({ id }, { headers, extensions, signal });
    } catch (error) {
      if (error instanceof A2AError && error.kind === 'taskNotCancelable') return;
      logger.warn({ err: error, agent: agent.name }, "failed to cancel a remote agent's task");
    }
  }

  function checkAnswer(context: RequestContext, task: Task, name: string): MaybePromise<undefined> {
    const workspace = ownerOf(context);
    const { state } = task.status;
    // Messages to a finished task need no check here, because tasks/intake.ts refuses them.
    if (isTerminal(state)) return undefined;
    const agent = agents.find(workspace, name);
    if (!agent) throw new A2AError('unavailable', `The agent ${name} no longer exists`);
    checkPassedOn(context, agent);
    if (!isInterrupted(state)) return undefined;
    return andThen(links.task(workspace, name, task.id), (id) => {
      if (id !== undefined) return undefined;
      // Without a link, the name may now belong to another agent, which would treat the answer as a new request.
      throw new A2AError(
        'unsupportedOperation',
        `The agent that is now registered as ${name} did not ask this question. Cancel the task and start a new one`,
      );
    });
  }

  return {
    receive(context, task) {
      const { tenant } = context;
      const settings = agentOfTenant(tenant) === undefined ? ['agent'] : [];
      const name = agentOf(tenant, task ? task.metadata : requestMetadata(context, settings));
      if (!(context.user instanceof Caller)) throw new A2AError('unauthenticated');
      context.user.need('agents:use');
      if (task) return checkAnswer(context, task, name);
      if (name === '')
        throw new A2AError('invalidParams', 'metadata.agent must be the name of an agent');
      const agent = agents.need(ownerOf(context), name);
      checkPassedOn(context, agent);
      if (context.message.contextId === undefined) outgoing.markNew(context.contextId);
      const checked = spending.check(plannedCall(callerOf(context), agent, context.contextId));
      return checked instanceof Promise ? checked.then(() => undefined) : undefined;
    },
    execute: (context) => new EventQueue<ExecutorEvent>((out) => run(context, out)),
    async cancel(taskId, context) {
      const workspace = ownerOf(context);
      const running = runs.get(taskId);
      let id: string | undefined;
      if (running) {
        running.canceled = true;
        await waitAtMost(
          TASK_ID_MS,
          running.remoteTask.promise.then((found) => (id = found)),
        );
      }
      const name = agentOf(context.tenant, context.task.metadata);
      // A running task belongs to the agent that it started with, even if this agent has since been removed.
      const agent = running?.agent ?? agents.find(workspace, name);
      if (!agent) return;
      id ??= await links.task(workspace, name, taskId);
      const call = running?.call ?? callOf(agent, await links.sender(workspace, name, taskId));
      await cancelRemote(agent, id, call);
    },
  };
}

/** Passes the items of a connection to the reader. Ends when there are no more items, or the reader wants no more. */
async function readAll(
  items: Items,
  reader: ItemReader,
  out: EventQueue<ExecutorEvent>,
): Promise<void> {
  if (!(items instanceof Exchange)) {
    for await (const item of items) if (!(await reader.take(item))) return;
    return;
  }
  const onWanted = () => items.more();
  out.onWanted = onWanted;
  await items.each(reader);
}

/** Returns the last status of a task that the gateway or the agent failed to execute. */
function failed(agent: string, reason: string, text: string): ExecutorEvent {
  return {
    kind: 'status-update',
    state: 'failed',
    message: {
      kind: 'message',
      messageId: randomUUIDv7(),
      role: 'agent',
      parts: [{ kind: 'text', text }],
      metadata: { reason, agent },
    },
  };
}

function startSpan(
  tracer: Tracer | undefined,
  attribution: Attribution,
  name: string,
  parent: string | undefined,
): Span | undefined {
  return tracer?.start(`${GEN_AI_OPERATIONS.invokeAgent} ${name}`, {
    kind: 'client',
    parent,
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.invokeAgent,
      [GEN_AI.provider]: 'a2a',
      [GEN_AI.agentName]: name,
      ...spanAttributes(attribution),
    },
  });
}
