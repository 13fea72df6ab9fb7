/** Creates the message to the agent: the caller's message with the agent's ids instead of ours. */
import { allOf, andThen, type MaybePromise } from '../../base/index.ts';
import { retrying, type FollowedService } from '../../client/index.ts';
import {
  isInterrupted,
  SOURCE_KEY,
  type Call,
  type Message,
  type MessageSendParams,
  type Task,
} from '../../protocol/index.ts';
import type { ExecutionContext } from '../../tasks/index.ts';
import { UnknownOutcome } from './failure.ts';
import type { RemoteAgent } from './remote.ts';
import type { Sender } from './sender.ts';
import type { TaskLinks } from './task-links.ts';

const HISTORY = 100;
const MAX_FRESH = 10_000;

export type Outgoing = ReturnType<typeof createOutgoing>;

export function createOutgoing(links: TaskLinks) {
  /** The ids of new contexts (`markNew`), until the first message of the context is created. */
  const fresh = new Set<string>();

  /** Returns the message to send. The result is a promise only if links must be read from PostgreSQL. */
  function message(
    context: ExecutionContext,
    workspace: string,
    name: string,
    { acceptedOutputModes, metadata: sentWith }: Sender,
  ): MaybePromise<MessageSendParams> {
    const { message: given, task, turn, contextId } = context;
    const ids = allOf([
      turn.length > 1 ? links.task(workspace, name, task.id) : undefined,
      fresh.delete(contextId) ? undefined : links.context(workspace, name, contextId),
      ...(given.referenceTaskIds ?? []).map((id) => links.task(workspace, name, id)),
    ]);
    // The agent's ids for our task, our context and the tasks that the message refers to.
    return andThen(ids, ([taskId, remoteContext, ...found]) => {
      const { referenceTaskIds: _, contextId: _context, taskId: _task, ...rest } = given;
      const sent: Message = { ...rest, messageId: sentId(context) };
      const references = found.filter((id) => id !== undefined);
      if (taskId !== undefined) sent.taskId = taskId;
      if (remoteContext !== undefined) sent.contextId = remoteContext;
      if (references.length > 0) sent.referenceTaskIds = references;
      if (given.metadata?.[SOURCE_KEY] !== undefined) {
        const { [SOURCE_KEY]: _source, ...metadata } = given.metadata;
        sent.metadata = metadata;
      }
      return {
        message: sent,
        configuration: {
          historyLength: 0,
          ...(acceptedOutputModes && { acceptedOutputModes: [...acceptedOutputModes] }),
        },
        ...(sentWith && { metadata: sentWith }),
      };
    });
  }

  return {
    /**
     * Records that a context is new. A new context has no links, so `message` does not look for its links in the
     * database.
     */
    markNew(contextId: string): void {
      if (fresh.size >= MAX_FRESH) fresh.clear();
      fresh.add(contextId);
    },
    message,
    /**
     * Returns the message to send after a crash, or undefined if the remote agent has already received it. Throws
     * UnknownOutcome if it is unknown whether the agent has received the message, and the agent does not recognize
     * repeated messages (`deduplicates`).
     */
    async afterCrash(
      context: ExecutionContext,
      workspace: string,
      agent: RemoteAgent,
      by: Sender,
      { service, call }: { service: FollowedService; call: Call & { signal: AbortSignal } },
    ): Promise<MessageSendParams | undefined> {
      const params = await message(context, workspace, agent.name, by);
      const id = await links.task(workspace, agent.name, context.task.id);
      if (id === undefined) {
        if (agent.settings.deduplicates === true) return params;
        throw new UnknownOutcome();
      }
      if (context.turn.length === 1) return undefined;
      // The process died in a turn that began with an answer. If the remote task still waits for the answer, the answer
      // did not arrive.
      const task = await retrying(
        () => service.getTask({ id, historyLength: HISTORY }, call),
        call.signal,
      );
      return waitsStill(task, context) ? params : undefined;
    },
  };
}

/**
 * Returns the id of the message to the agent. The id is the same for each attempt. The id that the caller chose is not
 * used, because two workspaces may choose the same id. An agent could then treat the second workspace's message as a
 * repetition of the first.
 */
function sentId({ task, turn }: Pick<ExecutionContext, 'task' | 'turn'>): string {
  return turn.length === 1 ? task.id : `${task.id}.${turn.length}`;
}

/** Returns whether the remote task still waits for the answer to the last question in our log. */
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
export function notBlocking(params: MessageSendParams): MessageSendParams {
  return { ...params, configuration: { ...params.configuration, blocking: false } };
}
