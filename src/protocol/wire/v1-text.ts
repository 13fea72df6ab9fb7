/**
 * Writes the JSON text of the most frequent events of version 1.0 without creating objects first. The text equals
 * `lineSafe(JSON.stringify(encodeEvent(event)))`.
 */
import { lineSafe } from '../../base/index.ts';
import type { Message, Part } from '../message.ts';
import type {
  StreamEvent,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatus,
  TaskStatusUpdateEvent,
} from '../task.ts';
import { ROLE_NAMES, STATE_NAMES } from './enums.ts';

/**
 * Returns the JSON text of a frequent event. Such an event has no metadata, and few optional fields. Its message or
 * artifact has exactly one part, which is a text. Its status has no message. Returns undefined for any other event.
 */
export function eventText(event: StreamEvent): string | undefined {
  switch (event.kind) {
    case 'artifact-update':
      return artifactUpdateText(event);
    case 'status-update':
      return statusUpdateText(event);
    case 'task':
      return taskText(event);
    default:
      return wrapped(messageText(event));
  }
}

function artifactUpdateText(event: TaskArtifactUpdateEvent): string | undefined {
  const { taskId, contextId, artifact, append } = event;
  const { artifactId, name, description, parts, extensions } = artifact;
  const more = event.lastChunk ?? event.metadata ?? name ?? description ?? extensions;
  if ((more ?? artifact.metadata) !== undefined) return undefined;
  const content = partsText(parts);
  if (content === undefined) return undefined;
  const end = append === undefined ? '' : `,"append":${append}`;
  return `{"artifactUpdate":{"taskId":${quoted(taskId)},"contextId":${quoted(contextId)},"artifact":{"artifactId":${quoted(artifactId)},"parts":${content}}${end}}}`;
}

function statusUpdateText(event: TaskStatusUpdateEvent): string | undefined {
  const { taskId, contextId, metadata } = event;
  const status = metadata === undefined ? statusText(event.status) : undefined;
  if (status === undefined) return undefined;
  return `{"statusUpdate":{"taskId":${quoted(taskId)},"contextId":${quoted(contextId)},"status":${status}}}`;
}

function statusText({ state, message, timestamp }: TaskStatus): string | undefined {
  if (message !== undefined) return undefined;
  const end = timestamp === undefined ? '' : `,"timestamp":${quoted(timestamp)}`;
  return `{"state":"${STATE_NAMES[state]}"${end}}`;
}

function taskText({ id, contextId, status, artifacts, history, metadata }: Task) {
  const current = statusText(status);
  const [first] = history ?? [];
  if (!first || history?.length !== 1 || current === undefined) return undefined;
  const said = messageText(first);
  if (said === undefined || (artifacts ?? metadata) !== undefined) return undefined;
  return `{"task":{"id":${quoted(id)},"contextId":${quoted(contextId)},"status":${current},"history":[${said}]}}`;
}

function wrapped(message: string | undefined): string | undefined {
  return message === undefined ? undefined : `{"message":${message}}`;
}

function messageText(message: Message): string | undefined {
  const { messageId, contextId, taskId, role, parts } = message;
  const more = message.metadata ?? message.extensions ?? message.referenceTaskIds;
  const content = more === undefined ? partsText(parts) : undefined;
  if (content === undefined) return undefined;
  const context = contextId === undefined ? '' : `,"contextId":${quoted(contextId)}`;
  const task = taskId === undefined ? '' : `,"taskId":${quoted(taskId)}`;
  return `{"messageId":${quoted(messageId)}${context}${task},"role":"${ROLE_NAMES[role]}","parts":${content}}`;
}

/** Returns the JSON of a list that has one part with plain text. Returns undefined for any other list. */
function partsText(parts: readonly Part[]): string | undefined {
  const [part] = parts;
  if (parts.length !== 1 || part?.kind !== 'text') return undefined;
  if ((part.filename ?? part.mediaType ?? part.metadata) !== undefined) return undefined;
  return `[{"text":${quoted(part.text)}}]`;
}

/** ASCII without control characters, quotation marks and backslashes. */
const PLAIN = /^[ !#-[\]-~]*$/;
/** Maximum length of a text that is checked with PLAIN. For longer texts, `JSON.stringify` is faster. */
const SHORT = 128;

/** Returns the JSON of a text. The check takes half the time of `JSON.stringify`. */
function quoted(text: string): string {
  if (text.length <= SHORT && PLAIN.test(text)) return `"${text}"`;
  return lineSafe(JSON.stringify(text));
}
