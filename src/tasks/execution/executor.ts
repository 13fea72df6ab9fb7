/**
 * The interface between the runtime and an agent. `createAgent` (agent.ts) implements it for an async generator.
 *
 * An executor only yields events. The runtime does everything else. It creates the task, ensures that the task ends,
 * controls the signal, and decides which details of an error a client sees.
 */
import type { MaybePromise } from '../../base/index.ts';
import type {
  AgentExtension,
  AgentProvider,
  AgentSkill,
  Artifact,
  Message,
  Metadata,
  Task,
  TaskState,
  User,
} from '../../protocol/index.ts';
import type { LogViews } from '../log/view.ts';

/** A message and the request that it came with. */
export interface RequestContext {
  readonly message: Message;
  readonly contextId: string;
  readonly user: User | undefined;
  /** The task's tenant: the user's tenant, else the tenant in the request. Empty if there is none. */
  readonly tenant: string;
  /** URIs of the extensions that the client activated. */
  readonly extensions: readonly string[];
  /** The metadata of the request, not of the message. */
  readonly metadata: Metadata | undefined;
  /**
   * The media types that the client accepts in the answer. Missing in an execution that was resumed after a restart, or
   * if the client has not sent any.
   */
  readonly acceptedOutputModes?: readonly string[] | undefined;
  /** The caller's W3C `traceparent`, if it is valid. Only for an executor that `readsTraceparent`. */
  readonly traceparent?: string | undefined;
}

/** The context of one execution, which lasts from a message to the next terminal or interrupted state. */
export interface ExecutionContext extends RequestContext {
  /** The task at the start of this execution, including the message. Must not be changed. */
  readonly task: Task;
  /** The user's messages in this turn: the first message, then the answers. `message` is the last one. */
  readonly turn: readonly Message[];
  /**
   * Aborted when the task is canceled or expires, when the server shuts down, or when this process can no longer write
   * to the task. Then the executor has a short time to end.
   */
  readonly signal: AbortSignal;
  /**
   * True if the previous execution was interrupted, for example because its process ended. Only for an executor that
   * `resumes`.
   */
  readonly resumed: boolean;
}

/** The task that was canceled, and its current turn. */
export type CancelContext = Pick<
  ExecutionContext,
  'task' | 'turn' | 'contextId' | 'user' | 'tenant'
>;

/** The task that the runtime ends, and its current turn. The signal is aborted after half of the grace time. */
export type ConcludeContext = CancelContext & Pick<ExecutionContext, 'signal'>;

/** A change of the task's state. The runtime adds the ids, the time and `final`. */
export interface StatusEvent {
  readonly kind: 'status-update';
  readonly state: TaskState;
  /** The agent's message, as text or as a complete Message. */
  readonly message?: string | Message;
  readonly metadata?: Metadata;
}

/** A complete artifact, or a chunk of an artifact. */
export interface ArtifactEvent {
  readonly kind: 'artifact-update';
  readonly artifact: Artifact;
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/**
 * An event that an executor yields.
 *
 *   yield { kind: 'status-update', state: 'working', message: 'Searching' };
 */
export type ExecutorEvent = StatusEvent | ArtifactEvent;

/** The result of `receive` for a message that the executor accepts. */
export interface Reception {
  /** A direct answer to a message without a task id. If it is set, no task is created. */
  readonly reply?: Message | undefined;
  /** Metadata for the new task. If the task already exists, metadata for the message's log entry. */
  readonly metadata?: Metadata;
  /**
   * Time at which the new task expires, in milliseconds. At this time, an unfinished task is ended, and a finished task
   * is removed.
   */
  readonly expiresAt?: number;
  /** A description of the sender for other clients. It is stored in the message's metadata under SOURCE_KEY. */
  readonly source?: Metadata;
  /** Whether a message to a completed task starts a new turn. By default, such a message is refused. */
  readonly continues?: boolean;
  /**
   * Receives a message to a task that is being executed, after the message was appended to the log. `stored` resolves
   * when the message is stored, and rejects if it cannot be stored. If the process crashes before the message is
   * stored, the message is lost. If `deliver` is undefined, such a message is refused. Must not throw.
   */
  readonly deliver?: ((message: Message, stored: Promise<void>) => void) | undefined;
  /** Whether the new task ends immediately. Such a task is accepted even if too many tasks are being executed. */
  readonly needsNoPlace?: boolean;
  /** Whether the sender's stream starts after the sender's own message, without the task. Only A2A 0.3 allows this. */
  readonly brief?: boolean;
}

/** The states that may follow each state. A state that is not a key has no successors. */
export type Transitions = Readonly<Partial<Record<TaskState, readonly TaskState[]>>>;

/** Rules that the runtime follows for the tasks of an executor. */
export interface ExecutionRules {
  /**
   * Whether an execution that a crash or a shutdown interrupted is started again (with `context.resumed`). By default,
   * its task fails. If a function returns false for a task id, the task stays as it is until a client requests it. Then
   * it fails.
   */
  readonly resumes?: boolean | ((taskId: string) => boolean) | undefined;
  /**
   * The allowed state transitions. By default, all transitions are allowed except those from a terminal state. If a
   * task must be `working` before it can enter a state, the runtime inserts `working`. Any other transition that is not
   * in the table fails the task.
   */
  readonly transitions?: Transitions;
  /**
   * Whether the executor never changes an event after it has yielded the event. If true, the runtime does not copy
   * events.
   */
  readonly immutableEvents?: boolean;
  /**
   * Returns whether the task is a session. Clients may also subscribe to a completed session, and their streams
   * continue in later turns. Called, for example, when a client subscribes and each time the task is settled. Must not
   * throw.
   */
  isSession?(taskId: string): boolean;
}

/** Executes tasks. `createAgent` makes an executor from an async generator function. */
export interface AgentExecutor {
  /**
   * Called for every new message before the message is stored. `task` is the existing task that the message is for, in
   * its current state, or undefined if there is none. Throws an A2AError to refuse the message.
   *
   * If the task changes before the message is appended to the log, the runtime calls `receive` again and uses the last
   * result. So if two messages arrive at the same time, the decision about the second one takes the first one into
   * account. A result that is not a promise is used immediately. `receive` must not keep or change `task`.
   */
  receive?(context: RequestContext, task?: Task): MaybePromise<Reception | undefined>;

  /**
   * Returns whether a message that names only the context of `task` answers this task. Called if the task waits for
   * input, belongs to the caller, and is the only task of the context that waits. If this returns false or is missing,
   * such a message starts a new task. Must not keep or change `task`.
   */
  answersByContext?(context: RequestContext, task: Task): boolean;

  /**
   * Does the work and yields events. Events after a terminal or interrupted state are ignored. If it returns without
   * such a state, the task is completed. If it throws, the task fails, and the cause is only in the server's log. When
   * an interrupted task gets an answer, `execute` is called again with the answer as the message.
   */
  execute(context: ExecutionContext): AsyncIterable<ExecutorEvent>;

  /**
   * Called when a task is canceled or expires. Also called when a request finds an unfinished task that is no longer
   * executed, for example because its end could not be stored. If the task is being executed, its signal is aborted
   * first. The task may also wait for input, or may have been executed by an earlier process. Must not throw.
   */
  cancel?(taskId: string, context: CancelContext): MaybePromise<void>;

  /**
   * Called before the runtime itself ends a task with the status `last`. The runtime does so in these cases:
   *
   * - The task was canceled, has expired or is too large.
   * - The executor threw an error or returned without a final state.
   * - A shutdown or a crash interrupted the execution.
   *
   * If the task was being executed, the execution has ended or has used up its time. Returns the events to append, the
   * last of which replaces `last`. If `conclude` is missing, throws, or takes longer than the grace time, only `last`
   * is appended. Until `conclude` returns, `receive` should refuse messages to the task.
   */
  conclude?(context: ConcludeContext, last: StatusEvent): MaybePromise<readonly StatusEvent[]>;

  readonly rules?: ExecutionRules | undefined;

  /** Whether contexts have the `traceparent` of the request. */
  readonly readsTraceparent?: boolean | undefined;

  /** The views in which clients see the logs of tasks. By default, every client sees a log as it is. */
  readonly views?: LogViews | undefined;
}

/** The description of an agent. The server makes the agent card from it. */
export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly provider?: AgentProvider;
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly skills?: readonly AgentSkill[];
  /** Accepted media types of files. If set, a message with a file of another type is refused. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly extensions?: readonly AgentExtension[];
}

/** An executor with its profile. */
export interface A2AAgent extends AgentExecutor {
  readonly profile: AgentProfile;
}
