/** Short events and appends for the contract's cases. */
import type {
  Message,
  Role,
  Task,
  TaskArtifactUpdateEvent,
  TaskState,
  TaskStatusUpdateEvent,
} from 'parley-a2a/protocol';
import type { Append, PushProgress, PushRecord, TaskHead } from 'parley-a2a/server';

export const alice = { tenant: 'acme', owner: 'alice' };
export const bob = { tenant: 'acme', owner: 'bob' };
export const aliceElsewhere = { tenant: 'globex', owner: 'alice' };

export function taskEvent(
  id: string,
  contextId: string,
  state: TaskState,
  history?: Message[],
): Task {
  return { kind: 'task', id, contextId, status: { state }, ...(history && { history }) };
}

export function statusEvent(
  taskId: string,
  contextId: string,
  state: TaskState,
  message?: Message,
): TaskStatusUpdateEvent {
  const status = { state, ...(message && { message }) };
  return { kind: 'status-update', taskId, contextId, status, final: false };
}

export function artifactEvent(
  taskId: string,
  contextId: string,
  text: string,
): TaskArtifactUpdateEvent {
  const artifact = { artifactId: 'a1', parts: [{ kind: 'text' as const, text }] };
  return { kind: 'artifact-update', taskId, contextId, artifact, append: true };
}

export function userSays(text: string): Message {
  return says('user', text);
}

export function agentSays(text: string): Message {
  return says('agent', text);
}

function says(role: Role, text: string): Message {
  return { kind: 'message', messageId: text, role, parts: [{ kind: 'text', text }] };
}

export function creation(taskId: string, scope = alice, contextId = 'c1'): Append {
  const event = taskEvent(taskId, contextId, 'submitted');
  return { ...scope, taskId, contextId, expected: 0, entries: [{ seq: 1, event }] };
}

export function update(
  taskId: string,
  expected: number,
  state: TaskState,
  message?: Message,
  scope = alice,
  contextId = 'c1',
): Append {
  const event = statusEvent(taskId, contextId, state, message);
  return { ...scope, taskId, contextId, expected, entries: [{ seq: expected + 1, event }] };
}

export function artifact(taskId: string, expected: number): Append {
  const event = artifactEvent(taskId, 'c1', 'text');
  const entries = [{ seq: expected + 1, event }];
  return { ...alice, taskId, contextId: 'c1', expected, entries };
}

export function webhook(taskId: string, id: string, progress = fresh): PushRecord {
  return { taskId, config: { id, url: `https://example.org/${id}` }, version: '0.3', progress };
}

/** The progress of a webhook that is to get every event of its task. */
export const fresh: PushProgress = { cursor: 0, attempts: 0, dueAt: 0 };

export function ids(heads: readonly TaskHead[]): string[] {
  return heads.map((head) => head.taskId);
}
