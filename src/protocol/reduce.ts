/**
 * The fold: a task is what its log says.
 *
 * `reduce` is total (it never throws; what the state machine does not allow leaves the task as it is), depends on
 * nothing but its arguments, and costs O(size of the event), whatever the size of the task. The price of the latter:
 * it owns the task that it is given, updates it in place and returns it. Events are never changed, and no array of an
 * event becomes part of the task, so that one event can be folded into any number of tasks.
 *
 *   let task: Task | undefined;
 *   for (const { event } of log) task = reduce(task, event);
 */
import type { Artifact, Message } from './message.ts';
import { isTerminal, type Task, type TaskEvent, type TaskState } from './task.ts';

/**
 * Why `event` may not follow in a task that is in `state` (undefined: before its first event), or undefined if it may.
 *
 * A new turn is a status update that leaves `completed` with the user's message on it: only the runtime writes one, and
 * only for an agent that continues.
 */
export function refusal(state: TaskState | undefined, event: TaskEvent): string | undefined {
  if (state === undefined) {
    return event.kind === 'task' ? undefined : 'the first event of a task is the task itself';
  }
  if (event.kind === 'task') return 'a task is created only once';
  if (!isTerminal(state)) return undefined;
  const opensTurn =
    state === 'completed' &&
    event.kind === 'status-update' &&
    event.status.message?.role === 'user' &&
    !isTerminal(event.status.state);
  return opensTurn ? undefined : `the task is ${state}; nothing follows a terminal state`;
}

/** Folds one event into the task. See the head of this file for what it promises. */
export function reduce(task: Task | undefined, event: TaskEvent): Task | undefined {
  if (task === undefined) return event.kind === 'task' ? copyTask(event) : undefined;
  if (event.kind === 'task') return task;
  if (event.taskId !== task.id || refusal(task.status.state, event) !== undefined) return task;
  if (event.kind === 'artifact-update') {
    addArtifact((task.artifacts ??= []), event.artifact, event.append === true);
    return task;
  }
  // What the agent said last becomes history when it says the next thing; what the user said is history at once.
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

/** Folds a whole log. Undefined only for an empty one, or one that does not begin with a task. */
export function fold(events: Iterable<TaskEvent>): Task | undefined {
  let task: Task | undefined;
  for (const event of events) task = reduce(task, event);
  return task;
}

/** A task of its own to fold on with. What events have brought is shared: it never changes. */
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

/** Where each artifact stands, for tasks with so many that a search would make the fold quadratic. */
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
  for (const part of parts) known.parts.push(part);
  Object.assign(known, rest);
  if (metadata) known.metadata = { ...known.metadata, ...metadata };
}
