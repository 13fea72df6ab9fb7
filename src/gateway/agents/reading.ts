/**
 * Converts the events of a remote agent to events of our task. `take` throws if an event violates the protocol or the
 * limits. If the event is a snapshot of the remote task, `take` returns only what our log does not have yet.
 */
import { RemoteAgentError, RemoteTaskGuard, type RemoteLimits } from '../../client/index.ts';
import {
  isInterrupted,
  isSettled,
  type Artifact,
  type Message,
  type Metadata,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import type { ArtifactEvent, ExecutorEvent, StatusEvent } from '../../tasks/index.ts';
import { KnownArtifacts } from './known-artifacts.ts';

export interface Known {
  /** Our task, as it is in our log. */
  readonly task: Task;
  readonly remoteTaskId: string | undefined;
  readonly remoteContextId: string | undefined;
  /** The kind of message that is sent to the remote agent: no message, the first message of a task, or an answer. */
  readonly sends: 'nothing' | 'message' | 'answer';
}

/** Remote states that do not change the state of our task, because they show no progress. */
const OPEN: ReadonlySet<TaskState> = new Set(['submitted', 'unknown', 'unspecified']);
const NOTHING: readonly ExecutorEvent[] = [];

export class Reading {
  readonly #guard: RemoteTaskGuard;
  readonly #artifacts: KnownArtifacts;
  #state: TaskState;
  /** The id of the last message in a status of the remote task. */
  #messageId: string | undefined;
  /** True if an answer was sent, and no event has shown yet that the agent received it. */
  #waits: boolean;
  /** The status of a remote task that still waits for the answer. It takes effect only if no other event follows. */
  #stale: TaskStatus | undefined;
  #settled = false;
  /** True if the next event is the first one after the message was sent. */
  #first: boolean;
  #doubtful = false;

  constructor(limits: Required<RemoteLimits>, known: Known) {
    const { task, remoteTaskId: taskId, remoteContextId: contextId } = known;
    this.#guard = new RemoteTaskGuard(limits, { taskId, contextId });
    this.#artifacts = new KnownArtifacts(task.artifacts);
    this.#state = task.status.state;
    this.#waits = known.sends === 'answer';
    this.#first = known.sends !== 'nothing';
    const said = task.status.message ?? task.history?.findLast(({ role }) => role === 'agent');
    this.#messageId = said?.messageId;
  }

  get taskId(): string | undefined {
    return this.#guard.taskId;
  }

  get contextId(): string | undefined {
    return this.#guard.contextId;
  }

  /** True if the remote agent has finished or asks a question. Later events are ignored. */
  get settled(): boolean {
    return this.#settled;
  }

  /** True if the remote agent has finished. */
  get hasEnded(): boolean {
    return this.#settled && !isInterrupted(this.#state);
  }

  /** True if our log may differ from the remote task, because events may have been lost or repeated. */
  get doubtful(): boolean {
    return this.#doubtful;
  }

  /**
   * Records that the connection to the agent was opened again. Events may be missing after a reconnection, because some
   * servers do not repeat lost events.
   */
  doubt(): void {
    this.#doubtful = true;
  }

  take(event: StreamEvent): readonly ExecutorEvent[] {
    this.#guard.event();
    if (this.#settled) return NOTHING;
    const first = this.#first;
    this.#first = false;
    if (event.kind === 'artifact-update') {
      this.#guard.task(event.taskId, event.contextId);
      return this.#artifact(event);
    }
    if (event.kind === 'message') return this.#answer(event, first);
    if (event.kind === 'task') return this.#snapshot(event, first);
    this.#guard.task(event.taskId, event.contextId);
    return this.#status(event.status, event.metadata, false);
  }

  /**
   * Must be called at the end of each connection. If the remote task still waits for the answer, returns an event with
   * its status. Otherwise returns no events.
   */
  finish(): readonly ExecutorEvent[] {
    const stale = this.#stale;
    if (this.#settled || !stale) return NOTHING;
    this.#waits = false;
    return this.#status(stale, undefined, false);
  }

  /** Returns the events that bring our log up to date with the remote task's artifacts. */
  compare({ artifacts = [] }: Task): ExecutorEvent[] {
    this.#guard.artifacts(artifacts.length);
    const missing: ExecutorEvent[] = [];
    for (const artifact of artifacts) {
      this.#guard.id(artifact.artifactId);
      const event = this.#artifacts.update(withoutEmptyText(artifact));
      if (!event) continue;
      this.#guard.parts(event.artifact.parts);
      missing.push(event);
    }
    return missing;
  }

  #snapshot(task: Task, first: boolean): readonly ExecutorEvent[] {
    this.#guard.task(task.id, task.contextId);
    const artifacts = this.compare(task);
    const status = this.#status(task.status, undefined, true);
    this.#doubtful = !this.#settled && (this.#doubtful || !first);
    return artifacts.length === 0 ? status : [...artifacts, ...status];
  }

  #answer(message: Message, first: boolean): readonly ExecutorEvent[] {
    if (!first) {
      throw new RemoteAgentError('remote-invalid', 'it sent a message in the middle of a task');
    }
    this.#guard.task(message.taskId ?? this.taskId, message.contextId ?? '');
    this.#settled = true;
    this.#state = 'completed';
    return [{ kind: 'status-update', state: 'completed', ...this.#said(message) }];
  }

  #artifact(update: TaskArtifactUpdateEvent): readonly ExecutorEvent[] {
    this.#stale = undefined;
    this.#waits = false;
    const { artifactId } = update.artifact;
    let { parts } = update.artifact;
    this.#guard.id(artifactId);
    if (parts.length === 0) {
      // Many servers send an empty last chunk. It is kept if its artifact is known. All other empty chunks are ignored.
      if (update.lastChunk !== true || !this.#artifacts.has(artifactId)) return NOTHING;
      parts = [{ kind: 'text', text: '' }];
    }
    this.#guard.parts(parts);
    const append = update.append === true && this.#artifacts.has(artifactId);
    const artifact =
      parts === update.artifact.parts ? update.artifact : { ...update.artifact, parts };
    this.#artifacts.add(artifact, append);
    this.#guard.artifacts(this.#artifacts.size);
    const event: { -readonly [K in keyof ArtifactEvent]: ArtifactEvent[K] } = {
      kind: 'artifact-update',
      artifact,
    };
    if (update.append !== undefined) event.append = append;
    if (update.lastChunk !== undefined) event.lastChunk = update.lastChunk;
    if (update.metadata !== undefined) event.metadata = update.metadata;
    return [event];
  }

  #status(
    { state, message }: TaskStatus,
    metadata: Metadata | undefined,
    snapshot: boolean,
  ): readonly ExecutorEvent[] {
    if (snapshot && this.#waits && isInterrupted(state)) {
      this.#stale = { state, ...(message && { message }) };
      return NOTHING;
    }
    this.#waits = false;
    this.#stale = undefined;
    const known = OPEN.has(state) ? this.#state : state;
    // Our log already has the user's messages.
    const spoken = message?.role === 'user' ? undefined : message;
    const isNew = spoken !== undefined && spoken.messageId !== this.#messageId;
    const changed = known !== this.#state;
    if (!changed && !isNew && (snapshot || !metadata)) return NOTHING;
    this.#state = known;
    this.#settled = isSettled(known);
    const status: StatusEvent = {
      kind: 'status-update',
      state: known,
      ...(spoken && (isNew || this.#settled) && this.#said(spoken)),
      ...(metadata && { metadata }),
    };
    return [status];
  }

  /**
   * Returns the message without the ids of remote tasks and of the remote context. Returns an empty object if the
   * message has no parts.
   */
  #said(message: Message): { message?: Message } {
    this.#messageId = message.messageId;
    if (message.parts.length === 0) return {};
    this.#guard.id(message.messageId);
    this.#guard.parts(message.parts);
    const { taskId: _task, contextId: _context, referenceTaskIds: _tasks, ...rest } = message;
    return { message: rest };
  }
}

function withoutEmptyText(artifact: Artifact): Artifact {
  const parts = artifact.parts.filter((part) => part.kind !== 'text' || part.text !== '');
  return parts.length === artifact.parts.length ? artifact : { ...artifact, parts };
}
