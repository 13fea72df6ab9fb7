/** A task, its states, and the events that change it. */
import * as z from 'zod';
import { Artifact, Message, Metadata } from './message.ts';

/** Maximum number of tasks on one page of a list. */
export const MAX_TASK_PAGE = 100;

/**
 * The task states of both versions. In 0.3, `unknown` means that the state of the task is not known. In 1.0,
 * `unspecified` is the zero value. Our own agents never use these two states.
 */
export const TaskState = z.enum([
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'canceled',
  'failed',
  'rejected',
  'unknown',
  'unspecified',
]);
export type TaskState = z.infer<typeof TaskState>;

/**
 * The state of a task, with the agent's message about it. In an entry of a log, the message may also be a user's
 * message.
 */
export const TaskStatus = z.looseObject({
  state: TaskState,
  message: Message.optional(),
  timestamp: z.string().optional(),
});
export type TaskStatus = z.infer<typeof TaskStatus>;

/**
 * A task: its id, its status, its messages and its artifacts.
 *
 *   const task = await agent.get(id);
 *   console.log(task.status.state, task.artifacts);
 */
export const Task = z.looseObject({
  kind: z.literal('task'),
  id: z.string().min(1),
  contextId: z.string(),
  status: TaskStatus,
  history: z.array(Message).optional(),
  artifacts: z.array(Artifact).optional(),
  metadata: Metadata.optional(),
});
export type Task = z.infer<typeof Task>;

/** A new status of a task. */
export const TaskStatusUpdateEvent = z.looseObject({
  kind: z.literal('status-update'),
  taskId: z.string().min(1),
  contextId: z.string(),
  status: TaskStatus,
  /**
   * Whether no further event follows until a client acts. Servers of Parley set it if the state is settled (terminal or
   * interrupted). 1.0 does not have this field. Its streams end without a final flag.
   */
  final: z.boolean(),
  metadata: Metadata.optional(),
});
export type TaskStatusUpdateEvent = z.infer<typeof TaskStatusUpdateEvent>;

/** A new artifact, or a chunk of an artifact. */
export const TaskArtifactUpdateEvent = z.looseObject({
  kind: z.literal('artifact-update'),
  taskId: z.string().min(1),
  contextId: z.string(),
  artifact: Artifact,
  /** If true, the parts are appended to the artifact with the same id. By default, the new artifact replaces it. */
  append: z.boolean().optional(),
  lastChunk: z.boolean().optional(),
  metadata: Metadata.optional(),
});
export type TaskArtifactUpdateEvent = z.infer<typeof TaskArtifactUpdateEvent>;

/** An event in a task's log. The first event is always the Task itself. */
export const TaskEvent = z.discriminatedUnion('kind', [
  Task,
  TaskStatusUpdateEvent,
  TaskArtifactUpdateEvent,
]);
export type TaskEvent = z.infer<typeof TaskEvent>;

/** An event of a stream: an event of a task, or a single Message if the agent creates no task. */
export const StreamEvent = z.discriminatedUnion('kind', [
  Task,
  Message,
  TaskStatusUpdateEvent,
  TaskArtifactUpdateEvent,
]);
export type StreamEvent = z.infer<typeof StreamEvent>;

/**
 * One entry of a task's log. `seq` is the number of the entry. The first entry has the number 1, and there are no
 * gaps.
 */
export interface LogEntry {
  readonly seq: number;
  readonly event: TaskEvent;
}

/** The result of sending a message: a task, or a message if the agent creates no task. */
export const SendResult = z.discriminatedUnion('kind', [Task, Message]);
export type SendResult = z.infer<typeof SendResult>;
