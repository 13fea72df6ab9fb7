/**
 * Prepares the execution of a task by a remote agent. Connects to the agent, and creates the message, the follower of
 * the remote task, and the reader of its events.
 */
import { andThen, type MaybePromise } from '../../base/index.ts';
import { ByteBudget, retrying, TaskFollower, type FollowedService } from '../../client/index.ts';
import type { Call, Message, MessageSendParams } from '../../protocol/index.ts';
import type { CancelContext, ExecutionContext } from '../../tasks/index.ts';
import { Caller } from '../api/caller.ts';
import type { Span } from '../telemetry/telemetry.ts';
import { notBlocking, type Outgoing } from './outgoing.ts';
import { Reading } from './reading.ts';
import type { Connected, RemoteAgent } from './remote.ts';
import { listedHeaders, senderOf, type Sender } from './sender.ts';
import type { TaskLinks } from './task-links.ts';
import type { LimitedCall } from './transport.ts';

const RETRY = { delayMs: 100, attempts: 6 };

/** The headers, limits and signal that all requests for one message share. */
type MessageCall = LimitedCall & { readonly signal: AbortSignal };

/** How the remote task of an execution is followed and read. */
export interface Prepared {
  readonly reading: Reading;
  readonly follower: TaskFollower;
  readonly service: FollowedService;
  readonly call: MessageCall;
  /** The sender to store with the link (task-links.ts). */
  readonly sender: Sender;
  /** Whether a message is sent. If false, the execution only follows the remote task. */
  readonly sends: boolean;
  /** Whether the link is saved before the message is sent. */
  readonly savesFirst: boolean;
}

interface Following extends Pick<Prepared, 'call' | 'sender'> {
  readonly context: ExecutionContext;
  readonly agent: RemoteAgent;
  readonly connected: Connected;
  /** The message to send, or undefined if none is sent. */
  readonly params: MessageSendParams | undefined;
  /** The ids of the remote task and context, as far as they are known. */
  readonly remote: Pick<Partial<Message>, 'taskId' | 'contextId'>;
}

export function createPrepare(links: TaskLinks, outgoing: Outgoing) {
  /**
   * Prepares an execution. `before` is the sender of the task's previous message, if there is one. Returns a promise
   * only if it has to wait.
   */
  function prepare(
    context: ExecutionContext,
    agent: RemoteAgent,
    before: Sender | undefined,
    signal: AbortSignal,
    span: Span | undefined,
  ): MaybePromise<Prepared> {
    const traceparent = span?.traceparent ?? traceOf(context);
    const budget = new ByteBudget(agent.limits.maxBytes);
    const callFor = (sender: Sender): MessageCall => ({
      ...callOf(agent, sender, traceparent),
      signal,
      budget,
    });
    if (context.resumed) return prepareAgain(context, agent, before, signal, callFor);
    return andThen(agent.connect(), (connected) => {
      const sender = senderOf(context, agent, connected.extensions, before);
      const sent = outgoing.message(context, ownerOf(context), agent.name, sender);
      return andThen(sent, (params) => {
        const call = callFor(sender);
        const remote = params.message;
        return following({ context, agent, connected, sender, call, params, remote });
      });
    });
  }

  /** Prepares a task that was interrupted by a crash or a shutdown. */
  async function prepareAgain(
    context: ExecutionContext,
    agent: RemoteAgent,
    before: Sender | undefined,
    signal: AbortSignal,
    callFor: (sender: Sender) => MessageCall,
  ): Promise<Prepared> {
    // A resumed task can wait a few seconds for its agent, so a failed connection is retried. A task that was not
    // interrupted fails at once.
    const connected = await retrying(async () => agent.connect(), signal);
    const sender = before ?? senderOf(context, agent, connected.extensions, before);
    const call = callFor(sender);
    const { service } = connected;
    const workspace = ownerOf(context);
    const params = await outgoing.afterCrash(context, workspace, agent, sender, { service, call });
    const known = await links.task(workspace, agent.name, context.task.id);
    const remote = {
      taskId: params?.message.taskId ?? known,
      contextId: params
        ? params.message.contextId
        : await links.context(workspace, agent.name, context.contextId),
    };
    return following({ context, agent, connected, sender, call, params, remote });
  }

  /** Creates the follower of the remote task and the reader of its events. Without `params`, no message is sent. */
  function following(how: Following): Prepared {
    const { context, agent, sender, call, params, remote } = how;
    const { service, streams } = how.connected;
    const { limits, settings } = agent;
    const isAnswer = params?.message.taskId !== undefined;
    const reading = new Reading(limits, {
      task: context.task,
      remoteTaskId: remote.taskId,
      remoteContextId: remote.contextId,
      sends: !params ? 'nothing' : isAnswer ? 'answer' : 'message',
    });
    const resends = streams && settings.deduplicates === true;
    const follower = new TaskFollower({
      service,
      call,
      signal: call.signal,
      streams,
      polls: true,
      retry: RETRY,
      from: params
        ? {
            params: streams ? params : notBlocking(params),
            checksTask: true,
            // An answer is sent again if the agent is unreachable, because the agent may be restarting. The message of
            // a new task is sent again only if the agent streams and recognizes repeated messages. Even then the task
            // fails at once if the first attempt cannot reach the agent.
            resend: ({ reason }, failures) =>
              isAnswer
                ? reason === 'unreachable'
                : resends && (failures > 0 || reason !== 'unreachable'),
          }
        : { taskId: remote.taskId ?? '' },
    });
    call.signal.throwIfAborted();
    // If the message may be sent again after a crash, the link is saved before the message is sent. The link contains
    // the sender. Without this link, an answer would be sent again with the sender of the previous message.
    const savesFirst = params !== undefined && (isAnswer || settings.deduplicates === true);
    return {
      reading,
      follower,
      service,
      call,
      sender: savesFirst ? sender : withoutMetadata(sender),
      sends: params !== undefined,
      savesFirst,
    };
  }

  return prepare;
}

/**
 * Removes the metadata from the sender of a message that is never sent again. Only a repeated message needs the
 * metadata.
 */
function withoutMetadata(sender: Sender): Sender {
  if (!sender.metadata) return sender;
  const { metadata: _, ...rest } = sender;
  return rest;
}

/** Returns the headers and extensions of the requests to the agent. */
export function callOf(
  agent: RemoteAgent,
  sender: Sender = {},
  traceparent?: string,
): Pick<Call, 'headers' | 'extensions'> {
  const { extensions } = sender;
  const headers = listedHeaders(sender, agent);
  return {
    ...(extensions && { extensions }),
    ...((headers || traceparent !== undefined) && {
      headers: { ...headers, ...(traceparent !== undefined && { traceparent }) },
    }),
  };
}

/** Returns the workspace that owns the task. In the gateway, the user's id is the workspace. */
export function ownerOf({ user }: Pick<CancelContext, 'user'>): string {
  return user?.id ?? '';
}

export function traceOf({ user }: Pick<ExecutionContext, 'user'>): string | undefined {
  return user instanceof Caller ? user.traceparent : undefined;
}
