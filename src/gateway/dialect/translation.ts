/** Converts between the objects of A2A and the objects of the dialect, the gateway's own REST API. */
import { defined, isObject } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import {
  textOf,
  type Artifact,
  type Message,
  type MessageSendParams,
  type Metadata,
  type Part,
  type Task,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import type {
  DialectArtifact,
  DialectMessage,
  DialectPart,
  DialectTask,
  SendBody,
  Status,
} from './schema.ts';

/**
 * Converts a state of A2A to one of the dialect's six states. `unknown` and `unspecified` do not occur in the gateway's
 * tasks. They are converted only so that each state has a result.
 */
export function dialectStatus(state: TaskState): Status {
  switch (state) {
    case 'canceled':
      return 'cancelled';
    case 'rejected':
      return 'failed';
    case 'auth-required':
      return 'input-required';
    case 'unknown':
    case 'unspecified':
      return 'working';
    default:
      return state;
  }
}

export function paramsOf({ message, ...rest }: SendBody): MessageSendParams {
  const { sessionId, taskId, metadata, expiresAt } = rest;
  const { content, messageId = randomUUIDv7(), metadata: own } = message;
  const parts: Part[] =
    typeof content === 'string' ? [{ kind: 'text', text: content }] : content.map(partFrom);
  return {
    message: {
      kind: 'message',
      messageId,
      role: 'user',
      parts,
      ...defined({ contextId: sessionId, taskId, metadata: own }),
    },
    metadata: { ...metadata, ...defined({ expiresAt }) },
  };
}

/**
 * Converts a part. Only the name of the discriminator differs. The cast is needed because the spread does not preserve
 * the union type.
 */
function partFrom({ type, ...rest }: DialectPart): Part {
  return { ...rest, kind: type } as Part;
}

function partOf({ kind, ...rest }: Part): DialectPart {
  return { ...rest, type: kind } as DialectPart;
}

export function dialectMessage({ role, parts, messageId, metadata }: Message): DialectMessage {
  const content = parts.every(({ kind }) => kind === 'text') ? textOf(parts) : parts.map(partOf);
  return { role, content, messageId, ...(metadata && { metadata }) };
}

/** Converts an artifact, or one chunk of an artifact. */
export function dialectArtifact(artifact: Artifact): DialectArtifact {
  const { artifactId, name, description, parts, metadata } = artifact;
  return {
    artifactId,
    ...defined({ name, description, metadata }),
    content: textOf(parts),
    parts: parts.map(partOf),
  };
}

/** Joins consecutive text parts without metadata into one part. Such parts are chunks of one text. */
function joined(artifact: DialectArtifact): DialectArtifact {
  const parts: DialectPart[] = [];
  for (const part of artifact.parts) {
    const last = parts.at(-1);
    const joins = last !== undefined && isPlainText(last) && isPlainText(part);
    if (joins) parts[parts.length - 1] = { type: 'text', text: last.text + part.text };
    else parts.push(part);
  }
  return { ...artifact, parts };
}

function isPlainText(part: DialectPart): part is DialectPart & { type: 'text'; text: string } {
  return part.type === 'text' && Object.keys(part).length === 2;
}

export function errorOf({ state, message }: TaskStatus): string | undefined {
  return dialectStatus(state) === 'failed' && message ? textOf(message.parts) : undefined;
}

/**
 * Returns the fields that are set when a task starts. `expiresAt` is in the task's metadata, so that A2A clients see it
 * too.
 */
export function dialectBeginning({ contextId, metadata }: Task) {
  const { expiresAt, ...rest } = metadata ?? {};
  return {
    sessionId: contextId,
    metadata: rest,
    ...(typeof expiresAt === 'string' && { expiresAt }),
  };
}

/** Converts a task. `artifactAt` is the time of its last artifact event, in milliseconds, if it is known. */
export function dialectTask(task: Task, artifactAt = 0): DialectTask {
  const { id, status, artifacts = [] } = task;
  const history = [...(task.history ?? [])];
  const said = status.message;
  // In A2A, a status message is moved to the history only when the next status message arrives.
  if (said && history.at(-1)?.messageId !== said.messageId) history.push(said);
  const first = history[0];
  const createdAt = createdAtOf(task);
  const { metadata, ...beginning } = dialectBeginning(task);
  const error = errorOf(status);
  return {
    id,
    status: dialectStatus(status.state),
    ...beginning,
    ...(first?.role === 'user' && { message: dialectMessage(first) }),
    artifacts: artifacts.map((artifact) => joined(dialectArtifact(artifact))),
    history: history.map(dialectMessage),
    metadata: { ...metadata, ...usageIn(said) },
    createdAt,
    updatedAt: later(status.timestamp ?? createdAt, artifactAt),
    ...(error !== undefined && { error }),
  };
}

function later(time: string, other: number): string {
  return other > Date.parse(time) ? new Date(other).toISOString() : time;
}

/** Returns the usage in the metadata of the last message. */
function usageIn(said: Message | undefined): Metadata {
  const usage = said?.metadata?.['usage'];
  return isObject(usage) ? { usage } : {};
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i;

/**
 * Returns the creation time of a task. The id of a task is usually a UUID of version 7, whose first 48 bits are the
 * creation time. For any other id, returns the time of the last status.
 */
function createdAtOf({ id, status }: Task): string {
  const [, high, low] = UUID_V7.exec(id) ?? [];
  if (high === undefined || low === undefined) return status.timestamp ?? new Date(0).toISOString();
  return new Date(Number.parseInt(high + low, 16)).toISOString();
}
