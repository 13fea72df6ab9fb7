/** Converts the events that an executor yields into protocol events, and refuses invalid events. */
import { isObject } from '../../base/index.ts';
import {
  isSettled,
  type Message,
  type Part,
  type TaskEvent,
  TaskState,
  uuidv7,
} from '../../protocol/index.ts';
import type { ExecutorEvent } from './executor.ts';
import { timestamp } from '../log/time.ts';

/**
 * The states that an agent may set. The runtime could not continue or recover a task in the states `unknown` or
 * `unspecified`.
 */
const STATES: ReadonlySet<unknown> = new Set(
  TaskState.options.filter((state) => state !== 'unknown' && state !== 'unspecified'),
);

/**
 * Adds the fields that the runtime sets: ids, the time, `final`, and the agent's role. Throws a TypeError if the event
 * is invalid, because an event in the log cannot be corrected later.
 */
export function completeEvent(
  task: { taskId: string; contextId: string },
  event: ExecutorEvent,
  isImmutable = false,
): TaskEvent {
  const { taskId, contextId } = task;
  if (event.kind === 'artifact-update') {
    const { artifact, append, lastChunk, metadata } = event;
    if (typeof artifact.artifactId !== 'string' || artifact.artifactId === '') {
      throw new TypeError('an artifact needs an artifactId');
    }
    if (!isFlag(append) || !isFlag(lastChunk)) {
      throw new TypeError('append and lastChunk must be true, false or undefined');
    }
    const parts = checkedParts(artifact.parts, isImmutable);
    const copy = isImmutable ? artifact : { ...artifact, parts };
    // Many of these objects are in memory. A field in the object literal needs less memory than a field that is added
    // later.
    const complete: TaskEvent =
      append === undefined
        ? { kind: 'artifact-update', taskId, contextId, artifact: copy }
        : { kind: 'artifact-update', taskId, contextId, artifact: copy, append };
    if (lastChunk !== undefined) complete.lastChunk = lastChunk;
    if (metadata) complete.metadata = metadata;
    return complete;
  }
  const { state } = event;
  if (event.kind !== 'status-update' || !STATES.has(state)) {
    throw new TypeError(
      'an executor must yield status updates with a valid state, or artifact updates',
    );
  }
  const complete: TaskEvent = {
    kind: 'status-update',
    taskId,
    contextId,
    status:
      event.message === undefined
        ? { state, timestamp: timestamp() }
        : { state, timestamp: timestamp(), message: agentMessage(event.message, task) },
    final: isSettled(state),
  };
  if (event.metadata) complete.metadata = event.metadata;
  return complete;
}

function isFlag(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}

/** Makes a message from the agent, with the context id and, if given, the task id. */
export function agentMessage(
  content: string | Message,
  { taskId, contextId }: { taskId?: string; contextId: string },
): Message {
  const message: Message =
    typeof content === 'string'
      ? {
          kind: 'message',
          messageId: uuidv7(),
          role: 'agent',
          parts: [{ kind: 'text', text: content }],
        }
      : { ...content, kind: 'message', role: 'agent', parts: checkedParts(content.parts) };
  message.contextId = contextId;
  if (taskId !== undefined) message.taskId = taskId;
  return message;
}

/**
 * Checks the parts, and copies them for the log. With `isImmutable`, does not copy them, because the executor never
 * changes its events (`immutableEvents`).
 */
function checkedParts(parts: Part[], isImmutable = false): Part[] {
  if (!Array.isArray(parts) || parts.length === 0)
    throw new TypeError('a message or an artifact needs at least one part');
  const [first] = parts;
  // Most messages and artifacts have one part. `push` would reserve memory for 17 parts.
  if (parts.length === 1 && first && !isImmutable && isPart(first)) return [{ ...first }];
  const copies: Part[] = [];
  for (const part of parts) {
    if (!isPart(part)) {
      throw new TypeError('a part must have text, a file (bytes or uri), or data');
    }
    if (!isImmutable) copies.push({ ...part });
  }
  return isImmutable ? parts : copies;
}

export function isPart(part: Part): boolean {
  switch (part?.kind) {
    case 'text':
      return typeof part.text === 'string';
    case 'file':
      return isObject(part.file) && typeof (part.file.bytes ?? part.file.uri) === 'string';
    case 'data':
      return part.data !== undefined;
    default:
      return false;
  }
}
