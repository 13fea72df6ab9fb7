/** The unit of work, its states, and the events that change it. */
import * as z from 'zod';
import { Artifact, Message, Metadata } from './message.ts';

/**
 * All ten states. `unknown` is 0.3's word for a state that the sender does not know; `unspecified` is 1.0's zero
 * value. An agent never enters either on purpose.
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

/** Nothing follows a terminal state, except a new turn of an agent that continues. */
export function isTerminal(state: TaskState): boolean {
  return (
    state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'
  );
}

/** The agent waits for somebody: a blocking send returns, and a stream ends. */
export function isInterrupted(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required';
}

/** A state in which the task has nothing more to say until somebody acts: terminal or interrupted. */
export function isSettled(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

/** The state of a task, with the message that the agent sent about it. */
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

/** A change of the state of a task. */
export const TaskStatusUpdateEvent = z.looseObject({
  kind: z.literal('status-update'),
  taskId: z.string().min(1),
  contextId: z.string(),
  status: TaskStatus,
  /** No further event until somebody acts: terminal or interrupted. 1.0 has no such field; its stream just ends. */
  final: z.boolean(),
  metadata: Metadata.optional(),
});
export type TaskStatusUpdateEvent = z.infer<typeof TaskStatusUpdateEvent>;

/** A new artifact, or a chunk of one. */
export const TaskArtifactUpdateEvent = z.looseObject({
  kind: z.literal('artifact-update'),
  taskId: z.string().min(1),
  contextId: z.string(),
  artifact: Artifact,
  /** The parts are added to the artifact of the same id; otherwise they replace it. */
  append: z.boolean().optional(),
  lastChunk: z.boolean().optional(),
  metadata: Metadata.optional(),
});
export type TaskArtifactUpdateEvent = z.infer<typeof TaskArtifactUpdateEvent>;

/** What a task's log holds. The first is always the Task itself. */
export const TaskEvent = z.discriminatedUnion('kind', [
  Task,
  TaskStatusUpdateEvent,
  TaskArtifactUpdateEvent,
]);
export type TaskEvent = z.infer<typeof TaskEvent>;

/** What a stream may carry: a task's events, or one Message instead of a task. */
export const StreamEvent = z.discriminatedUnion('kind', [
  Task,
  Message,
  TaskStatusUpdateEvent,
  TaskArtifactUpdateEvent,
]);
export type StreamEvent = z.infer<typeof StreamEvent>;

/** One entry of a task's log. `seq` counts from 1 without a gap. */
export interface LogEntry {
  readonly seq: number;
  readonly event: TaskEvent;
}

/** The answer to a sent message: a task, or one message where no task was needed. */
export const SendResult = z.discriminatedUnion('kind', [Task, Message]);
export type SendResult = z.infer<typeof SendResult>;
