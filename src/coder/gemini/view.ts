/**
 * The view for clients of gemini-cli's a2a-server. These clients use `metadata.coderAgent`, which is the predecessor of
 * the development-tool extension. With this view, the clients need no changes. The kinds of events that they get:
 *
 *   state-change            the state of the task. A turn ends with `input-required`, because the task accepts the next
 *                           prompt
 *   text-content, thought   a text part, or a data part with the thought
 *   tool-call-update        a data part with the call
 *   tool-call-confirmation  a data part with a call that waits for an answer
 *
 * Answers of these clients are read by approval/answers.ts, like all other answers. An update with a user's message is
 * sent without the message, because these clients would show it as a message of the agent.
 */
import { defined } from '../../base/index.ts';
import {
  CODER_AGENT,
  isAwaitingAnswer,
  readMessage,
  readStatus,
  type CoderAgentKind,
  type DevelopmentToolEvent,
  type Fact,
} from '../../protocol/development-tool/index.ts';
import {
  isInterrupted,
  SOURCE_KEY,
  type Message,
  type Metadata,
  type Part,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import type { LogView } from '../../tasks/index.ts';
import { developmentToolView, withoutExtension } from '../views/views.ts';
import { coderAgentCall } from './call.ts';

export const coderAgentView: LogView = {
  name: 'coder-agent',
  task(logged) {
    const { metadata, ...task } = developmentToolView.task(logged);
    const history = task.history?.map(messageOf);
    const own = defined({ history, metadata: withoutExtension(metadata, SOURCE_KEY) });
    return { ...task, status: statusOf(task.status), ...own };
  },
  update(logged) {
    const event = developmentToolView.update(logged);
    return event?.kind === 'status-update' ? updateOf(event) : event;
  },
};

function updateOf(event: TaskStatusUpdateEvent): TaskStatusUpdateEvent {
  const { about, facts } = readStatus(event);
  const status = statusOf(event.status);
  const kind = status.message ? kindOf(about, facts) : 'state-change';
  const metadata = { [CODER_AGENT]: { kind }, ...detailsOf(about, event.metadata) };
  return { ...event, status, metadata };
}

function kindOf(about: DevelopmentToolEvent | undefined, facts: readonly Fact[]): CoderAgentKind {
  switch (about?.kind) {
    case 'TEXT_CONTENT':
      return 'text-content';
    case 'THOUGHT':
      return 'thought';
    case 'TOOL_CALL_UPDATE': {
      const asks = facts.some((fact) => fact.kind === 'call' && isAwaitingAnswer(fact.call));
      return asks ? 'tool-call-confirmation' : 'tool-call-update';
    }
    default:
      return 'state-change';
  }
}

function detailsOf(about: DevelopmentToolEvent | undefined, metadata: Metadata = {}): Metadata {
  const { model, user_tier: userTier, error } = about ?? {};
  const correlationId = about?.correlationId ?? metadata['correlationId'];
  return defined({ model, userTier, error, correlationId });
}

/**
 * Converts a status. The message is left out if the task is completed or waits for an answer, or if a user wrote it.
 * Questions are sent as calls that wait for an answer.
 */
function statusOf({ state, message, ...status }: TaskStatus): TaskStatus {
  const isOver = state === 'completed';
  const hides = isOver || isInterrupted(state) || message?.role === 'user';
  return {
    ...status,
    state: isOver ? 'input-required' : state,
    ...(message && !hides && { message: messageOf(message) }),
  };
}

function messageOf({ metadata, ...message }: Message): Message {
  const shown =
    message.role === 'user' ? message : { ...message, parts: message.parts.map(partOf) };
  return { ...shown, ...defined({ metadata: withoutExtension(metadata, SOURCE_KEY) }) };
}

/** Converts a part of an agent's message. */
function partOf(part: Part): Part {
  if (part.kind !== 'data') return part;
  const [fact] = readMessage({ kind: 'message', messageId: 'part', role: 'agent', parts: [part] });
  return fact?.kind === 'call' ? { kind: 'data', data: coderAgentCall(fact.call) } : part;
}
