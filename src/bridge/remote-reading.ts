/**
 * The events of a remote agent's answer, one after the other, held to the protocol: one task (or one message), one
 * context, nothing behind the end. What breaks it throws.
 */
import {
  isSettled,
  type Message,
  type Part as A2APart,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatus,
} from '../protocol/index.ts';
import type { ReceivedPart } from './converter.ts';
import { RemoteContent } from './remote-content.ts';
import { RemoteAgentError, type RemoteLimits } from './remote-limits.ts';
import type { Said } from './remote-note.ts';

export interface Expected {
  /** The task that the message is for. */
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  /** The state that the task was in when the message was sent. */
  readonly before: TaskState | undefined;
  readonly said: Readonly<Record<string, Said>> | undefined;
}

export interface Taken {
  /** What to show at once. */
  readonly parts: readonly ReceivedPart[];
  /** Whether it was news at all. */
  readonly progress: boolean;
}

const MAX_ID = 256;

export class RemoteReading {
  readonly #limits: Required<RemoteLimits>;
  readonly #content: RemoteContent;
  readonly #before: TaskState | undefined;
  #taskId: string | undefined;
  #contextId: string | undefined;
  #state: TaskState | undefined;
  #over = false;
  #events = 0;
  #stale = false;
  #lastId: string | undefined;
  #lastWords: readonly A2APart[] = [];

  constructor(limits: Required<RemoteLimits>, expected: Expected) {
    this.#limits = limits;
    this.#taskId = expected.taskId;
    this.#contextId = expected.contextId;
    this.#before = expected.before;
    this.#content = new RemoteContent(limits, expected.said);
  }

  get taskId(): string | undefined {
    return this.#taskId;
  }

  get contextId(): string | undefined {
    return this.#contextId;
  }

  /** Undefined until the first event. */
  get state(): TaskState | undefined {
    return this.#state;
  }

  /** Nothing may follow. */
  get over(): boolean {
    return this.#over;
  }

  /** What the last status said, as it came. */
  get lastWords(): readonly A2APart[] {
    return this.#lastWords;
  }

  /** Everything that was said in this turn, once the stream has ended. */
  whole(): ReceivedPart[] {
    // Nothing came behind it, so it was an answer after all.
    if (this.#stale && this.#state === 'completed') this.#content.closing(this.#lastWords);
    return this.#content.whole();
  }

  said(): Record<string, Said> {
    return this.#content.said();
  }

  take(event: StreamEvent): Taken {
    const { maxEvents } = this.#limits;
    if (++this.#events > maxEvents) {
      throw new RemoteAgentError('remote-limit', `it sent more than ${maxEvents} events`);
    }
    if (this.#over) {
      // A subscription that is taken up again may begin with the task as it ended.
      const again =
        event.kind === 'task' && event.id === this.#taskId && event.status.state === this.#state;
      if (again) return { parts: [], progress: false };
      throw new RemoteAgentError('remote-invalid', 'it went on after its end');
    }
    if (event.kind === 'message') return this.#message(event);
    this.#isOurs(event.kind === 'task' ? event.id : event.taskId, event.contextId);
    if (event.kind === 'task') return this.#task(event);
    if (event.kind === 'status-update') return this.#status(event.status, false);
    this.#state ??= 'submitted';
    const parts = this.#content.artifact(event.artifact, event.append === true);
    return { parts, progress: true };
  }

  #message({ parts, taskId, contextId }: Message): Taken {
    if (this.#state !== undefined) {
      throw new RemoteAgentError('remote-invalid', 'it sent a message in the middle of a task');
    }
    this.#isOurs(taskId ?? this.#taskId, contextId ?? '');
    this.#state = 'completed';
    this.#over = true;
    return { parts: this.#content.closing(parts), progress: true };
  }

  #task({ status, artifacts = [] }: Task): Taken {
    const shown = artifacts.flatMap((artifact) => this.#content.snapshot(artifact));
    const { parts, progress } = this.#status(status, this.#state === undefined);
    return { parts: [...shown, ...parts], progress: progress || shown.length > 0 };
  }

  #status({ state, message }: TaskStatus, first: boolean): Taken {
    const changed = state !== this.#state;
    this.#state = state;
    // A stream may begin with the task as it was when the message came: that is no answer to it.
    this.#stale = first && state === this.#before;
    if (isSettled(state) && !this.#stale) this.#over = true;
    if (changed) this.#lastWords = [];
    // A message of the user's is our own, shown to those who watch.
    if (message === undefined || message.role === 'user') return { parts: [], progress: changed };
    const { maxParts } = this.#limits;
    if (message.parts.length > maxParts) {
      throw new RemoteAgentError('remote-limit', `it sent more than ${maxParts} parts at once`);
    }
    this.#lastWords = message.parts;
    if (message.messageId === this.#lastId) return { parts: [], progress: changed };
    this.#lastId = message.messageId;
    return { parts: this.#stale ? [] : this.#said(state, message.parts), progress: true };
  }

  #said(state: TaskState, parts: readonly A2APart[]): ReceivedPart[] {
    if (state === 'completed') return this.#content.closing(parts);
    return isSettled(state) ? [] : this.#content.progress(parts);
  }

  #isOurs(taskId: string | undefined, contextId: string): void {
    // They are kept in our events.
    if ((taskId?.length ?? 0) > MAX_ID || contextId.length > MAX_ID) {
      throw new RemoteAgentError('remote-invalid', `it sent an id longer than ${MAX_ID}`);
    }
    if (this.#taskId !== undefined && taskId !== this.#taskId) {
      throw new RemoteAgentError('remote-invalid', "it sent an event of another task's");
    }
    this.#taskId = taskId;
    // Some servers leave it out where the task says it.
    if (contextId === '') return;
    if (this.#contextId !== undefined && contextId !== this.#contextId) {
      throw new RemoteAgentError('remote-invalid', 'it sent an event of another conversation');
    }
    this.#contextId = contextId;
  }
}
