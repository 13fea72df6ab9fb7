/**
 * Writes messages, tasks and events as ProtoJSON, for both protocol versions. Writes only fields of the protocol,
 * because strict ProtoJSON parsers reject other fields. The order of fields is fixed, so that V8 can use the same
 * hidden class for all objects with the same fields.
 */
import type { Artifact, Message, Part } from '../message.ts';
import type { StreamEvent, Task, TaskState, TaskStatus } from '../task.ts';
import { ROLE_NAMES } from './enums.ts';
import type { Raw } from './read.ts';

/** The differences between the versions. */
export interface ProtoDialect {
  readonly states: Readonly<Record<TaskState, string>>;
  /**
   * Whether this is the dialect of 0.3. In this dialect, the parts of a message are in `content`, a status update has
   * `final`, and a message has no `referenceTaskIds`.
   */
  readonly old: boolean;
  readonly part: (part: Part) => Raw;
}

export interface ProtoWriter {
  readonly message: (message: Message) => Raw;
  readonly task: (task: Task) => Raw;
  /** Writes an event inside a member that is named after the event's kind. */
  readonly event: (event: StreamEvent) => Raw;
}

export function createProtoWriter({ states, old, part }: ProtoDialect): ProtoWriter {
  function message(from: Message): Raw {
    const out: Raw = { messageId: from.messageId };
    if (from.contextId !== undefined) out.contextId = from.contextId;
    if (from.taskId !== undefined) out.taskId = from.taskId;
    out.role = ROLE_NAMES[from.role];
    if (old) out.content = from.parts.map(part);
    else out.parts = from.parts.map(part);
    if (from.metadata !== undefined) out.metadata = from.metadata;
    if (from.extensions !== undefined) out.extensions = from.extensions;
    if (!old && from.referenceTaskIds !== undefined) out.referenceTaskIds = from.referenceTaskIds;
    return out;
  }

  function artifact(from: Artifact): Raw {
    const out: Raw = { artifactId: from.artifactId };
    if (from.name !== undefined) out.name = from.name;
    if (from.description !== undefined) out.description = from.description;
    out.parts = from.parts.map(part);
    if (from.metadata !== undefined) out.metadata = from.metadata;
    if (from.extensions !== undefined) out.extensions = from.extensions;
    return out;
  }

  function status(from: TaskStatus): Raw {
    const out: Raw = { state: states[from.state] };
    if (from.message !== undefined) out.message = message(from.message);
    if (from.timestamp !== undefined) out.timestamp = from.timestamp;
    return out;
  }

  function task(from: Task): Raw {
    const out: Raw = { id: from.id, contextId: from.contextId, status: status(from.status) };
    if (from.artifacts !== undefined) out.artifacts = from.artifacts.map(artifact);
    if (from.history !== undefined) out.history = from.history.map(message);
    if (from.metadata !== undefined) out.metadata = from.metadata;
    return out;
  }

  function event(from: StreamEvent): Raw {
    switch (from.kind) {
      case 'artifact-update': {
        const { taskId, contextId, append, lastChunk, metadata } = from;
        const artifactUpdate: Raw = { taskId, contextId, artifact: artifact(from.artifact) };
        if (append !== undefined) artifactUpdate.append = append;
        if (lastChunk !== undefined) artifactUpdate.lastChunk = lastChunk;
        if (metadata !== undefined) artifactUpdate.metadata = metadata;
        return { artifactUpdate };
      }
      case 'status-update': {
        const { taskId, contextId, metadata } = from;
        const statusUpdate: Raw = { taskId, contextId, status: status(from.status) };
        if (old) statusUpdate.final = from.final;
        if (metadata !== undefined) statusUpdate.metadata = metadata;
        return { statusUpdate };
      }
      case 'task':
        return { task: task(from) };
      default:
        return { message: message(from) };
    }
  }

  return { message, task, event };
}
