/**
 * Reads the events of a remote agent's turn. If the events violate the protocol, `take` throws. Either all events
 * belong to one task and one context, or the only event is a message. After the end of the turn, the agent may only
 * repeat the final task.
 */
import { RemoteAgentError, RemoteTaskGuard, type RemoteLimits } from '../../client/index.ts';
import {
  coderAgentKind,
  isCoderAgentOutput,
  readStatus,
  WaitingCalls,
} from '../../protocol/development-tool/index.ts';
import {
  isInterrupted,
  isSettled,
  type Message,
  type Part as A2APart,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import type { ReceivedPart } from '../converter.ts';
import { RemoteContent } from './content.ts';
import type { SaidLength } from './note.ts';

export interface Expected {
  /** The id of the task that the message belongs to, or undefined for a new task. */
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  /**
   * The state of the task when the message was sent, or undefined for a new task and for a task that is only followed.
   */
  readonly before: TaskState | undefined;
  /** How much of each artifact is already in this session, or undefined if the task is not continued. */
  readonly said: Readonly<Record<string, SaidLength>> | undefined;
}

export interface Taken {
  /** The parts that can be shown at once. */
  readonly parts: readonly ReceivedPart[];
  /** Whether the event contained anything new. */
  readonly progress: boolean;
}

export class RemoteReading {
  readonly guard: RemoteTaskGuard;
  readonly content: RemoteContent;
  /** The state of the task, or undefined before the first event. */
  state: TaskState | undefined;
  /** Whether the turn has ended. */
  over = false;
  /** The parts of the message in the last status. */
  lastMessage: readonly A2APart[] = [];
  /**
   * The calls that the agent asks about, if the agent uses the dialect of gemini-cli's server. If there are no calls,
   * this agent waits for the next prompt. Undefined for all other agents, because they ask in their last message.
   */
  waiting: WaitingCalls | undefined;
  readonly #before: TaskState | undefined;
  #stale = false;
  #lastId: string | undefined;

  constructor(limits: Required<RemoteLimits>, expected: Expected) {
    this.guard = new RemoteTaskGuard(limits, expected);
    this.content = new RemoteContent(this.guard, expected.said);
    this.#before = expected.before;
  }

  /** Returns all content of this turn. It must be called after the stream has ended. */
  whole(): ReceivedPart[] {
    // If the first snapshot has the state that the task had before the message, and no event has followed, the snapshot
    // is the result.
    if (this.#stale && this.state === 'completed') this.content.closing(this.lastMessage);
    return this.content.whole();
  }

  take(event: StreamEvent): Taken {
    this.guard.event();
    if (this.over) {
      // A new subscription may start with the final state of the task.
      const repeats =
        event.kind === 'task' &&
        event.id === this.guard.taskId &&
        event.status.state === this.state;
      if (repeats) return { parts: [], progress: false };
      throw new RemoteAgentError('remote-invalid', 'it sent more events after its end');
    }
    if (event.kind === 'message') return this.#message(event);
    this.guard.task(event.kind === 'task' ? event.id : event.taskId, event.contextId);
    if (event.kind === 'task') return this.#task(event);
    if (event.kind === 'status-update') {
      return coderAgentKind(event.metadata) === undefined
        ? this.#status(event.status, false)
        : this.#coderAgent(event);
    }
    this.state ??= 'submitted';
    if (this.waiting && isCoderAgentOutput(event.artifact.artifactId)) {
      return { parts: [], progress: true };
    }
    const parts = this.content.artifact(event.artifact, event.append === true);
    return { parts, progress: true };
  }

  #message({ parts, taskId, contextId }: Message): Taken {
    if (this.state !== undefined) {
      throw new RemoteAgentError('remote-invalid', 'it sent a message in the middle of a task');
    }
    this.guard.task(taskId ?? this.guard.taskId, contextId ?? '');
    this.state = 'completed';
    this.over = true;
    return { parts: this.content.closing(parts), progress: true };
  }

  #task({ status, artifacts = [] }: Task): Taken {
    const shown = artifacts.flatMap((artifact) => this.content.snapshot(artifact));
    const { parts, progress } = this.#status(status, this.state === undefined);
    return { parts: [...shown, ...parts], progress: progress || shown.length > 0 };
  }

  #status({ state, message }: TaskStatus, first: boolean): Taken {
    const changed = state !== this.state;
    this.state = state;
    // The first state of a stream may be the task's state before the message arrived.
    this.#stale = first && state === this.#before;
    if (isSettled(state) && !this.#stale) this.over = true;
    if (changed) this.lastMessage = [];
    // A message with the role "user" is our own message. The server repeats it for other clients.
    if (message === undefined || message.role === 'user') return { parts: [], progress: changed };
    this.guard.parts(message.parts, false);
    this.lastMessage = message.parts;
    if (message.messageId === this.#lastId) return { parts: [], progress: changed };
    this.#lastId = message.messageId;
    return { parts: this.#stale ? [] : this.#said(state, message.parts), progress: true };
  }

  /** Reads a status update of gemini-cli's server. The calls in it are not content, because they are not our calls. */
  #coderAgent(event: TaskStatusUpdateEvent): Taken {
    this.waiting ??= new WaitingCalls();
    const { state, message } = event.status;
    const { facts } = readStatus(event);
    if (message) this.guard.parts(message.parts, false);
    const parts = facts.flatMap((fact) => {
      this.waiting?.take(fact);
      if (fact.kind === 'text') return this.content.spoken([{ kind: 'text', text: fact.text }]);
      if (fact.kind !== 'thought') return [];
      const { subject, description, continues } = fact.thought;
      if (continues === true) return this.content.thought(description);
      const text = [subject, description].filter((each) => each !== '').join(': ');
      return this.content.thought(text);
    });
    const [fact] = facts;
    if (fact?.kind !== 'state') {
      this.state = state;
      return { parts, progress: true };
    }
    const taken = this.#status(event.status, false);
    // If the agent asks nothing, its last message belongs to the answer.
    const says = isInterrupted(state) && this.waiting.calls.length === 0 && message;
    const last = says ? this.content.closing(message.parts) : taken.parts;
    return { ...taken, parts: last };
  }

  #said(state: TaskState, parts: readonly A2APart[]): ReceivedPart[] {
    if (state === 'completed') return this.content.closing(parts);
    return isSettled(state) ? [] : this.content.progress(parts);
  }
}
