/** A task in the dialect's words, and back: the only place that knows both. */
import { isObject } from '../../base/index.ts';
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
import { tableState } from '../tasks/transitions.ts';
import type {
  DialectArtifact,
  DialectMessage,
  DialectPart,
  DialectTask,
  SendBody,
  Status,
} from './schema.ts';

/** The dialect has the six states of the table. Nobody enters another one on purpose. */
export function statusOf(state: TaskState): Status {
  const known = tableState(state) ?? 'working';
  return known === 'canceled' ? 'cancelled' : known;
}

export function paramsOf({ message, ...asked }: SendBody): MessageSendParams {
  const { sessionId, taskId, metadata, expiresAt } = asked;
  const { content, messageId = randomUUIDv7(), metadata: own } = message;
  const parts: Part[] =
    typeof content === 'string' ? [{ kind: 'text', text: content }] : content.map(partFrom);
  const about = { ...metadata, ...(expiresAt !== undefined && { expiresAt }) };
  return {
    message: {
      kind: 'message',
      messageId,
      role: 'user',
      parts,
      ...(sessionId !== undefined && { contextId: sessionId }),
      ...(taskId !== undefined && { taskId }),
      ...(own && { metadata: own }),
    },
    metadata: about,
  };
}

/** The same fields under another discriminator, which has the last word: the checker cannot follow a union through it. */
function partFrom({ type, ...rest }: DialectPart): Part {
  return { ...rest, kind: type } as Part;
}

function partOf({ kind, ...rest }: Part): DialectPart {
  return { ...rest, type: kind } as DialectPart;
}

export function messageOf({ role, parts, messageId, metadata }: Message): DialectMessage {
  const content = parts.every(({ kind }) => kind === 'text') ? textOf(parts) : parts.map(partOf);
  return { role, content, messageId, ...(metadata && { metadata }) };
}

/** As it stands, whole or a chunk. */
export function artifactOf(artifact: Artifact): DialectArtifact {
  const { artifactId, name, description, parts, metadata } = artifact;
  return {
    artifactId,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    content: textOf(parts),
    parts: parts.map(partOf),
    ...(metadata && { metadata }),
  };
}

/** Text that came in chunks is one part. */
function joined(artifact: DialectArtifact): DialectArtifact {
  const parts: DialectPart[] = [];
  let run: string[] = [];
  const close = () => {
    if (run.length > 0) parts.push({ type: 'text', text: run.join('') });
    run = [];
  };
  for (const part of artifact.parts) {
    if (isPlainText(part)) {
      run.push(part.text);
    } else {
      close();
      parts.push(part);
    }
  }
  close();
  return { ...artifact, parts };
}

function isPlainText(part: DialectPart): part is DialectPart & { type: 'text'; text: string } {
  return part.type === 'text' && Object.keys(part).length === 2;
}

export function errorOf({ state, message }: TaskStatus): string | undefined {
  return statusOf(state) === 'failed' && message ? textOf(message.parts) : undefined;
}

/** What is fixed when a task begins. Its end stands in the task's metadata, so that A2A clients know it too. */
export function beginningOf({ contextId, metadata }: Task) {
  const { expiresAt, ...rest } = metadata ?? {};
  return {
    sessionId: contextId,
    metadata: rest,
    ...(typeof expiresAt === 'string' && { expiresAt }),
  };
}

export function dialectTask(task: Task): DialectTask {
  const { id, status, artifacts = [] } = task;
  const history = [...(task.history ?? [])];
  const said = status.message;
  // What was said last becomes history in A2A only when something else is said.
  if (said && history.at(-1)?.messageId !== said.messageId) history.push(said);
  const first = history[0];
  const createdAt = createdAtOf(task);
  const { metadata, ...beginning } = beginningOf(task);
  const error = errorOf(status);
  return {
    id,
    status: statusOf(status.state),
    ...beginning,
    ...(first?.role === 'user' && { message: messageOf(first) }),
    artifacts: artifacts.map((artifact) => joined(artifactOf(artifact))),
    history: history.map(messageOf),
    metadata: { ...metadata, ...usageOf(said) },
    createdAt,
    updatedAt: status.timestamp ?? createdAt,
    ...(error !== undefined && { error }),
  };
}

/** Tokens and cost come with the last thing that is said. */
function usageOf(said: Message | undefined): Metadata {
  const usage = said?.metadata?.['usage'];
  return isObject(usage) ? { usage } : {};
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i;

/** A task's id is a time-ordered UUID: its first 48 bits are when it was made. */
function createdAtOf({ id, status }: Task): string {
  const [, high, low] = UUID_V7.exec(id) ?? [];
  if (high === undefined || low === undefined) return status.timestamp ?? new Date(0).toISOString();
  return new Date(Number.parseInt(high + low, 16)).toISOString();
}
