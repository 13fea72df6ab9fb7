/**
 * Computes a task from its log, one event at a time.
 *
 * `reduce` never throws. If the state machine does not allow an event, the task stays unchanged. `reduce` changes the
 * given task in place and returns it. So its running time depends on the size of the event, not on the size of the
 * task. `reduce` never changes an event. The arrays that `reduce` changes (the history, the list of artifacts and the
 * parts of an artifact) are never shared with an event. So one event can be applied to many tasks.
 *
 *   let task: Task | undefined;
 *   for (const { event } of log) task = reduce(task, event);
 */
import type { Artifact, Message, Part, TextPart } from './message.ts';
import type { Task, TaskEvent, TaskState } from './task.ts';
import { isTerminal } from './task-state.ts';

/**
 * The metadata key of an artifact whose text parts are chunks of one text. The value is true. If the last part of such
 * an artifact and an appended part both have only a text, the two are joined. In any other artifact, the parts stay
 * separate, because a peer may have sent them as separate items.
 */
export const ONE_TEXT_KEY = 'parley.oneText';

/**
 * Returns the reason why `event` is not allowed in `state`, or undefined if it is allowed. `state` is undefined before
 * the first event.
 *
 * A status update with a user message is allowed after `completed`, because it starts a new turn. Only the runtime
 * writes such an update, and only for an agent that continues completed tasks.
 */
export function refusal(state: TaskState | undefined, event: TaskEvent): string | undefined {
  if (state === undefined) {
    return event.kind === 'task' ? undefined : 'the first event of a task must be the task itself';
  }
  if (event.kind === 'task') return 'the task already exists';
  if (!isTerminal(state)) return undefined;
  const opensTurn =
    state === 'completed' &&
    event.kind === 'status-update' &&
    event.status.message?.role === 'user' &&
    !isTerminal(event.status.state);
  return opensTurn ? undefined : `the task is ${state}: no event may follow a terminal state`;
}

/**
 * Applies one event to the task. Returns undefined if there is no task yet and the event is not a task. See the
 * guarantees at the top of this file.
 */
export function reduce(task: Task | undefined, event: TaskEvent): Task | undefined {
  if (task === undefined) return event.kind === 'task' ? copyTask(event) : undefined;
  if (event.kind === 'task') return task;
  if (event.taskId !== task.id || refusal(task.status.state, event) !== undefined) return task;
  if (event.kind === 'artifact-update') {
    addArtifact((task.artifacts ??= []), event.artifact, event.append === true);
    return task;
  }
  // The agent's status message moves to the history when the next status arrives. A user message moves there
  // immediately.
  if (task.status.message) remember(task, task.status.message);
  if (event.status.message?.role === 'user') {
    remember(task, event.status.message);
    const { message: _, ...status } = event.status;
    task.status = status;
  } else {
    task.status = event.status;
  }
  return task;
}

/** Returns the task that results from a log, or undefined if the log has no task. Ignores events before the task. */
export function fold(events: Iterable<TaskEvent>): Task | undefined {
  let task: Task | undefined;
  for (const event of events) task = reduce(task, event);
  return task;
}

/**
 * Copies a task, so that events can be applied to the copy. Messages and parts are shared, because they never change.
 */
export function copyTask(event: Task): Task {
  const task: Task = { ...event };
  if (event.history) task.history = [...event.history];
  if (event.artifacts) task.artifacts = event.artifacts.map(copyArtifact);
  return task;
}

function copyArtifact(artifact: Artifact): Artifact {
  return { ...artifact, parts: [...artifact.parts] };
}

function remember(task: Task, message: Message): void {
  const history = (task.history ??= []);
  if (history.at(-1)?.messageId !== message.messageId) history.push(message);
}

/**
 * The positions of artifacts by id, for tasks with many artifacts. Without them, linear searches would take quadratic
 * time.
 */
const positions = new WeakMap<Artifact[], Map<string, number>>();
const FEW = 16;

function positionOf(artifacts: Artifact[], id: string): number {
  if (artifacts.length <= FEW) return artifacts.findIndex((artifact) => artifact.artifactId === id);
  let index = positions.get(artifacts);
  if (!index) positions.set(artifacts, (index = new Map()));
  for (let at = index.size; at < artifacts.length; at++) index.set(artifacts[at]!.artifactId, at);
  return index.get(id) ?? -1;
}

function addArtifact(artifacts: Artifact[], update: Artifact, append: boolean): void {
  const at = positionOf(artifacts, update.artifactId);
  if (at < 0) {
    artifacts.push(copyArtifact(update));
    return;
  }
  if (!append) {
    artifacts[at] = copyArtifact(update);
    return;
  }
  const { parts, metadata, ...rest } = update;
  const known = artifacts[at]!;
  appendParts(known, parts);
  Object.assign(known, rest);
  if (metadata) known.metadata = { ...known.metadata, ...metadata };
}

/** Appends parts to an artifact. If the artifact has `ONE_TEXT_KEY`, joins its text parts. Changes the artifact. */
export function appendParts(artifact: Artifact, added: readonly Part[]): void {
  const { parts, metadata } = artifact;
  const isOneText = metadata?.[ONE_TEXT_KEY] === true;
  for (const part of added) if (!isOneText || !joined(parts, part)) parts.push(part);
}

/** Joins a text with the last part if both are plain text. Returns false if `added` must become a part of its own. */
function joined(parts: Part[], added: Part): boolean {
  if (!isPlainText(added)) return false;
  if (added.text === '') return true;
  const last = parts.at(-1);
  if (!last || !isPlainText(last)) return false;
  // The last part may belong to an event, so it is replaced and not changed.
  parts[parts.length - 1] = { kind: 'text', text: last.text + added.text };
  return true;
}

/** Returns whether the part has a text and no other fields. */
function isPlainText(part: Part): part is TextPart {
  if (part.kind !== 'text') return false;
  for (const field in part) if (field !== 'kind' && field !== 'text') return false;
  return true;
}
