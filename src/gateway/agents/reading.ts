/**
 * A remote agent's events as those of our task, one after the other. They are held to the protocol and to the limits;
 * what breaks them throws. A snapshot gives what our log does not have yet, and nothing twice.
 */
import { RemoteAgentError, type RemoteLimits } from '../../bridge/index.ts';
import {
  isInterrupted,
  isSettled,
  type Artifact,
  type Message,
  type Metadata,
  type Part,
  type StreamEvent,
  type Task,
  type TaskArtifactUpdateEvent,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import type { ArtifactEvent, ExecutorEvent, StatusEvent } from '../../tasks/index.ts';
import { Mirror } from './mirror.ts';

export interface Known {
  /** Our task, as its log has it. */
  readonly task: Task;
  readonly remoteTaskId: string | undefined;
  readonly remoteContextId: string | undefined;
  /** What is sent now: nothing, a task's first message, or an answer (the stream may begin with the task as it waits). */
  readonly sends: 'nothing' | 'message' | 'answer';
}

const MAX_ID = 256;
/** These say nothing about how far the work is: our task stays as it is. */
const OPEN: ReadonlySet<TaskState> = new Set(['submitted', 'unknown', 'unspecified']);
const NOTHING: readonly ExecutorEvent[] = [];

export class Reading {
  readonly #limits: Required<RemoteLimits>;
  readonly #mirror: Mirror;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #state: TaskState;
  /** Of the last message that a status had. */
  #messageId: string | undefined;
  #waits: boolean;
  /** The status with which it waits still, should nothing follow. */
  #stale: TaskStatus | undefined;
  #settled = false;
  /** The next event is the first that comes back for what was sent. */
  #first: boolean;
  #doubtful = false;
  #events = 0;
  #length = 0;

  constructor(limits: Required<RemoteLimits>, known: Known) {
    const { task } = known;
    this.#limits = limits;
    this.#mirror = new Mirror(task.artifacts);
    this.#taskId = known.remoteTaskId;
    this.#contextId = known.remoteContextId;
    this.#state = task.status.state;
    this.#waits = known.sends === 'answer';
    this.#first = known.sends !== 'nothing';
    const said = task.status.message ?? task.history?.findLast(({ role }) => role === 'agent');
    this.#messageId = said?.messageId;
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  /** It is done, or asks: nothing follows. */
  get settled(): boolean {
    return this.#settled;
  }

  /** An answer was sent, and nothing says yet that it has come. */
  get waits(): boolean {
    return this.#waits;
  }

  /** A snapshot came in the middle, or the connection was made anew: something may have been lost or repeated. */
  get doubtful(): boolean {
    return this.#doubtful;
  }

  /** What was said between two connections may be missing. */
  doubt(): void {
    this.#doubtful = true;
  }

  take(event: StreamEvent): readonly ExecutorEvent[] {
    const { maxEvents } = this.#limits;
    if (++this.#events > maxEvents) throw tooMuch(`it sent more than ${maxEvents} events`);
    if (this.#settled) return NOTHING;
    const first = this.#first;
    this.#first = false;
    if (event.kind === 'artifact-update') {
      this.#isOurs(event.taskId, event.contextId);
      return this.#artifact(event);
    }
    if (event.kind === 'message') return this.#answer(event, first);
    if (event.kind === 'task') return this.#snapshot(event, first);
    this.#isOurs(event.taskId, event.contextId);
    return this.#status(event.status, event.metadata, false);
  }

  /** The stream ended. What was taken for the task as it was before is how it is. */
  finish(): readonly ExecutorEvent[] {
    const stale = this.#stale;
    if (this.#settled || !stale) return NOTHING;
    this.#waits = false;
    return this.#status(stale, undefined, false);
  }

  /** What a whole task has of artifacts that our log has not. */
  compare({ artifacts = [] }: Task): ExecutorEvent[] {
    const { maxArtifacts } = this.#limits;
    if (artifacts.length > maxArtifacts)
      throw tooMuch(`it has more than ${maxArtifacts} artifacts`);
    const missing: ExecutorEvent[] = [];
    for (const artifact of artifacts) {
      checkId(artifact.artifactId);
      const event = this.#mirror.update(clean(artifact));
      if (!event) continue;
      this.#count(event.artifact.parts);
      missing.push(event);
    }
    return missing;
  }

  #snapshot(task: Task, first: boolean): readonly ExecutorEvent[] {
    this.#isOurs(task.id, task.contextId);
    const artifacts = this.compare(task);
    const status = this.#status(task.status, undefined, true);
    this.#doubtful = !this.#settled && (this.#doubtful || !first);
    return artifacts.length === 0 ? status : [...artifacts, ...status];
  }

  #answer(message: Message, first: boolean): readonly ExecutorEvent[] {
    if (!first) throw invalid('it sent a message in the middle of a task');
    this.#isOurs(message.taskId ?? this.#taskId, message.contextId ?? '');
    this.#settled = true;
    return [{ kind: 'status-update', state: 'completed', ...this.#said(message) }];
  }

  #artifact(update: TaskArtifactUpdateEvent): readonly ExecutorEvent[] {
    this.#stale = undefined;
    const { artifactId } = update.artifact;
    let { parts } = update.artifact;
    checkId(artifactId);
    if (parts.length === 0) {
      // An empty last chunk is common; another one says nothing.
      if (update.lastChunk !== true || !this.#mirror.has(artifactId)) return NOTHING;
      parts = [{ kind: 'text', text: '' }];
    }
    this.#count(parts);
    const append = update.append === true && this.#mirror.has(artifactId);
    const artifact =
      parts === update.artifact.parts ? update.artifact : { ...update.artifact, parts };
    this.#mirror.add(artifact, append);
    const { maxArtifacts } = this.#limits;
    if (this.#mirror.size > maxArtifacts)
      throw tooMuch(`it sent more than ${maxArtifacts} artifacts`);
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
    // What the user said is in our log already.
    const known = OPEN.has(state) ? this.#state : state;
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

  /** The message, without the remote's ids; nothing where it has no parts. */
  #said(message: Message): { message?: Message } {
    this.#messageId = message.messageId;
    if (message.parts.length === 0) return {};
    checkId(message.messageId);
    this.#count(message.parts);
    const { taskId: _task, contextId: _context, referenceTaskIds: _tasks, ...rest } = message;
    return { message: rest };
  }

  #count(parts: readonly Part[]): void {
    const { maxParts, maxPartLength, maxContentLength } = this.#limits;
    if (parts.length > maxParts) throw tooMuch(`it sent more than ${maxParts} parts at once`);
    for (const part of parts) {
      const length = lengthOf(part);
      if (length > maxPartLength) throw tooMuch(`it sent a part longer than ${maxPartLength}`);
      this.#length += length;
    }
    if (this.#length > maxContentLength)
      throw tooMuch(`it sent more than ${maxContentLength} in all`);
  }

  #isOurs(taskId: string | undefined, contextId: string): void {
    if (taskId !== this.#taskId) {
      if (this.#taskId !== undefined) throw invalid("it sent an event of another task's");
      if (taskId !== undefined) checkId(taskId);
      this.#taskId = taskId;
    }
    // Some servers leave it out where the task says it.
    if (contextId === '' || contextId === this.#contextId) return;
    if (this.#contextId !== undefined) throw invalid('it sent an event of another conversation');
    checkId(contextId);
    this.#contextId = contextId;
  }
}

/** Without parts that have nothing in them. */
function clean(artifact: Artifact): Artifact {
  const parts = artifact.parts.filter((part) => part.kind !== 'text' || part.text !== '');
  return parts.length === artifact.parts.length ? artifact : { ...artifact, parts };
}

function lengthOf(part: Part): number {
  if (part.kind === 'text') return part.text.length;
  if (part.kind === 'file') return (part.file.bytes ?? part.file.uri ?? '').length;
  return JSON.stringify(part.data).length;
}

function checkId(id: string): void {
  if (id.length > MAX_ID) throw invalid(`it sent an id longer than ${MAX_ID}`);
}

function tooMuch(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-limit', message);
}

function invalid(message: string): RemoteAgentError {
  return new RemoteAgentError('remote-invalid', message);
}
