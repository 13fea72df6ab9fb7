/**
 * The interface between the runtime and an agent. `createAgent` (agent.ts) implements it for an async generator.
 *
 * An executor yields events and returns. It creates no task and has no connection to a client: the runtime creates the
 * task, sets its terminal state, owns the signal, and decides what a client may see of an error.
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

/** A message, and who sent it. */
export interface RequestContext {
  readonly message: Message;
  readonly contextId: string;
  readonly user: User | undefined;
  /** The task's tenant: the user's own, or the one that the caller names. Empty if there is none. */
  readonly tenant: string;
  /** URIs of the extensions that the client activated. */
  readonly extensions: readonly string[];
  /** The metadata of the request, not of the message. */
  readonly metadata: Metadata | undefined;
}

/** One execution: from a message to the next terminal or interrupted state. */
export interface ExecutionContext extends RequestContext {
  /** The task at the start of this execution, including the message. Must not be changed. */
  readonly task: Task;
  /** The user's messages in this turn: the one that started it, then the answers. `message` is the last of them. */
  readonly turn: readonly Message[];
  /** Aborted when the task is canceled or expires, or when the server shuts down. The executor then has a grace time. */
  readonly signal: AbortSignal;
  /** The process died during the previous execution of this task, and the executor `resumes`. */
  readonly resumed: boolean;
}

/** The canceled turn. */
export type CancelContext = Pick<
  ExecutionContext,
  'task' | 'turn' | 'contextId' | 'user' | 'tenant'
>;

/** A change of state. The runtime fills in ids, the time and `final`. */
export interface StatusEvent {
  readonly kind: 'status-update';
  readonly state: TaskState;
  /** The agent's message: text, or a whole message. */
  readonly message?: string | Message;
  readonly metadata?: Metadata;
}

/** An artifact, or a chunk of one. */
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

/** An executor's answer to a message that it accepts. Every field is optional. */
export interface Reception {
  /** Answers a message that names no task directly; then there is no task. */
  readonly reply?: Message | undefined;
  /** The metadata of the task that the message starts. For an existing task: of the message's entry in its log. */
  readonly metadata?: Metadata;
  /** When the task that the message starts expires, in milliseconds: it is then ended if unfinished, else removed. */
  readonly expiresAt?: number;
  /** The sender, as the other clients see it. It is stored in the message's metadata under SOURCE_KEY. */
  readonly source?: Metadata;
  /** A message to a completed task starts a new turn. By default it is refused. */
  readonly continues?: boolean;
  /**
   * Takes a message to a task that is being executed, once the message has its place in the log. Without it such a
   * message is refused. Must not throw.
   */
  readonly deliver?: ((message: Message) => void) | undefined;
  /** Where the protocol version allows it, the sender's stream starts after its own message, without the task. */
  readonly brief?: boolean;
}

/** The states that may follow each state. A state that is not a key has no successors. */
export type Transitions = Readonly<Partial<Record<TaskState, readonly TaskState[]>>>;

/** How the runtime treats an executor's tasks. */
export interface ExecutionRules {
  /** After a crash, an interrupted execution is started again (`context.resumed`) instead of failed. */
  readonly resumes?: boolean | undefined;
  /**
   * A stricter state machine than A2A's, which only forbids leaving a terminal state. Where `working` is a missing
   * step on the way to a state, the runtime inserts it. Any other transition outside the table fails the task.
   */
  readonly transitions?: Transitions;
  /** The executor never changes an event after it has yielded it, so the runtime need not copy it. */
  readonly immutableEvents?: boolean;
  /**
   * Whether the task is a session: clients may subscribe to it in every state, and their streams continue into later
   * turns. Asked each time the task comes to rest. Must not throw.
   */
  isSession?(taskId: string): boolean;
}

/** Executes tasks. `createAgent` implements it with an async generator function. */
export interface AgentExecutor {
  /**
   * Decides about every new message, before anything is stored. `task` is the task that the message names, as its log
   * has it at this moment; it is absent for a message that starts one. Throws an A2AError to refuse the message.
   *
   * If the task changes before the message has its place in the log, the runtime asks again, and the last answer counts.
   * So of two messages that arrive together, the second is judged with the first in the log. An answer that is no
   * promise is used at once. The task must not be kept or changed.
   */
  receive?(context: RequestContext, task?: Task): MaybePromise<Reception | undefined>;

  /**
   * Does the work. Yields events in order; events after a terminal or interrupted state are ignored. Returning without
   * such a state completes the task. Throwing fails it, and only our log has the cause. When an interrupted task gets
   * its answer, `execute` is called again with the answer as the message.
   */
  execute(context: ExecutionContext): AsyncIterable<ExecutorEvent>;

  /**
   * Called when a task is canceled, has expired or was lost with its store, after its signal was aborted. It is also
   * called for a task that waits for input, and for one that another process executed before. Must not throw.
   */
  cancel?(taskId: string, context: CancelContext): MaybePromise<void>;

  readonly rules?: ExecutionRules | undefined;
}

/** What an agent says about itself. The server makes the agent card from it. */
export interface AgentProfile {
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly provider?: AgentProvider;
  readonly documentationUrl?: string;
  readonly iconUrl?: string;
  readonly skills?: readonly AgentSkill[];
  /** Media types. Where they are given, a message with a file of another type is refused. */
  readonly inputModes?: readonly string[];
  readonly outputModes?: readonly string[];
  readonly extensions?: readonly AgentExtension[];
}

/** An executor with the profile from which the server makes its card. */
export interface A2AAgent extends AgentExecutor {
  readonly profile: AgentProfile;
}
