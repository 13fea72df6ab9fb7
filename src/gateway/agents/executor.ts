/**
 * Works on a task by having a remote agent work on one of its own: what the remote says becomes our task's events, with
 * our ids, in our log. So a client resumes its stream here even where the remote cannot, and does not notice when the
 * gateway is restarted in the middle.
 *
 * A message is sent once. After a crash, a task whose remote twin is known is followed again, and what was missed is
 * found by comparing the twin with our log. Where none is known the message may have arrived: only an agent that is
 * said to know a message by its id gets it again, for all others the task fails and says why.
 */
import { raceAbort, waitAtMost } from '../../base/index.ts';
import { RemoteAgentError } from '../../bridge/index.ts';
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
import { requestMetadata } from '../tasks/executor.ts';
import { GEN_AI, GEN_AI_OPERATIONS } from '../telemetry/gen-ai.ts';
import type { Meter, Span, Tracer } from '../telemetry/telemetry.ts';
import { notFound, type Agents } from './agents.ts';
import { failureWord } from './failure.ts';
import { RemoteItems } from './items.ts';
import { LineService, type RemoteService } from './line.ts';
import { Patience, patiently } from './patience.ts';
import { Reading } from './reading.ts';
import type { Connected, RemoteAgent } from './remote.ts';

export interface ProxyOptions {
  readonly agents: Agents;
  readonly logger: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

export type ProxyExecutor = Required<Pick<AgentExecutor, 'receive' | 'execute' | 'cancel'>>;

/** An execution in this process. */
interface Running {
  readonly agent: RemoteAgent;
  /** Resolves once it is known which task the remote made of it, or that there will be none. */
  readonly twin: PromiseWithResolvers<string | undefined>;
  /** From here on the remote may have the message. */
  sent: boolean;
}

/** Who stops before the remote has said what its task is called waits so long for it, to be able to find it again. */
const TWIN_MS = 3000;
const HISTORY = 100;
const MAX_FRESH = 10_000;

export function proxyExecutor({ agents, logger, meter, tracer }: ProxyOptions): ProxyExecutor {
  const { links } = agents;
  const runs = new Map<string, Running>();
  /** Contexts that were made a moment ago, so that there is nothing to look up about them. */
  const fresh = new Set<string>();

  function agentOf(tenant: string, metadata: Metadata | undefined): string {
    const name = agentOfTenant(tenant) ?? metadata?.['agent'];
    return typeof name === 'string' ? name : '';
  }

  /** The task that the message is to begin, or the remote's own that it is for. */
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

  /** What to send after a crash: nothing where the remote has the message already. Throws where nobody knows. */
  async function outgoing(
    context: ExecutionContext,
    agent: RemoteAgent,
    service: RemoteService,
    call: Call,
  ): Promise<MessageSendParams | undefined> {
    const params = paramsFor(context, agent.name);
    const twin = links.task(ownerOf(context), agent.name, context.task.id);
    if (twin === undefined) {
      if (agent.settings.deduplicates === true) return params;
      throw new UnknownOutcome();
    }
    if (context.turn.length === 1) return undefined;
    // An answer was on its way when the process died: one that still waits for it has not got it.
    const ask = () => service.getTask({ id: twin, historyLength: HISTORY }, call);
    const task = await patiently(ask, call.signal);
    return waitsStill(task, context) ? params : undefined;
  }

  /** Everything that is needed before the first byte goes out. */
  async function prepare(
    context: ExecutionContext,
    agent: RemoteAgent,
    signal: AbortSignal,
    span: Span | undefined,
  ): Promise<{
    reading: Reading;
    items: RemoteItems;
    service: RemoteService;
    call: Call;
    sends: boolean;
  }> {
    const found = connected(agent, context.resumed, signal);
    const { line, streams, extensions } = found instanceof Promise ? await found : found;
    const service = new LineService(line);
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
    const workspace = ownerOf(context);
    const { taskId } = params?.message ?? {};
    const reading = new Reading(agent.limits, {
      task: context.task,
      remoteTaskId:
        taskId ??
        (context.resumed ? links.task(workspace, agent.name, context.task.id) : undefined),
      remoteContextId: params
        ? params.message.contextId
        : links.context(workspace, agent.name, context.contextId),
      sends: !params ? 'nothing' : taskId === undefined ? 'message' : 'answer',
    });
    const deduplicates = agent.settings.deduplicates === true;
    const items = new RemoteItems({ service, streams, params, deduplicates, call, reading });
    signal.throwIfAborted();
    return { reading, items, service, call, sends: params !== undefined };
  }

  // One generator, because each one more costs as much as the rest of an event.
  async function* execute(context: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const { task, contextId, signal } = context;
    const workspace = ownerOf(context);
    const name = agentOf(context.tenant, task.metadata);
    const agent = agents.find(workspace, name);
    if (!agent) {
      yield failed(`There is no agent ${name} any more.`);
      return;
    }
    const running: Running = { agent, twin: Promise.withResolvers(), sent: false };
    const stop = new AbortController();
    const onAbort = () => {
      if (!running.sent) return stop.abort(signal.reason);
      void waitAtMost(TWIN_MS, running.twin.promise).then(() => stop.abort(signal.reason));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const patience = new Patience(agent.limits, (reason) => stop.abort(reason));
    const span = startSpan(tracer, context, name);
    const begun = performance.now();
    runs.set(task.id, running);
    let outcome = 'ok';
    let twin: string | undefined;
    try {
      const { reading, items, service, call, sends } = await prepare(
        context,
        agent,
        stop.signal,
        span,
      );
      let remoteContext = reading.contextId;
      twin = reading.taskId;
      if (twin !== undefined) running.twin.resolve(twin);
      running.sent = sends;
      let answered = false;
      for (let some = await items.next(); some; some = await items.next()) {
        try {
          for await (const { event, seq } of some) {
            if (seq !== undefined) items.seen(seq);
            const events = reading.take(event);
            if (!answered) {
              answered = true;
              const seconds = (performance.now() - begun) / 1000;
              meter?.observe('parley_agent_call_duration_seconds', {}, seconds);
            }
            if (reading.taskId !== twin || reading.contextId !== remoteContext) {
              twin = reading.taskId;
              remoteContext = reading.contextId;
              const remote = { remoteTaskId: twin, remoteContextId: remoteContext };
              // Before anything of it is shown: what a client has seen must be found again after a crash.
              await links
                .save({ taskId: task.id, workspace, agent: name, contextId, ...remote })
                .catch((cause: unknown) => {
                  throw new NotNoted('', { cause });
                });
              running.twin.resolve(twin);
            }
            if (events.length === 0) continue;
            patience.news();
            if (reading.settled && reading.doubtful && twin !== undefined) {
              const whole = await wholeTask(service, twin, call);
              if (whole) for (const missed of reading.compare(whole)) yield missed;
            }
            if (events.length === 1) yield events[0]!;
            else for (const each of events) yield each;
            if (reading.settled) return;
          }
        } catch (error) {
          stop.signal.throwIfAborted();
          items.failed(error);
        }
        for (const each of reading.finish()) yield each;
        if (reading.settled) return;
      }
      throw new RemoteAgentError('remote-invalid', 'its stream ended before its task');
    } catch (error) {
      if (signal.aborted) {
        outcome = 'canceled';
        throw error;
      }
      const why: unknown = stop.signal.aborted ? stop.signal.reason : error;
      outcome = failureWord(why);
      span?.fail(outcome);
      logger.warn({ err: why, agent: name, taskId: task.id }, 'an agent did not do its task');
      // Nobody will ever see what it goes on with.
      void tellCanceled(agent, twin);
      yield failed(why instanceof OwnFailure ? why.line(name) : agent.explain(why));
    } finally {
      patience.over();
      signal.removeEventListener('abort', onAbort);
      running.twin.resolve(undefined);
      if (runs.get(task.id) === running) runs.delete(task.id);
      span?.end();
      meter?.count('parley_agent_calls_total', { outcome });
    }
  }

  /** Undefined where it does not say: how its task ended is known nevertheless. */
  async function wholeTask(
    service: RemoteService,
    id: string,
    call: Call,
  ): Promise<Task | undefined> {
    try {
      const ask = () => service.getTask({ id, historyLength: 0 }, call);
      return await patiently(ask, call.signal);
    } catch (error) {
      call.signal?.throwIfAborted();
      logger.warn({ err: error }, 'what an agent said cannot be compared with its task');
      return undefined;
    }
  }

  async function tellCanceled(agent: RemoteAgent, id: string | undefined): Promise<void> {
    if (id === undefined) return;
    const signal = AbortSignal.timeout(agent.limits.cancelMs);
    try {
      const { line } = await raceAbort(agent.connect(), signal);
      await new LineService(line).cancelTask({ id }, { signal });
    } catch (error) {
      const gone = error instanceof A2AError && error.kind === 'taskNotCancelable';
      if (!gone)
        logger.warn(
          { err: error, agent: agent.name },
          'an agent could not be told of a cancellation',
        );
    }
  }

  function checkAnswer(context: RequestContext, task: Task, name: string): undefined {
    const workspace = ownerOf(context);
    const { state } = task.status;
    // The runtime refuses messages to a finished task.
    if (isTerminal(state)) return;
    if (!agents.find(workspace, name)) {
      throw new A2AError('unavailable', `The agent ${name} is not there any more`);
    }
    // As a message of its own, an answer would begin something that nobody asked for.
    if (isInterrupted(state) && links.task(workspace, name, task.id) === undefined) {
      throw new A2AError(
        'unsupportedOperation',
        `The agent ${name} is another one than the one that asked: cancel the task, or leave it`,
      );
    }
  }

  return {
    receive(context, task) {
      const name = agentOf(context.tenant, task ? task.metadata : requestMetadata(context));
      if (context.user instanceof Caller) context.user.need('agents:use');
      if (task) return checkAnswer(context, task, name);
      if (name === '') throw new A2AError('invalidParams', 'metadata.agent: the name of an agent');
      if (!agents.find(ownerOf(context), name)) throw notFound(name);
      if (context.message.contextId === undefined) {
        if (fresh.size >= MAX_FRESH) fresh.clear();
        fresh.add(context.contextId);
      }
      return undefined;
    },
    execute,
    async cancel(taskId, context) {
      const workspace = ownerOf(context);
      const running = runs.get(taskId);
      let twin: string | undefined;
      if (running) {
        await waitAtMost(
          TWIN_MS,
          running.twin.promise.then((id) => (twin = id)),
        );
      }
      // What is under way is that agent's with which it began, though there may be none of its name any more.
      const name = agentOf(context.tenant, context.task.metadata);
      const agent = running?.agent ?? agents.find(workspace, name);
      if (agent) await tellCanceled(agent, twin ?? links.task(workspace, name, taskId));
    },
  };
}

/** The agent is not to blame. */
abstract class OwnFailure extends Error {
  abstract line(agent: string): string;
}

class NotNoted extends OwnFailure {
  line(agent: string): string {
    return `The gateway could not note which task of the agent ${agent} this is, so it was given up. Try again later.`;
  }
}

/** Nobody can know whether the agent got the message. */
class UnknownOutcome extends OwnFailure {
  line(agent: string): string {
    return `The gateway was restarted before the agent ${agent} answered: nobody knows whether it got the message, so it was not sent again.`;
  }
}

function failed(message: string): ExecutorEvent {
  return { kind: 'status-update', state: 'failed', message };
}

/** The workspace. */
function ownerOf({ user }: Pick<CancelContext, 'user'>): string {
  return user?.id ?? '';
}

/**
 * The id under which a message is sent, the same whenever it is sent. Not the caller's: ids of two workspaces may be the
 * same, and the agent would take their messages for one.
 */
function sentId({ task, turn }: Pick<ExecutionContext, 'task' | 'turn'>): string {
  return turn.length === 1 ? task.id : `${task.id}.${turn.length}`;
}

/** Whether the remote's task still asks what our log has as its last question. */
function waitsStill(remote: Task, context: ExecutionContext): boolean {
  const { state, message } = remote.status;
  const asked = context.task.history?.findLast(({ role }) => role === 'agent');
  const got = remote.history?.some(({ messageId }) => messageId === sentId(context)) === true;
  return isInterrupted(state) && !got && message?.messageId === asked?.messageId;
}

/** The way to the agent. Who goes on with a task has nothing to lose by waiting for it a little. */
function connected(
  agent: RemoteAgent,
  patient: boolean,
  signal: AbortSignal,
): Connected | Promise<Connected> {
  return patient ? patiently(async () => agent.connect(), signal) : agent.connect();
}

function traceOf({ user }: Pick<ExecutionContext, 'user'>): string | undefined {
  return user instanceof Caller ? user.traceparent : undefined;
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
      [GEN_AI.conversation]: context.contextId,
    },
  });
}
